"""The pages of the community: the appeal against a sanction, for a signed-in person and for a suspended one who has
just typed the password; a member's invitations, and staff's page of who asks to join and who invited whom; and the
pages about the site, with the form by which admins change its words."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.core.validators import RegexValidator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from accounts.community.acts import Answers, change_site
from accounts.community.sanctions import Sanctions
from accounts.joining.joining import Applications, Closed, Invitations, new_token, newcomers
from accounts.signing_in import guards
from accounts.signing_in.html import done, form_page, name_of_announcement, not_done, typed
from accounts.signing_in.middleware import SITE_CHANGED, RetwisRequest
from accounts.users.entities import NotSignedIn, Refused, Role, Sanction, User
from accounts.users.repository import Users
from retwis_site.http import cookies
from retwis_site.http.form_fields import TextField
from retwis_site.identity import FOR_STAFF, ask_stored_site
from retwis_site.rendering.dates import day, moment
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.pages import error_page, kept_fields, origin_of
from retwis_site.store.client import answer, connect
from retwis_site.store.ids import parse_number
from retwis_site.store.rate_limits import Limit

# ---- Rate limits


APPEALS = Limit("appeal", 10, 3600, "appeals", gettext_lazy("Too many appeals in a short time."))
DISMISSALS = Limit(
    "dismiss", 60, 3600, "dismissed announcements", gettext_lazy("Too many dismissed announcements in a short time.")
)
SITE_CHANGES = Limit(
    "site", 60, 3600, "changes of the site", gettext_lazy("Too many changes of the site in a short time.")
)
INVITATIONS = Limit("invite", 60, 3600, "invitations", gettext_lazy("Too many invitations in a short time."))
ANSWERS = Limit("answer", 600, 3600, "answers to applications", gettext_lazy("Too many answers in a short time."))


# ---- The form of an appeal.


LONGEST_APPEAL = 1000  # characters


class AppealForm(forms.Form):
    """What a person says about what is imposed on them."""

    text = TextField(
        LONGEST_APPEAL,
        label=gettext_lazy("Your appeal"),
        help_text=format_lazy(
            gettext_lazy("Say why the decision should be changed. Up to {number} characters."), number=LONGEST_APPEAL
        ),
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
    )


# ---- The pages that tell a person what is imposed on them, and take their appeal.


TOKEN_LIVES = 3600  # seconds
_SALT = "appeal of a suspended user"


@guards.never_store
def frozen_page(request: RetwisRequest) -> HttpResponse:
    """403, with the text that was typed. No round trip."""
    sanction = request.viewer.checked.sanction
    kept = [one for one in kept_fields(request) if one.field.kind == "textarea"]
    context = {"sanction": sanction, "kept": kept, **days_of(sanction)}
    return form_page(request, "accounts/community/sanctioned/frozen.html", context, status=403)


def suspended_page(request: RetwisRequest, uid: int) -> HttpResponse:
    """403 after what would open a suspended account: its password, passkey, recovery code or link. The form of the
    appeal has a token that says who it is, so no session begins. Three round trips at most."""
    return appeal_page(request, uid, AppealForm(), token=token_of(uid), status=403)


@guards.never_store
def appeal_page(
    request: RetwisRequest, uid: int, form: AppealForm, *, token: str = "", status: int | None = None
) -> HttpResponse:
    """What is imposed on a person, and their appeal or its form; else how staff has ended it. `token`: for a suspended
    person. Four round trips at most."""
    found, ended = Sanctions(connect()).standing_or_end(uid)
    days = days_of(found.imposed if found is not None else None)
    context = {"form": form, "token": token, "standing": found, "ended": ended, **days}
    last = found.answer if found is not None else ended
    if last is not None:
        context["iso"], context["when"] = moment(last.when, active_language())
    return form_page(request, "accounts/community/sanctioned/appeal.html", context, status)


def days_of(imposed: Sanction | None) -> dict[str, str]:
    """When a sanction began, and its last day or the day on which the account will be deleted, where there is one."""
    if imposed is None:
        return {}
    known = {"since": imposed.since, "until": imposed.until, "deleted_at": imposed.deleted_at}
    return {name: day(when, active_language()) for name, when in known.items() if when}


def token_of(uid: int) -> str:
    """Proves for TOKEN_LIVES seconds that the person has the password or a link. It opens nothing but the appeal."""
    return signing.dumps(uid, salt=_SALT)


def uid_of(token: str) -> int | None:
    """The uid of a valid token; None for any other text."""
    try:
        uid = signing.loads(token, salt=_SALT, max_age=TOKEN_LIVES)
    except signing.BadSignature:
        return None
    return uid if isinstance(uid, int) else None


@guards.open_to_frozen
@guards.for_forms
def appeal(request: RetwisRequest) -> HttpResponse:
    """What is imposed on the viewer, with the form of an appeal. A POST sends the appeal."""
    token = request.POST.get("token", "")
    uid = uid_of(token) if token else request.viewer.uid
    if uid is None and request.method == "POST":
        text = _("Nothing was sent. Log in again, then send this form again.")
        return error_page(request, 403, _("You are logged out"), text, kept_fields(request))
    if uid is None:
        raise NotSignedIn
    form = AppealForm(typed(request))
    if not form.is_valid():
        return appeal_page(request, uid, form, token=token)
    APPEALS.count(connect(), uid)
    try:
        Sanctions(connect()).appeal(uid, form.cleaned_data["text"], request.POST.get("imposed"))
    except Refused as refusal:
        form.add_error(None, str(refusal))
        return appeal_page(request, uid, form, token=token)
    if token:
        return appeal_page(request, uid, AppealForm(), token=token)
    return done(request, _("Your appeal was sent."), "appeal")


# ---- Joining


class InvitationForm(forms.Form):
    """The button that makes an invitation. Its token tells a form that is sent again from a new one."""

    token = forms.RegexField(r"\A[0-9a-f]{16}\Z", required=False, widget=forms.HiddenInput)


APPLICATIONS_SHOWN = 50  # of a page


class AnswerForm(forms.Form):
    """Staff's answer to an application."""

    username = forms.CharField()
    at = forms.IntegerField()  # when the application was made
    answer = forms.ChoiceField(choices=[("approve", ""), ("refuse", "")])
    reason = TextField(500, required=False)


