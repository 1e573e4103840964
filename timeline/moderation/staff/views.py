"""The pages of staff: the queue, a report, a person, the log. For all others they do not exist."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.community.guards import staff_required
from accounts.community.log import Act, Log
from accounts.community.refusals import Refused
from accounts.community.sanctions import Sanctions
from accounts.signing_in.html.pages import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.store.client import Store, connect
from timeline.moderation.reporting.forms import label_of
from timeline.moderation.reports.deciding import Deciding, require_may_act
from timeline.moderation.reports.entities import Action, Report
from timeline.moderation.reports.repository import Reports
from timeline.moderation.staff.acts import in_words
from timeline.moderation.staff.forms import DecisionForm, ReasonForm
from timeline.moderation.staff.queue import names_of, queue
from timeline.posts.repository import Posts
from timeline.timelines.cursors import post_cursor

REPORTS_SHOWN = 50  # about one person


@require_safe
@staff_required
def moderation(request: RetwisRequest, me: User) -> HttpResponse:
    """The open reports and appeals. Seven round trips."""
    store = connect()
    found = queue(store, post_cursor(request.GET.get("before")))
    appeals = Sanctions(store).appeals()
    names = names_of(store, {appeal.uid for appeal in appeals})
    context = {
        "things": [(one, label_of(one.newest.about.reason, one.newest.about.rule)) for one in found.things],
        "appeals": [(appeal, names[appeal.uid]) for appeal in appeals],
        "older": found.older,
    }
    return form_page(request, "timeline/moderation/staff/queue.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_required
def report(request: RetwisRequest, me: User, rid: int) -> HttpResponse:
    """A report, and the decision about it. Round trips of a POST: those of `Deciding.decide`, and four."""
    store = connect()
    found = Reports(store).read(rid)
    if found is None:
        raise Http404
    form = DecisionForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        action, reason = Action(form.cleaned_data["action"]), form.cleaned_data["reason"]
        try:
            Deciding(store).decide(found, action, reason, form.number_of_days, me.uid)
        except Refused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, _("Decided."))
            return redirect("moderation")
    decision = in_words(found.decision.what) if found.decision is not None else ""
    label = label_of(found.about.reason, found.about.rule)
    context = {"form": form, "report": found, "label": label, "decision": decision}
    about = _about_person(store, found.about.whom)
    name = names_of(store, {found.who}).get(found.who, "") if found.who is not None else ""
    posts, _missing = Posts(store).read([found.about.pid] if found.about.pid else [])
    context |= {**about, "reporter": name, "now": posts[0].body if posts else None}
    return form_page(request, "timeline/moderation/staff/report.html", context, 422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_required
def person(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    """What staff knows of a person. A POST decides their appeal (`appeal` = `grant` or `refuse`), or lifts what is
    imposed."""
    store = connect()
    uid = Users(store).find(username)
    if uid is None:
        raise Http404
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        answer, reason = request.POST.get("appeal"), form.cleaned_data["reason"]
        try:
            require_may_act(store, me.uid, uid)
            if answer in {"grant", "refuse"}:
                Sanctions(store).decide_appeal(uid, answer == "grant", me.uid, reason)
            else:
                Sanctions(store).lift(uid, me.uid, reason)
        except Refused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, _("Decided."))
            return redirect("moderation_person", username)
    standing = Sanctions(store).standing(uid)
    state = in_words(standing.imposed.state) if standing is not None else ""
    context = {"form": form, "standing": standing, "state": state, **_about_person(store, uid)}
    return form_page(request, "timeline/moderation/staff/person.html", context, 422 if form.is_bound else 200)


@require_safe
@staff_required
def log(request: RetwisRequest, me: User) -> HttpResponse:
    """What staff has done, newest first. Two round trips."""
    store = connect()
    found = Log(store).page(post_cursor(request.GET.get("before")))
    context = {"acts": _named(store, found.acts), "older": found.older}
    return form_page(request, "timeline/moderation/staff/log.html", context)


def _about_person(store: Store, uid: int) -> dict[str, Any]:
    """The name of a person, what staff has done about them, and the reports about them. Five round trips."""
    reports: list[Report] = Reports(store).about(uid, REPORTS_SHOWN)
    return {
        "name": names_of(store, {uid})[uid],
        "reports": [
            (
                one,
                label_of(one.about.reason, one.about.rule),
                in_words(one.decision.what) if one.decision is not None else "",
            )
            for one in reports
        ],
        "acts": _named(store, Log(store).about(uid).acts),
    }


def _named(store: Store, acts: Any) -> list[tuple[Act, str, str, str]]:
    """Acts in words, with the names of who has done them, and to whom."""
    names = names_of(store, {uid for act in acts for uid in (act.by, act.whom) if uid})
    return [(act, in_words(act.what), names.get(act.by, ""), names.get(act.whom, "")) for act in acts]
