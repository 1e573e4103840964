"""Forms of the settings."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.signing_in.forms import NewPasswordForm, PresentPasswordForm
from accounts.users.names import LONGEST_BIO, LONGEST_DISPLAY_NAME, in_one_line
from retwis_site.http.form_fields import MaxLength


class LineField(forms.CharField):
    """A text in one line, which may be empty. A validator checks the length, as in `PasswordField`."""

    def __init__(self, longest: int, **kwargs: Any) -> None:
        self.longest = longest
        super().__init__(required=False, validators=[MaxLength(longest)], **kwargs)

    def to_python(self, value: Any) -> str:
        return in_one_line(str(super().to_python(value)))


class ProfileForm(forms.Form):
    """The display name and the bio."""

    name = LineField(
        LONGEST_DISPLAY_NAME,
        label=_("Display name"),
        help_text=_("Shown before your username. Leave it empty to show only your username."),
        widget=forms.TextInput(attrs={"autocomplete": "nickname", "dir": "auto"}),
    )
    bio = LineField(
        LONGEST_BIO,
        label=_("About you"),
        help_text=format_lazy(_("Shown on your profile. Up to {number} characters."), number=LONGEST_BIO),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )


class PasswordForm(PresentPasswordForm, NewPasswordForm):
    """Asks for the present password and for a new one."""

    field_order = ("password", "password1", "password2")


class AppearanceForm(forms.Form):
    """The colours of all pages in one browser."""

    SYSTEM = "system"

    theme = forms.ChoiceField(
        choices=[(SYSTEM, _("Use system setting")), ("light", _("Light")), ("dark", _("Dark"))],
        error_messages=dict.fromkeys(("required", "invalid_choice"), _("Choose one of these options.")),
    )

    def clean_theme(self) -> str:
        """The theme as the cookie has it: empty for the system's."""
        theme = str(self.cleaned_data["theme"])
        return "" if theme == self.SYSTEM else theme


class LanguageForm(forms.Form):
    """The language of the pages."""

    language = forms.ChoiceField(
        choices=settings.LANGUAGES,
        error_messages=dict.fromkeys(("required", "invalid_choice"), _("Choose one of these languages.")),
    )