@guards.for_own_forms
@guards.login_required
def invites(request: RetwisRequest, me: User) -> HttpResponse:
    """The viewer's open invitations. A POST makes one, or takes one back. On a closed site nobody can join by one."""
    invitations, site = Invitations(connect()), request.viewer.site
    quota, is_closed = site.invites, site.registration == "closed"
    if request.method != "POST":
        found = invitations.open([me.uid])
        rows = [
            (one.code, origin_of(request) + reverse("invited", args=[one.code]), moment(one.ends, active_language())[1])
            for one in found
        ]
        form = InvitationForm(initial={"token": new_token()})
        context = {"rows": rows, "quota": quota, "may_invite": sum(one.left for one in found) < quota, "form": form}
        context["is_closed"] = is_closed
        return form_page(request, "accounts/community/joining/invites.html", context)
    INVITATIONS.count(connect(), me.uid)
    if code := request.POST.get("revoke", ""):
        invitations.revoke(me.uid, code)
        return done(request, _("The invitation was revoked."), "invites")
    form = InvitationForm(request.POST)
    form.full_clean()
    try:
        if is_closed:
            raise Closed
        invitations.make_within(quota, me.uid, form.cleaned_data.get("token") or new_token())
    except Refused as refusal:
        return not_done(request, str(refusal), "invites")
    return done(request, _("The invitation was created. Send its address to one person."), "invites")


@guards.staff_required
@guards.for_forms
def joining(request: RetwisRequest, me: User) -> HttpResponse:
    """Who asks to join, oldest first, or those below `after`; and who invited whom. A POST answers an application."""
    form = AnswerForm(typed(request))
    if not form.is_valid():
        return _joining_page(request, form)
    ANSWERS.count(connect(), me.uid)
    given, answers = form.cleaned_data, Answers(connect())
    if given["answer"] == "approve":
        is_done = answers.approve(given["username"], given["at"], me.uid)
        text = _("The account @%(name)s was created.")
    else:
        is_done = answers.refuse(given["username"], given["at"], me.uid, given["reason"])
        text = _("The application of @%(name)s was refused.")
    if is_done:
        return done(request, text % {"name": given["username"]}, request.get_full_path())
    text = _("This application has been answered, or someone else has this name or one like it.")
    return not_done(request, text, request.get_full_path())


