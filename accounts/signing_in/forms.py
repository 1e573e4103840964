"""Forms of registration and login, and the fields that other forms use too."""

from contextlib import suppress
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.validators import RegexValidator
from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.joining.joining import LONGEST_WHY, NotYetMember
from accounts.signing_in.passwords import check_length, check_new_password, forms_of
from accounts.users.entities import Verified
from accounts.users.names import in_one_line
from retwis_site.http.form_fields import MaxLength, TextField

LONGEST_USERNAME = 30
USERNAME = rf"[A-Za-z0-9_]{{1,{LONGEST_USERNAME}}}"

valid_username = RegexValidator(
    rf"\A{USERNAME}\Z",
    format_lazy(_("1 to {number} letters (A to Z), digits and underscores."), number=LONGEST_USERNAME),
)


class ShortTextField(forms.CharField):
    """A text in one line, which may be empty. A validator checks the length, as in `PasswordField`."""

    def __init__(self, longest: int, **kwargs: Any) -> None:
        self.longest = longest
        super().__init__(required=False, validators=[MaxLength(longest)], **kwargs)

    def to_python(self, value: Any) -> str:
        return in_one_line(str(super().to_python(value)))


class PasswordField(forms.CharField):
    """A password. A validator checks the length: with `max_length`, browsers would silently cut off a pasted text."""

    def __init__(self, autocomplete: str, **kwargs: Any) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
        super().__init__(strip=False, validators=[check_length], widget=widget, **kwargs)


def exact_input(autocomplete: str) -> forms.TextInput:
    """For what is typed letter by letter, from the left: no keyboard corrects it."""
    attrs = {"autocomplete": autocomplete, "autocapitalize": "none", "spellcheck": "false", "dir": "ltr"}
    return forms.TextInput(attrs=attrs)


class UsernameField(forms.CharField):
    """A username, of a new account or of one that there is."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(label=_("Username"), widget=exact_input("username"), **kwargs)


class NewPasswordForm(forms.Form):
    """A new password, typed twice, for the account `username`; without it, for that of the field `username`."""

    password1 = PasswordField("new-password", label=_("New password"))
    password2 = PasswordField("new-password", label=_("Repeat new password"))

    def __init__(self, *args: Any, username: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._username = username
        self.fields["password1"].help_text = " ".join(password_validators_help_texts())

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        first, second = cleaned.get("password1"), cleaned.get("password2")
        if not first:
            return cleaned
        try:
            check_new_password(first, self._username or str(cleaned.get("username", "")))
        except forms.ValidationError as error:
            self.add_error("password1", error)
        if second and forms_of(first)[0] != forms_of(second)[0]:
            self.add_error("password2", _("The passwords do not match."))
        return cleaned


class RegisterForm(NewPasswordForm):
    password1 = PasswordField("new-password", label=_("Password"))
    password2 = PasswordField("new-password", label=_("Repeat password"))
    username = UsernameField(
        validators=[valid_username],
        help_text=format_lazy(_("1 to {number} letters, digits and underscores."), number=LONGEST_USERNAME),
    )

    def clean(self) -> dict[str, Any]:
        if self.has_error("username", valid_username.code):
            self["username"].help_text = ""  # the error says the same
        return super().clean()


class ApplicationForm(RegisterForm):
    """A registration that staff has to approve."""

    why = TextField(
        LONGEST_WHY,
        label=_("Why do you want to join?"),
        help_text=_("One or two sentences for the people who run this site."),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )


class PresentPasswordForm(forms.Form):
    """Asks for the present password. Valid when it is right; then `verified` is the user. Validation reads the store:
    round trips and errors of `authenticate()`."""

    password = PasswordField("current-password", label=_("Current password"))

    def __init__(self, *args: Any, request: HttpRequest, username: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request
        self._username = username
        self.verified: Verified | None = None

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        verified: Any = None  # as in LoginForm
        with suppress(NotYetMember):  # it is that of a person who has asked for the same name
            verified = authenticate(self._request, username=self._username, password=password)
        self.verified = verified
        if verified is None:
            raise forms.ValidationError(_("Wrong password."))
        return password


APPLIED = "applied"  # the code of the error: it is the right password of an application


class LoginForm(forms.Form):
    """Valid when the password is the user's; then `verified` is the user.

    Validation reads the store: round trips and errors of `authenticate()`.
    """

    username = UsernameField()
    password = PasswordField("current-password", label=_("Password"))

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget.attrs["autocomplete"] = "username webauthn"  # browsers list passkeys there, too
        self._request = request
        self.verified: Verified | None = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        self.fields["password"].widget.attrs["autofocus"] = True  # if the form comes again: it is empty then
        # For type checkers, authenticate() returns a Django model; this site's backend returns a Verified.
        try:
            verified: Any = authenticate(self._request, username=cleaned["username"], password=cleaned["password"])
        except NotYetMember as answer:
            raise forms.ValidationError(str(answer), APPLIED) from answer
        self.verified = verified
        if verified is None:
            raise forms.ValidationError(_("Wrong username or password."))
        return cleaned
