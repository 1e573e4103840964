"""Forms of the settings."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.signing_in.forms import NewPasswordForm, PresentPasswordForm
from accounts.users.names import LONGEST_BIO, LONGEST_DISPLAY_NAME, in_one_line


class LineField(forms.CharField):
    """A text in one line, which may be empty. A validator checks the length, as in `PasswordField`."""

    def __init__(self, longest: int, **kwargs: Any) -> None:
        self.longest = longest
        too_long = _("At most %(limit_value)d characters; this has %(show_value)d.")
        super().__init__(required=False, validators=[MaxLengthValidator(longest, too_long)], **kwargs)

    def to_python(self, value: Any) -> str:
        return in_one_line(str(super().to_python(value)))


class ProfileForm(forms.Form):
    """The display name and the bio."""

    name = LineField(
        LONGEST_DISPLAY_NAME,
        label=_("Display name"),
        help_text=_("What people see before your username. Leave it empty to go by your username alone."),
        widget=forms.TextInput(attrs={"autocomplete": "nickname", "dir": "auto"}),
    )
    bio = LineField(
        LONGEST_BIO,
        label=_("About you"),
        help_text=format_lazy(_("A line or two for your profile, up to {number} characters."), number=LONGEST_BIO),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )


class PasswordForm(PresentPasswordForm, NewPasswordForm):
    """Asks for the present password and for a new one."""

    field_order = ("password", "password1", "password2")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].label = _("New password")
        self.fields["password2"].label = _("New password again")


class AppearanceForm(forms.Form):
    """The colours of all pages in one browser."""

    SYSTEM = "system"

    theme = forms.ChoiceField(
        choices=[(SYSTEM, _("Like the system")), ("light", _("Light")), ("dark", _("Dark"))],
        error_messages=dict.fromkeys(("required", "invalid_choice"), _("Choose one of these three.")),
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