def _joining_page(request: RetwisRequest, form: AnswerForm) -> HttpResponse:
    if form.is_bound:
        messages.error(request, _("Choose an answer."))
    at, _sign, name = request.GET.get("after", "").partition("-")
    waiting = Applications(connect()).all()
    below = [one for one in waiting if (one.at, one.username) > (parse_number(at) or 0, name)] or waiting
    asking = [(one, moment(one.at, active_language())[1]) for one in below[:APPLICATIONS_SHOWN]]
    last = below[APPLICATIONS_SHOWN - 1] if len(below) > APPLICATIONS_SHOWN else None
    is_admin, address = request.viewer.checked.role is Role.ADMIN, request.get_full_path()
    context = {"form": form, "asking": asking, "newcomers": newcomers(connect()), "is_admin": is_admin}
    context |= {"address": address, "after": f"{last.at}-{last.username}" if last is not None else ""}
    return form_page(request, "accounts/community/joining/joining.html", context)


# ---- The form of the site's own words. The command `site` checks each text by the same fields.


LONGEST_SITE_NAME = 40
LONGEST_LINE = 160
LONGEST_TEXT = 10_000
MOST_INVITES = 1000


class OneLine(TextField):
    def __init__(self, longest: int, **kwargs: Any) -> None:
        no_breaks = RegexValidator(r"\A[^\x00-\x1f\x7f]*\Z", gettext_lazy("Use only one line."))
        widget = forms.TextInput(attrs={"dir": "auto"})
        super().__init__(longest, required=False, validators=[no_breaks], widget=widget, **kwargs)


class Paragraphs(TextField):
    def __init__(self, **kwargs: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 6, "dir": "auto"})
        super().__init__(LONGEST_TEXT, required=False, widget=widget, **kwargs)


class FieldWithInitial(forms.BoundField):
    """Has a hidden field beside it, with what the page has shown. HTML allows that one no description."""

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        found = super().build_widget_attrs(attrs, widget)
        if widget is not None and widget.is_hidden:
            found.pop("aria-describedby", None)
        return found


class SiteForm(forms.Form):
    """All fields may be empty: then the site shows the default."""

    name = OneLine(LONGEST_SITE_NAME, label=gettext_lazy("Site name"))
    tagline = OneLine(
        LONGEST_LINE, label=gettext_lazy("Tagline"), help_text=gettext_lazy("One sentence about the site.")
    )
    colour = forms.ChoiceField(
        label=gettext_lazy("Colour"),
        choices=[
            ("pine", gettext_lazy("Pine green")),
            ("ocean", gettext_lazy("Ocean blue")),
            ("plum", gettext_lazy("Plum")),
            ("brick", gettext_lazy("Brick red")),
            ("slate", gettext_lazy("Slate grey")),
        ],
        required=False,
    )
    registration = forms.ChoiceField(
        label=gettext_lazy("Who can join"),
        choices=[
            ("open", gettext_lazy("Everyone")),
            ("approval", gettext_lazy("Anyone, after approval by staff")),
            ("invite", gettext_lazy("Only people with an invitation")),
            ("closed", gettext_lazy("Nobody")),
        ],
        required=False,
    )
    second_factor = forms.ChoiceField(
        label=gettext_lazy("Second factor"),
        help_text=gettext_lazy("Staff without one is led to the page where it is added, before a page of staff opens."),
        choices=[
            ("", gettext_lazy("Each person decides")),
            (FOR_STAFF, gettext_lazy("Moderators and admins need one")),
        ],
        required=False,
    )
    invites = forms.IntegerField(
        label=gettext_lazy("Invitations per member"),
        help_text=gettext_lazy("How many open invitations each member can have. With 0, members cannot invite people."),
        min_value=0,
        max_value=MOST_INVITES,
        required=False,
    )
    announcement = OneLine(
        500, label=gettext_lazy("Announcement"), help_text=gettext_lazy("Shown on every page until it is dismissed.")
    )
    about = Paragraphs(label=gettext_lazy("About this site"))
    rules = Paragraphs(
        label=gettext_lazy("Rules"),
        help_text=gettext_lazy("One rule per line. Rules are numbered, and a report names the broken one."),
    )
    privacy = Paragraphs(
        label=gettext_lazy("Privacy"), help_text=gettext_lazy("Shown above the list of what the site stores.")
    )
    contact = OneLine(
        LONGEST_LINE,
        label=gettext_lazy("Contact"),
        help_text=gettext_lazy("How people reach you, such as an e-mail address."),
    )

    bound_field_class = FieldWithInitial

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def texts(self) -> dict[str, str]:
        """The fields as they are stored, without those that still have what the page has shown: another admin may have
        changed them since."""
        kept = {one.name for one in self if one.html_initial_name in self.data} - {*self.changed_data}
        return {
            name: "" if value is None else str(value).replace("\r\n", "\n")
            for name, value in self.cleaned_data.items()
            if name not in kept
        }

    def refuse_unseen(self, present: Mapping[str, object]) -> None:
        """Add an error to each changed field that another admin has changed in another way since the page was shown.
        Saving again replaces it. A form without what was shown says nothing of it."""
        self.data = self.data.copy()  # type: ignore[attr-defined]
        error = _("Someone else has changed this meanwhile. Saving again replaces what it says now: “%(text)s”")
        for name, text in self.texts().items():
            now, shown = str(present[name]), self[name].html_initial_name
            if shown in self.data and now not in (self.data[shown].replace("\r\n", "\n"), text):
                self.data[shown] = now  # type: ignore[index]
                self.add_error(name, error % {"text": now})


