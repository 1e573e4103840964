"""The pages of staff: the queue, a report, the log. For all others they do not exist."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.community.appeals import AppealPage, open_appeals
from accounts.community.guards import staff_required
from accounts.community.log import Log
from accounts.community.refusals import Refused
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.store.client import connect
from timeline.moderation.reporting.forms import label_of
from timeline.moderation.reports.deciding import Deciding
from timeline.moderation.reports.entities import Action
from timeline.moderation.reports.repository import Reports
from timeline.moderation.staff.acts import in_words
from timeline.moderation.staff.forms import DecisionForm
from timeline.moderation.staff.histories import about_person, named
from timeline.moderation.staff.pages import staff_page
from timeline.moderation.staff.queue import Queue, names_of, queue
from timeline.posts.repository import Posts
from timeline.timelines.cursors import post_cursor


@staff_required
@require_safe
def moderation(request: RetwisRequest, me: User) -> HttpResponse:
    """The open reports and appeals; older reports with `before`, older appeals with `appealed_before`. Eight round
    trips at most."""
    store = connect()
    before, appealed = (post_cursor(request.GET.get(name)) for name in ("before", "appealed_before"))
    found = queue(store, before) if appealed is None else Queue([], None)
    asked = open_appeals(store, appealed) if before is None else AppealPage([], None)
    names = names_of(store, {appeal.uid for appeal in asked.appeals})
    context = {
        "has_reports": appealed is None,
        "things": [(one, label_of(one.newest.about.reason, one.newest.about.rule)) for one in found.things],
        "older": found.older,
        "appeals": [(appeal, names[appeal.uid]) for appeal in asked.appeals],
        "older_appeals": asked.older,
    }
    return staff_page(request, "queue.html", context)


@staff_required
@require_http_methods(["GET", "HEAD", "POST"])
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
    about = about_person(store, found.about.whom)
    name = names_of(store, {found.who}).get(found.who, "") if found.who is not None else ""
    posts, _missing = Posts(store).read([found.about.pid] if found.about.pid else [])
    context |= {**about, "reporter": name, "now": posts[0].body if posts else None}
    return staff_page(request, "report.html", context, 422 if form.is_bound else 200)


@staff_required
@require_safe
def log(request: RetwisRequest, me: User) -> HttpResponse:
    """What staff has done, newest first. Two round trips."""
    store = connect()
    found = Log(store).page(post_cursor(request.GET.get("before")))
    context = {"acts": named(store, found.acts), "older": found.older}
    return staff_page(request, "log.html", context)
