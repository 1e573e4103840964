"""The form that mutes a person."""

from django import forms
from django.utils.translation import gettext_lazy as _

ALL, REPOSTS = "all", "reposts"
FOR_DAYS = (("", _("forever")), ("1", _("for a day")), ("7", _("for a week")), ("30", _("for 30 days")))


class MuteForm(forms.Form):
    what = forms.ChoiceField(choices=((ALL, _("everything")), (REPOSTS, _("only reposts"))), initial=ALL)
    days = forms.ChoiceField(choices=FOR_DAYS, required=False)

    @property
    def only_reposts(self) -> bool:
        return bool(self.cleaned_data["what"] == REPOSTS)

    @property
    def number_of_days(self) -> int | None:
        """None: for ever."""
        return int(self.cleaned_data["days"]) if self.cleaned_data["days"] else None
