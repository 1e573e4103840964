"""The forms of staff."""

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.community.log import LONGEST_REASON
from retwis_site.http.validators import MaxLength
from timeline.moderation.reports.entities import SANCTIONS, Action

LABELS = {
    Action.DISMISS: _("Nothing: no rule is broken"),
    Action.WARN: _("Warn the person"),
    Action.DELETE: _("Delete the post"),
    Action.FREEZE: _("Freeze: they read, and write nothing"),
    Action.HIDE: _("Hide: only their followers see them"),
    Action.SUSPEND: _("Suspend: nobody sees them"),
}
FOR_DAYS = (("", _("until it is lifted")), ("1", _("a day")), ("7", _("a week")), ("30", _("30 days")))


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Why?"),
        help_text=_("The log has it, and the person whom it concerns reads it."),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        validators=[MaxLength(LONGEST_REASON)],
    )


class SanctionForm(ReasonForm):
    action = forms.ChoiceField(
        label=_("What do you do?"), choices=[(action.value, LABELS[action]) for action in SANCTIONS]
    )
    days = forms.ChoiceField(label=_("For how long is a sanction?"), choices=FOR_DAYS, required=False)
    field_order = ("action", "days", "reason")

    @property
    def number_of_days(self) -> int:
        """0: until it is lifted."""
        return int(self.cleaned_data["days"] or 0)


class DecisionForm(SanctionForm):
    action = forms.ChoiceField(
        label=_("What do you do?"), choices=[(action.value, label) for action, label in LABELS.items()]
    )
