"""Reporting a person or a post, and the pages of staff, which do not exist for others."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django import forms
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from accounts.community.acts import LONGEST_STAFF_NOTE, StaffNotes, allow_picture, person_record
from accounts.community.log import LONGEST_REASON, Act, Log
from accounts.community.sanctions import SanctionChanged, Sanctions, open_appeals
from accounts.community.views import days_of
from accounts.facts.facts import facts_of
from accounts.joining.joining import invited_by
from accounts.recovery.codes import ResetLinks
from accounts.signing_in.guards import (
    confirm_first,
    for_acting,
    for_forms,
    is_confirmed,
    login_required,
    page_of_form,
    staff_required,
)
from accounts.signing_in.html import done, form_page, is_made_of, not_done, rendering, typed
from accounts.signing_in.middleware import RetwisRequest, note_changed
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import AccountDeleted, Refused, Role, Sanction, State, User
from accounts.users.html import header_address, portrait
from accounts.users.repository import Users
from retwis_site.http.form_fields import TextField
from retwis_site.rendering.dates import A_DAY, moment
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import Store, answer, connect, trip
from retwis_site.store.rate_limits import Limit
from timeline.moderation import queue
from timeline.moderation.reports import (
    LONGEST_NOTE,
    REPORTS_SHOWN,
    RULE,
    SANCTIONS,
    Action,
    NewReport,
    NotYours,
    Reason,
    Reports,
    require_may_act,
)
from timeline.people.directory import People, search_query
from timeline.posts.entities import NO_MEDIA, NoSuchPost, Post
from timeline.posts.reading.records import one_post_or_hidden
from timeline.posts.repository import Posts
from timeline.relations.html import person_menu
from timeline.relations.relations import ask_hiding
from timeline.timelines.html import facts_html
from timeline.timelines.pagination import post_cursor

# ---- The form that reports a person or a post, and how often a user may report.


REPORTS = Limit("report", 30, 3600, "reports", gettext_lazy("Too many reports in a short time."))


class ReportForm(forms.Form):
    reason = forms.ChoiceField(
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose one of these reasons.")),
    )
    note = TextField(
        LONGEST_NOTE,
        required=False,
        label=gettext_lazy("What should the moderators know?"),
        help_text=gettext_lazy("Only the moderators of this site read it."),
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )

    def __init__(self, *args: Any, rules: Sequence[str], **kwargs: Any) -> None:
        """`rules`: those of the site, in their order."""
        super().__init__(*args, **kwargs)
        self._rules = rules
        self.fields["reason"].choices = queue.reasons(rules)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("reason") == Reason.OTHER and not cleaned.get("note") and "note" not in self.errors:
            self.add_error("note", gettext_lazy("Say what is wrong."))
        return cleaned

    @property
    def rule(self) -> str:
        """The text of the chosen rule; empty when none was chosen."""
        reason = str(self.cleaned_data["reason"])
        return self._rules[int(reason.removeprefix(RULE)) - 1] if reason.startswith(RULE) else ""


# ---- A user reports a person or a post to the staff.


@for_acting
@for_forms
@login_required
def report_person(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    return _report(request, me, request.viewer.find(username), None)


@for_acting
@for_forms
@login_required
def report_post(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    """Also a post that a block hides can be reported. Raises NoSuchPost, also for a repost, PostDeleted."""
    post, _is_hidden = one_post_or_hidden(request.viewer, username, pid)
    if post.links.repost_of is not None:
        raise NoSuchPost(pid)
    return _report(request, me, post.author, post)


def _report(request: RetwisRequest, me: User, person: User, post: Post | None) -> HttpResponse:
    if person.uid == me.uid:
        return not_done(request, _("You cannot report yourself."), "profile", person.username)
    form = ReportForm(typed(request), rules=request.viewer.site.numbered_rules)
    if form.is_valid():
        REPORTS.count(connect(), me.uid)
        cleaned = form.cleaned_data
        pid, body, media = (post.pid, post.body, post.media) if post is not None else (None, "", NO_MEDIA)
        new = NewReport(person.uid, pid, cleaned["reason"], cleaned["note"], form.rule, body, media)
        if Reports(connect()).make(me.uid, new):
            said = _("Thank you. You will be told what the moderators decide.")
        else:
            said = _("You have reported this already. A moderator will look at it.")
        return done(request, said, "reported", person.username)
    context = {"form": form, "person": person, "post": post, "address": request.path}
    return form_page(request, "timeline/moderation/reporting/report.html", context)


@require_safe
@login_required
def reported(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    """What else the reporter can do about a person: block them, or mute them."""
    person, [hiding] = request.viewer.ask_about(username, lambda pipe, me, them: trip(ask_hiding(pipe, me, them)))
    by, back = rendering(request), request.path
    menu = person_menu(person, hiding, by, back, is_reported=True) if person.uid != me.uid else ""
    return form_page(request, "timeline/moderation/reporting/reported.html", {"person": person, "menu": menu})


# ---- The forms of staff.


ACTIONS = {
    Action.DISMISS: gettext_lazy("Nothing"),
    Action.WARN: gettext_lazy("Warn them"),
    Action.FREEZE: gettext_lazy("Freeze: they can only read"),
    Action.HIDE: gettext_lazy("Hide: only followers see them"),
    Action.SUSPEND: gettext_lazy("Suspend: nobody sees them"),
}
FOR_DAYS = (
    ("", gettext_lazy("until it is lifted")),
    ("1", gettext_lazy("a day")),
    ("7", gettext_lazy("a week")),
    ("30", gettext_lazy("30 days")),
)


class ReasonForm(forms.Form):
    reason = TextField(
        LONGEST_REASON,
        label=gettext_lazy("Reason"),
        help_text=gettext_lazy("It is kept in the log. The person concerned can read it."),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )


class SanctionForm(ReasonForm):
    action = forms.ChoiceField(
        label=gettext_lazy("Sanction"), choices=[(action.value, ACTIONS[action]) for action in SANCTIONS]
    )
    days = forms.ChoiceField(
        label=gettext_lazy("Duration"),
        help_text=gettext_lazy("A suspension without an end becomes a deletion of the account after 30 days."),
        choices=FOR_DAYS,
        required=False,
    )
    field_order: Sequence[str] = ("action", "days", "reason")

    @property
    def until(self) -> int:
        """In unix seconds; 0: until it is lifted."""
        days = int(self.cleaned_data["days"] or 0)
        return int(time.time()) + days * A_DAY if days else 0


class DecisionForm(SanctionForm):
    """`action=post_deleted`, as the form had it before, stands for the deletion and nothing else."""

    delete = forms.BooleanField(label=gettext_lazy("Delete the post"), required=False)
    action = forms.ChoiceField(
        label=gettext_lazy("What happens to the person?"),
        help_text=gettext_lazy("“Nothing”, with no post deleted, means that no rule was broken."),
        choices=[(action.value, label) for action, label in ACTIONS.items()],
    )
    told = TextField(
        LONGEST_REASON,
        required=False,
        label=gettext_lazy("Message to those who reported it"),
        help_text=gettext_lazy(
            "They are always told whether you have acted. Without a message of yours they also read the reason when no "
            "rule was broken."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )
    field_order = ("delete", "action", "days", "reason", "told")

    def __init__(self, data: QueryDict | None = None) -> None:
        if data is not None and data.get("action") == Action.DELETE:
            data = data.copy()
            data.update({"delete": "on"})
            data["action"] = Action.DISMISS.value
        super().__init__(data)

    @property
    def actions(self) -> list[Action]:
        """As for `Reports.decide`: a deletion without anything else is that alone."""
        action = Action(self.cleaned_data["action"])
        if not self.cleaned_data["delete"]:
            return [action]
        return [Action.DELETE] if action is Action.DISMISS else [Action.DELETE, action]


class PictureRemovalForm(ReasonForm):
    """Removes the picture or the header of a person: `act` says which, `digest` what the page has shown."""

    digest = forms.CharField(required=False)
    block = forms.BooleanField(required=False)


class NoteForm(forms.Form):
    note = TextField(
        LONGEST_STAFF_NOTE,
        label=gettext_lazy("Note"),
        help_text=gettext_lazy("Only staff reads it. The person is not told."),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )


class PostsDeleted(Refused):
    """Their author was faster: a notice of a deletion by staff would be untrue."""

    message = gettext_lazy("The post is deleted.")


def _require_shown(request: RetwisRequest, present: Sanction | None) -> None:
    """Raises SanctionChanged where the form has shown another sanction than the present one: nobody replaces or lifts
    one unseen."""
    if not is_made_of(request, "imposed", present.act_id if present is not None else ""):
        raise SanctionChanged


@contextmanager
def _refusals_on(form: forms.Form) -> Iterator[None]:
    """Says on the form why what staff asks for was not done."""
    try:
        yield
    except Refused as refused:
        form.add_error(None, str(refused))


class NothingChosen(Refused):
    message = gettext_lazy("Choose at least one post.")


Make = Callable[[QueryDict | None], forms.Form]
# What staff does about a person, by `act`: where the form stands on the page, and how it is made. Several have the same
# fields, so their ids differ.
SANCTION: tuple[str, Make] = ("form", SanctionForm)  # without `act`
FORMS: dict[str, tuple[str, Make]] = {
    **dict.fromkeys(("grant", "refuse", "lift"), ("form", ReasonForm)),
    "link": ("linking", partial(ReasonForm, auto_id="link_%s")),
    "delete": ("deletion", partial(ReasonForm, auto_id="deletion_%s")),
    "remove_picture": ("picture_removal", partial(PictureRemovalForm, auto_id="picture_%s")),
    "remove_header": ("header_removal", partial(PictureRemovalForm, auto_id="header_%s")),
    "note": ("note", NoteForm),
}


# ---- How the pages of staff are made.


def staff_page(
    request: RetwisRequest, template: str, context: dict[str, Any], status: int | None = None
) -> HttpResponse:
    """A page with the links to all pages of staff that this viewer may open. `status`: as for `form_page`."""
    is_admin = request.viewer.checked.role is Role.ADMIN
    return form_page(request, f"timeline/moderation/staff/{template}", {**context, "is_admin": is_admin}, status)


def _about_oneself(request: RetwisRequest) -> HttpResponse:
    """The answer to staff who asks for what is about themself, and is left to others."""
    return not_done(request, str(NotYours.message), "moderation")


# ---- The pages on which staff finds a person, reads what is known of them, and acts.


@staff_required
@require_safe
def people(request: RetwisRequest, me: User) -> HttpResponse:
    """A field for a name. A whole username, also of a suspended person, leads to that person; a part to a list, as
    visitors see it: a block between staff and a person hides nothing. Three round trips."""
    query = search_query(request.GET.get("q", ""))
    if query and Users(connect()).find(query) is not None:
        return redirect("moderation_person", query)
    found = People(connect()).search(Viewer(connect(), ""), query).people if query else []
    return staff_page(request, "people.html", {"query": query, "people": found})


@staff_required
@require_safe
def new(request: RetwisRequest, me: User) -> HttpResponse:
    """The newest members, each with the first post; older ones with `before`. Six round trips."""
    members, older = queue.new_members(connect(), post_cursor(request.GET.get("before")))
    return staff_page(request, "new.html", {"people": members, "older": older})


@staff_required
@for_forms
def person(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    """What staff knows of a person, with their newest posts, or those below `before`; and the newest notes, or those
    before `notes`. What staff does: `act` is `sanction`, `lift`, `grant` or `refuse` (the appeal), `link` (one that
    sets a new password), `delete` (each `post`), `remove_picture`, `remove_header`, or `note`. Raises NoSuchUser;
    AccountDeleted: nothing of it would stay."""
    store = connect()
    before, notes_before = (post_cursor(request.GET.get(name)) for name in ("before", "notes"))
    record = person_record(store, username)
    if record.deleted is not None:
        raise AccountDeleted(username)
    if not queue.may_see(store, me.uid, record.user.uid):
        return _about_oneself(request)
    act, them = request.POST.get("act", ""), record.user
    if act == "link" and request.viewer.checked.has_factor and not is_confirmed(request):
        return confirm_first(request)  # it opens an account, past its own second factor
    place, make = FORMS.get(act, SANCTION)
    form = make(typed(request))
    posts = queue.posts_of(store, them.uid, before)
    chosen = [one for one in posts["posts"] if str(one.pid) in request.POST.getlist("post")]
    imposed, link = record.standing.imposed if record.standing is not None else None, ""
    if form.is_valid():
        with _refusals_on(form):
            _require_shown(request, imposed)
            is_deletion = act == "delete" or isinstance(form, PictureRemovalForm)
            require_may_act(store, me.uid, them.uid, Action.DELETE if is_deletion else None)
            if act == "delete":
                _delete(store, them.uid, chosen, form, me)
            else:
                link = _do(store, act, form, them, me, request.POST.get("imposed"))
            if not link:
                response = done(request, _("Done."), "moderation_person", username)
                note_changed(request, response, *(one.pid for one in chosen))
                return response
            link, form = request.build_absolute_uri(link), make(None)
    context: dict[str, Any] = {"record": record, "link": link} | _imposed(imposed)
    context |= _forms(place, form) | queue.about_person(store, them.uid, notes_before) | posts
    context["posts"] = [(one, one in chosen) for one in posts["posts"]]
    context["invited"] = invited_by(store, them.uid)
    context |= {"portrait": portrait(them), "header": header_address(record.header)}
    context["facts"] = facts_html(facts_of(them.uid, *record.facts), active_language())
    context["joined"] = moment(record.registered, active_language())[1] if record.registered else ""
    return staff_page(request, "person.html", context, 422 if form.is_bound else 200)


def _imposed(present: Sanction | None) -> dict[str, str]:
    """What is imposed, in words: the state, and its days."""
    return {} if present is None else {"state": queue.in_words(present.state), **days_of(present)}


def _forms(place: str, form: forms.Form) -> dict[str, forms.Form]:
    """The forms of a person's page: the form that was sent, and the others empty."""
    if form.is_bound and place != "form":  # it stands below others: its error would be out of sight
        form.visible_fields()[0].field.widget.attrs["autofocus"] = True
    sanctions = form if isinstance(form, SanctionForm) else SanctionForm()
    empty = {at: make(None) for at, make in (*FORMS.values(), SANCTION)}
    return {**empty, "sanctions": sanctions, place: form}


