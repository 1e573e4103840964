"""The form of an appeal."""

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from retwis_site.http.validators import MaxLength

LONGEST_APPEAL = 1000  # characters


class AppealForm(forms.Form):
    """What a person says about what is imposed on them."""

    text = forms.CharField(
        label=_("Your appeal"),
        help_text=format_lazy(_("Say why this should be undone. Up to {number} characters."), number=LONGEST_APPEAL),
        validators=[MaxLength(LONGEST_APPEAL)],
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
    )
