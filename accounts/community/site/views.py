"""The pages about the site, and the form by which admins change its words."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.validators import RegexValidator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from accounts.community.guards import admin_required
from accounts.community.site.feature import DISMISSALS, SITE_CHANGES
from accounts.community.site.words import SiteWords
from accounts.signing_in.guards import change, login_required, open_to_frozen, page_of_form
from accounts.signing_in.html import dismissed_by, form_page
from accounts.signing_in.middleware import SITE_CHANGED, RetwisRequest
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.http import cookies
from retwis_site.http.form_fields import MaxLength
from retwis_site.identity import COLOURS, Site, stored_site
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits

# ---- The form of the site's own words. The command `site` checks each text by the same fields.


LONGEST_NAME = 40
LONGEST_LINE = 160
LONGEST_TEXT = 10_000
MOST_INVITES = 1000


class OneLine(forms.CharField):
    def __init__(self, longest: int, **kwargs: Any) -> None:
        no_breaks = RegexValidator(r"\A[^\x00-\x1f\x7f]*\Z", gettext_lazy("Write it in one line."))
        super().__init__(required=False, validators=[MaxLength(longest), no_breaks], **kwargs)


class Paragraphs(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 6, "dir": "auto"})
        super().__init__(required=False, validators=[MaxLength(LONGEST_TEXT)], widget=widget, **kwargs)


class SiteForm(forms.Form):
    """All fields may be empty: then the site shows the default."""

    name = OneLine(LONGEST_NAME, label=gettext_lazy("Name of the site"))
    tagline = OneLine(
        LONGEST_LINE, label=gettext_lazy("Tagline"), help_text=gettext_lazy("One sentence about the site.")
    )
    colour = forms.ChoiceField(
        label=gettext_lazy("Colour"),
        choices=list(
            zip(
                COLOURS,
                (
                    gettext_lazy("Pine green"),
                    gettext_lazy("Ocean blue"),
                    gettext_lazy("Plum"),
                    gettext_lazy("Brick red"),
                    gettext_lazy("Slate grey"),
                ),
                strict=True,
            )
        ),
        required=False,
    )
    registration = forms.ChoiceField(
        label=gettext_lazy("Who may join"),
        choices=[
            ("open", gettext_lazy("Everyone")),
            ("approval", gettext_lazy("Everyone whom staff approves")),
            ("invite", gettext_lazy("People with an invitation")),
            ("closed", gettext_lazy("Nobody")),
        ],
        required=False,
    )
    invites = forms.IntegerField(
        label=gettext_lazy("Invitations of each member"),
        help_text=gettext_lazy("How many open invitations a member may have. 0: members cannot invite."),
        min_value=0,
        max_value=MOST_INVITES,
        required=False,
    )
    announcement = OneLine(
        500, label=gettext_lazy("Announcement"), help_text=gettext_lazy("Stands on every page until it is dismissed.")
    )
    about = Paragraphs(label=gettext_lazy("About the site"))
    rules = Paragraphs(
        label=gettext_lazy("Rules"),
        help_text=gettext_lazy("One rule a line. They are numbered, and a report names one."),
    )
    privacy = Paragraphs(
        label=gettext_lazy("Privacy"), help_text=gettext_lazy("Stands above the facts about what the site stores.")
    )
    contact = OneLine(
        LONGEST_LINE,
        label=gettext_lazy("Contact"),
        help_text=gettext_lazy("How people reach you, such as an e-mail address."),
    )

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


# ---- Views


SECONDS = 10  # longer than any process keeps the words


@require_safe
def about(request: RetwisRequest) -> HttpResponse:
    return form_page(request, "accounts/community/site/about.html", {"site": request.viewer.site})


@require_safe
def rules(request: RetwisRequest) -> HttpResponse:
    return form_page(request, "accounts/community/site/rules.html", {"site": request.viewer.site})


@require_safe
def privacy(request: RetwisRequest) -> HttpResponse:
    return form_page(request, "accounts/community/site/privacy.html", {"site": request.viewer.site})


@open_to_frozen
@change
@login_required
def dismiss(request: RetwisRequest, me: User) -> HttpResponse:
    """The announcement that stands now is not shown to this account again."""
    RateLimits(connect()).count(DISMISSALS, str(me.uid))
    Users(connect()).write(me.uid, {"dismissed": dismissed_by(request.POST.get("announcement", ""))})
    return redirect(page_of_form(request))


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: RetwisRequest, me: User) -> HttpResponse:
    template = "accounts/community/site/edit.html"
    if request.method != "POST":
        return form_page(request, template, {"form": filled_with(stored_site(connect()))})
    form = SiteForm(request.POST)
    if not form.is_valid():
        return form_page(request, template, {"form": form}, status=422)
    RateLimits(connect()).count(SITE_CHANGES, str(me.uid))
    SiteWords(connect()).change(form.texts(), by=me.uid)
    messages.success(request, _("The site was changed."))
    response = redirect("edit_site")
    cookies.keep(response, SITE_CHANGED, "1", SECONDS)
    return response


# ---- Addresses


urlpatterns = [
    path("about/", about, name="about"),
    path("rules/", rules, name="rules"),
    path("privacy/", privacy, name="privacy"),
    path("announcement/dismiss/", dismiss, name="dismiss"),
    path("moderation/site/", edit, name="edit_site"),
]