def _delete(store: Store, author: int, posts: Sequence[queue.ShownPost], form: forms.Form, me: User) -> None:
    """Delete these posts of one author, as `Reports.delete_posts`. Raises NothingChosen."""
    if not posts:
        raise NothingChosen
    Reports(store).delete_posts(author, {one.pid: one.body for one in posts}, me.uid, form.cleaned_data["reason"])


def _do(store: Store, act: str, form: forms.Form, them: User, me: User, shown: str | None) -> str:
    """Do what the form says, which has `shown` this sanction. Returns the address of a new link; empty for everything
    else. Raises Refused."""
    if isinstance(form, NoteForm):
        StaffNotes(store).add(them.uid, me.uid, form.cleaned_data["note"])
        return ""
    reason = form.cleaned_data["reason"]
    if isinstance(form, PictureRemovalForm):
        about, given = NewReport(them.uid, None, Reason.OTHER), form.cleaned_data
        Reports(store).delete_picture(about, given["digest"], given["block"], me.uid, reason)
        return ""
    if act in {"grant", "refuse"}:
        Sanctions(store).decide_appeal(them.uid, act == "grant", me.uid, reason)
    elif act == "lift":
        Sanctions(store).lift(them.uid, me.uid, reason, shown)
    elif act == "link":
        Log(store).write(Act(what="link", whom=them.uid, by=me.uid, reason=reason))
        return reverse("reset", args=[ResetLinks(store).make(them.uid, me.uid)])
    elif isinstance(form, SanctionForm):
        Sanctions(store).impose(them.uid, State(form.cleaned_data["action"]), reason, form.until, me.uid, shown)
    return ""


