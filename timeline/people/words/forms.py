"""The form that mutes words."""

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.settings.forms import LineField
from timeline.language.words import words
from timeline.relations.actions.forms import FOR_DAYS
from timeline.relations.mute import FOREVER, in_days
from timeline.relations.words.muted_words import LONGEST_MUTED, How, MutedWord, Where

PLACES = (
    (Where.HOME.value, gettext_lazy("On my home page")),
    (Where.EVERYWHERE.value, gettext_lazy("Everywhere")),
)
WAYS = (
    (How.HIDE.value, gettext_lazy("Leave these posts out")),
    (How.FOLD.value, gettext_lazy("Show a line that opens them")),
)


class MutedWordForm(forms.Form):
    """A word or a phrase, where and how it is muted, and for how long."""

    words = LineField(
        LONGEST_MUTED,
        label=gettext_lazy("Word or phrase"),
        help_text=format_lazy(
            gettext_lazy("Whole words; capital letters and accents do not matter. Up to {number} characters."),
            number=LONGEST_MUTED,
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    where = forms.ChoiceField(label=gettext_lazy("Where"), choices=PLACES, initial=Where.HOME)
    how = forms.ChoiceField(label=gettext_lazy("How"), choices=WAYS, initial=How.HIDE)
    days = forms.ChoiceField(label=gettext_lazy("For how long"), choices=FOR_DAYS, required=False)

    def clean_words(self) -> str:
        typed = " ".join(str(self.cleaned_data["words"]).replace(":", " ").split())
        if not words(typed):
            raise ValidationError(_("Write at least one letter, digit or emoji."))
        return typed

    def muted(self) -> MutedWord:
        """What a valid form mutes."""
        given, days = self.cleaned_data, self.cleaned_data["days"]
        until = in_days(int(days)) if days else FOREVER
        return MutedWord(given["words"], Where(given["where"]), How(given["how"]), until)
