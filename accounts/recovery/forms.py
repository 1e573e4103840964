"""Forms of the recovery of an account."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.recovery.codes import LONGEST_TYPED
from accounts.signing_in.forms import NewPasswordForm
from retwis_site.http.validators import MaxLength


class RecoverForm(NewPasswordForm):
    """The name of an account, one of its codes, and a new password."""

    field_order = ("username", "code", "password1", "password2")

    username = forms.CharField(
        label=_("Username"),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    code = forms.CharField(
        label=_("Recovery code"),
        help_text=_("One of the codes that you kept. Each works once."),
        validators=[MaxLength(LONGEST_TYPED)],
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _name_new(self)


class ResetForm(NewPasswordForm):
    """A new password for the user of a link."""

    def __init__(self, *args: Any, username: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._username = username
        _name_new(self)

    def account_name(self) -> str:
        return self._username


def _name_new(form: forms.Form) -> None:
    form.fields["password1"].label = _("New password")
    form.fields["password2"].label = _("Repeat new password")