@staff_required
@for_forms
def post(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    """A post with the reports about it, also one of a suspended person. A POST deletes it, or one `picture` of it, and
    leads back to the page that has the form. Raises AccountDeleted, also before a worker has removed it."""
    store = connect()
    author = Users(store).find(username)
    if author is None:
        raise Http404
    if not queue.may_see(store, me.uid, author):
        return _about_oneself(request)
    found = queue.own_posts(store, author, [pid])
    reports = [one for one in Reports(store).about(author, REPORTS_SHOWN) if one.about.pid == pid]
    if not found and not reports:
        raise Http404
    form = ReasonForm(typed(request))
    if form.is_valid() and found:
        with _refusals_on(form):
            require_may_act(store, me.uid, author, Action.DELETE)
            if "picture" in request.POST:
                about = NewReport(author, pid, Reason.OTHER, body=found[0].body)
                digest, blocks = request.POST["picture"], "block" in request.POST
                Reports(store).delete_picture(about, digest, blocks, me.uid, form.cleaned_data["reason"])
                response = done(request, _("The picture was deleted."), "moderation_post", username, pid)
            else:
                _delete(store, author, found, form, me)
                response = done(request, _("The post was deleted."), page_of_form(request))
            note_changed(request, response, pid)
            return response
    answered = found[0].answered if found else 0
    with store.pipeline() as pipe:
        asked, hiding = queue.ask_names(pipe, {author, answered} - {0}), ask_hiding(pipe, me.uid, author)
    names, is_seen = asked.value, bool(Users(store).people({author})) and not hiding.value.blocks.theirs
    context = {"form": form, "name": names[author], "pid": pid, "post": next(iter(found), None), "is_seen": is_seen}
    context["answered"] = names.get(answered, "")
    context |= {"reports": queue.with_decisions(reports), "next": request.POST.get("next", "")}
    return staff_page(request, "post.html", context)


# ---- The queue, a report, the log


@staff_required
@require_safe
def moderation(request: RetwisRequest, me: User) -> HttpResponse:
    """The open reports and appeals; older reports with `before`, older appeals with `appealed_before`. Eight round
    trips at most."""
    store = connect()
    before, appealed = (post_cursor(request.GET.get(name)) for name in ("before", "appealed_before"))
    page = queue.open_reports(store, before, me.uid) if appealed is None else queue.OpenReports([], 0, None)
    appeals, older_appeals = open_appeals(store, appealed) if before is None else ([], None)
    names = answer(store, queue.ask_names, {appeal.uid for appeal in appeals})
    context = {
        "has_reports": appealed is None,
        **page._asdict(),
        "appeals": [(appeal, names[appeal.uid], *moment(appeal.at, active_language())) for appeal in appeals],
        "older_appeals": older_appeals,
    }
    return staff_page(request, "queue.html", context)


@staff_required
@for_forms
def report(request: RetwisRequest, me: User, rid: int) -> HttpResponse:
    """A report, and the decision about it. `also` in the form: what else of the person is decided with it. `?all=1`
    chooses all of it beforehand. A POST leads to the queue, with `then` to the next older report. Round trips of a
    POST: those of `Reports.decide`, and ten; with `then` three more at most."""
    store = connect()
    found = Reports(store).read(rid)
    if found is None:
        raise Http404
    if not queue.may_see(store, me.uid, found.about.whom):
        return _about_oneself(request)
    about = queue.about_person(store, found.about.whom)
    others = [one for one in about["open"] if one.newest.about.thing != found.about.thing]
    chosen = request.POST.getlist("also") if request.method == "POST" else None
    reported = [found.about.pid, *(one.pid for one in others)]
    there = {post.pid: post.body for post in Posts(store).read([pid for pid in reported if pid])}
    form, present = DecisionForm(typed(request)), Sanctions(store).of(found.about.whom)
    if form.is_valid():
        with _refusals_on(form):
            also = [one.pid for one in others if str(one.pid) in (chosen or ())]
            if found.decision is None:  # else the report itself is what has changed
                _require_shown(request, present)
                pids = [pid for pid in (found.about.pid, *also) if pid]
                if form.cleaned_data["delete"] and pids and there.keys().isdisjoint(pids):
                    raise PostsDeleted
            given, ids = form.cleaned_data, " ".join(map(str, also))
            reason, told, shown = given["reason"], given["told"], request.POST.get("imposed")
            Reports(store).decide(found, me.uid, form.actions, reason, form.until, ids, told, shown)
            following = _report_after(store, rid, me.uid) if "then" in request.POST else None
            # With `#report` the next Tab goes to the report, and not once more through the links above it.
            to = "moderation" if following is None else f"{reverse('moderation_report', args=[following])}#report"
            response = done(request, _("Decided."), to)
            note_changed(request, response, found.about.pid, *also)
            return response
        present, found = Sanctions(store).of(found.about.whom), Reports(store).read(rid) or found  # others were faster
    label, decision = queue.label_of(found.about.reason, found.about.rule), queue.decided_in_words(found)
    context = {"form": form, "report": found, "label": label, "decision": decision, "present": present}
    reporter = found.who if found.about.whom != me.uid else None  # nobody is told who has reported them
    name = answer(store, queue.ask_names, {reporter})[reporter] if reporter is not None else ""
    context |= {**about, **_imposed(present), "reporter": name, "now": there.get(found.about.pid or 0), "there": there}
    context["alike"] = queue.alike(found, about["reports"])
    context["others"] = [(one, "all" in request.GET if chosen is None else str(one.pid) in chosen) for one in others]
    context["iso"], context["when"] = moment(found.when, active_language())
    return staff_page(request, "report.html", context)


LOOKED_AT = 20  # reports among which the next one is looked for: those about oneself are left to others


def _report_after(store: Store, rid: int, me: int) -> int | None:
    """The id of the next older report that this moderator may decide; None at the end of the queue. Three round trips
    at most."""
    older = queue.for_viewer(store, Reports(store).open(rid, LOOKED_AT), me)
    return older[0].rid if older else None


@staff_required
@require_safe
def log(request: RetwisRequest, me: User) -> HttpResponse:
    """What staff has done, newest first. Three round trips at most."""
    store = connect()
    acts, older = Log(store).page(post_cursor(request.GET.get("before")))
    context = {"acts": queue.named(store, acts), "older": older}
    return staff_page(request, "log.html", context)


@staff_required
@for_forms
def blocked_picture(request: RetwisRequest, me: User, at: int, digest: str) -> HttpResponse:
    """An act of this moment that has blocked a picture. A POST takes the block back."""
    store = connect()
    found = next((act for act in Log(store).at(at) if act.also == digest), None)
    if found is None:
        raise Http404
    form = ReasonForm(typed(request))
    if form.is_valid():
        with _refusals_on(form):
            require_may_act(store, me.uid, found.whom, Action.DELETE)
            allow_picture(store, found, me.uid, form.cleaned_data["reason"])
            return done(request, _("The picture can be uploaded again."), "moderation_log")
    return staff_page(request, "blocked_picture.html", {"form": form, "acts": queue.named(store, [found])})


# ---- Addresses


PERSON = "@<username:username>/"

urlpatterns = [
    path(f"{PERSON}report/", report_person, name="report_person"),
    path(f"{PERSON}<id:pid>/report/", report_post, name="report_post"),
    path(f"{PERSON}reported/", reported, name="reported"),
    path("moderation/", moderation, name="moderation"),
    path("moderation/reports/<id:rid>/", report, name="moderation_report"),
    path("moderation/people/", people, name="moderation_people"),
    path("moderation/new/", new, name="moderation_new"),
    path("moderation/people/<username:username>/", person, name="moderation_person"),
    path("moderation/people/<username:username>/<id:pid>/", post, name="moderation_post"),
    path("moderation/log/", log, name="moderation_log"),
    path("moderation/log/<id:at>/<str:digest>/", blocked_picture, name="moderation_picture"),
]