def checked(field: str, text: str) -> str:
    """The text as it is stored. Raises ValidationError for one that the form refuses, KeyError for an unknown field."""
    value = SiteForm.base_fields[field].clean(text)
    return "" if value is None else str(value)


# ---- The pages about the site


SECONDS = 10  # longer than any process keeps the words


@require_safe
def about(request: RetwisRequest, template: str) -> HttpResponse:
    """A page of the site's own words."""
    words = {"site": request.viewer.site, "checks_links": settings.LINK_CHECKS}
    return form_page(request, f"accounts/community/site/{template}", words)


def keep_dismissed(me: User, name: str) -> bool:
    """The announcement that stands now is not shown to this account again. False, and nothing changes, when it has
    another name: to note that of an old one would show the present one again. Round trips: one, and those of
    `Limit.count` and of `Users.write`. Raises TooOften."""
    DISMISSALS.count(connect(), me.uid)
    site = answer(connect(), ask_stored_site)  # not a cached one: another process may have shown a newer one
    stands = bool(site.announcement) and name == name_of_announcement(site)
    if stands:
        Users(connect()).write(me.uid, {"dismissed": name})
    return stands


@guards.open_to_frozen
@guards.user_change
def dismiss(request: RetwisRequest, me: User) -> HttpResponse:
    """The announcement that stands now is not shown to this account again."""
    keep_dismissed(me, request.POST.get("announcement", ""))
    return redirect(guards.page_of_form(request))


@guards.admin_required
@guards.for_forms
def edit(request: RetwisRequest, me: User) -> HttpResponse:
    present = answer(connect(), ask_stored_site)._asdict()
    form = SiteForm(request.POST) if request.method == "POST" else SiteForm(initial=present)
    if form.is_valid():
        form.refuse_unseen(present)
    if not form.is_valid():
        return form_page(request, "accounts/community/site/edit.html", {"form": form})
    SITE_CHANGES.count(connect(), me.uid)
    change_site(connect(), form.texts(), by=me.uid)
    response = done(request, _("Site settings saved."), "edit_site")
    cookies.keep(response, SITE_CHANGED, "1", SECONDS)
    return response


# ---- Addresses


urlpatterns = [
    path("appeal/", appeal, name="appeal"),
    path("about/", about, {"template": "about.html"}, name="about"),
    path("rules/", about, {"template": "rules.html"}, name="rules"),
    path("privacy/", about, {"template": "privacy.html"}, name="privacy"),
    path("announcement/dismiss/", dismiss, name="dismiss"),
    path("moderation/site/", edit, name="edit_site"),
    path("settings/invites/", invites, name="invites"),
    path("moderation/joining/", joining, name="joining"),
]
