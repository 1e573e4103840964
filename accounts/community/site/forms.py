"""The form of the site's own words. The command `site` checks each text by the same fields."""

from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from retwis_site.http.validators import MaxLength
from retwis_site.identity.site import COLOURS, Site

LONGEST_NAME = 40
LONGEST_LINE = 160
LONGEST_TEXT = 10_000
MOST_INVITES = 1000


class OneLine(forms.CharField):
    def __init__(self, longest: int, **kwargs: Any) -> None:
        no_breaks = RegexValidator(r"\A[^\x00-\x1f\x7f]*\Z", _("Write it in one line."))
        super().__init__(required=False, validators=[MaxLength(longest), no_breaks], **kwargs)


class Paragraphs(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 6, "dir": "auto"})
        super().__init__(required=False, validators=[MaxLength(LONGEST_TEXT)], widget=widget, **kwargs)


class SiteForm(forms.Form):
    """All fields may be empty: then the site shows the default."""

    name = OneLine(LONGEST_NAME, label=_("Name of the site"))
    tagline = OneLine(LONGEST_LINE, label=_("Tagline"), help_text=_("One sentence about the site."))
    colour = forms.ChoiceField(
        label=_("Colour"),
        choices=list(
            zip(COLOURS, (_("Pine green"), _("Ocean blue"), _("Plum"), _("Brick red"), _("Slate grey")), strict=True)
        ),
        required=False,
    )
    registration = forms.ChoiceField(
        label=_("Who may join"),
        choices=[
            ("open", _("Everyone")),
            ("approval", _("Everyone whom staff approves")),
            ("invite", _("People with an invitation")),
            ("closed", _("Nobody")),
        ],
        required=False,
    )
    invites = forms.IntegerField(
        label=_("Invitations of each member"),
        help_text=_("How many open invitations a member may have. 0: members cannot invite."),
        min_value=0,
        max_value=MOST_INVITES,
        required=False,
    )
    announcement = OneLine(500, label=_("Announcement"), help_text=_("Stands on every page until it is dismissed."))
    about = Paragraphs(label=_("About the site"))
    rules = Paragraphs(label=_("Rules"), help_text=_("One rule a line. They are numbered, and a report names one."))
    privacy = Paragraphs(label=_("Privacy"), help_text=_("Stands above the facts about what the site stores."))
    contact = OneLine(LONGEST_LINE, label=_("Contact"), help_text=_("How people reach you, such as an e-mail address."))

    def texts(self) -> dict[str, str]:
        """The fields as they are stored."""
        return {
            name: "" if value is None else str(value).replace("\r\n", "\n") for name, value in self.cleaned_data.items()
        }


def checked(field: str, text: str) -> str:
    """The text as it is stored. Raises ValidationError for one that the form refuses, KeyError for an unknown field."""
    value = SiteForm.base_fields[field].clean(text)
    return "" if value is None else str(value)


def filled_with(site: Site) -> SiteForm:
    """The form with the present words."""
    return SiteForm(initial=site._asdict())
