"""The form that reports a person or a post."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from retwis_site.http.validators import MaxLength
from timeline.moderation.reports.entities import LONGEST_NOTE, RULE, Reason

LABELS = {
    Reason.SPAM: _("It is spam or fraud"),
    Reason.HARASSMENT: _("It insults or threatens someone"),
    Reason.ILLEGAL: _("It is against the law"),
    Reason.OTHER: _("Something else"),
}


class ReportForm(forms.Form):
    reason = forms.ChoiceField(
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), _("Choose one of these reasons.")),
    )
    note = forms.CharField(
        required=False,
        label=_("What should the moderators know?"),
        help_text=_("Only the moderators of this site read it."),
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        validators=[MaxLength(LONGEST_NOTE)],
    )

    def __init__(self, *args: Any, rules: Sequence[str], **kwargs: Any) -> None:
        """`rules`: those of the site, in their order."""
        super().__init__(*args, **kwargs)
        self._rules = rules
        self.fields["reason"].choices = reasons(rules)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("reason") == Reason.OTHER and not cleaned.get("note") and "note" not in self.errors:
            self.add_error("note", _("Say what is wrong."))
        return cleaned

    @property
    def rule(self) -> str:
        """The text of the chosen rule; empty when none was chosen."""
        reason = str(self.cleaned_data["reason"])
        return self._rules[int(reason.removeprefix(RULE)) - 1] if reason.startswith(RULE) else ""


def reasons(rules: Sequence[str]) -> list[tuple[str, str | Promise]]:
    """The reasons with their labels; the rules of the site stand before the last one."""
    *first, other = LABELS
    named = [(f"{RULE}{number}", label_of(f"{RULE}{number}", rule)) for number, rule in enumerate(rules, 1)]
    return [*((reason.value, LABELS[reason]) for reason in first), *named, (other.value, LABELS[other])]


def label_of(reason: str, rule: str) -> str:
    """A reason in words; `rule`: the text of the rule that it names."""
    if reason.startswith(RULE):
        return gettext("It breaks rule %(number)s: %(rule)s") % {"number": reason.removeprefix(RULE), "rule": rule}
    return str(LABELS[Reason(reason)] if reason in list(Reason) else reason)
