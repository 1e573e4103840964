"""The pages on which staff finds a person, reads what is known of them, and acts."""

import time

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.community.guards import staff_required
from accounts.community.log import Act, Log
from accounts.community.records import Records
from accounts.community.refusals import Refused
from accounts.community.sanctions import Sanctions
from accounts.joining.newcomers import invited_by
from accounts.recovery.links import ResetLinks
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NoSuchUser, State, User
from accounts.users.repository import Users
from retwis_site.store.client import Store, connect
from timeline.moderation.reports.deciding import A_DAY, require_may_act
from timeline.moderation.staff.acts import in_words
from timeline.moderation.staff.forms import ReasonForm, SanctionForm
from timeline.moderation.staff.histories import about_person, posts_of
from timeline.moderation.staff.pages import staff_page
from timeline.people.directory import People, search_query
from timeline.timelines.cursors import post_cursor

NO_SANCTION = {"grant", "refuse", "lift", "link"}  # what staff does that needs only a reason


@staff_required
@require_safe
def people(request: RetwisRequest, me: User) -> HttpResponse:
    """A field for a name. A whole username, also of a suspended person, leads to that person; a part to a list. Three
    round trips."""
    query = search_query(request.GET.get("q", ""))
    if query and Users(connect()).find(query) is not None:
        return redirect("moderation_person", query)
    found = People(connect()).search(request.viewer, query).people if query else []
    return staff_page(request, "people.html", {"query": query, "people": found})


@staff_required
@require_http_methods(["GET", "HEAD", "POST"])
def person(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    """What staff knows of a person, with their newest posts, or those below `before`. What staff does: `act` is
    `sanction`, `lift`, `grant` or `refuse` (the appeal), or `link` (one that sets a new password)."""
    store, before = connect(), post_cursor(request.GET.get("before"))
    try:
        record = Records(store).find(username)
    except NoSuchUser:
        raise Http404 from None
    act = request.POST.get("act", "")
    data = request.POST if request.method == "POST" else None
    form = ReasonForm(data) if act in NO_SANCTION else SanctionForm(data)
    link = ""
    if form.is_valid():
        try:
            require_may_act(store, me.uid, record.user.uid)
            link = _do(store, act, form, record.user, me)
        except Refused as refused:
            form.add_error(None, str(refused))
        else:
            if not link:
                messages.success(request, _("Done."))
                return redirect("moderation_person", username)
            link = request.build_absolute_uri(link)
    state = in_words(record.standing.imposed.state) if record.standing is not None else ""
    sanctions = form if isinstance(form, SanctionForm) else SanctionForm()
    context = {"form": form, "sanctions": sanctions, "record": record, "state": state, "link": link}
    context |= about_person(store, record.user.uid) | posts_of(store, record.user.uid, before)
    context["invited"] = invited_by(store, record.user.uid)
    status = 422 if form.is_bound and not link else 200
    return staff_page(request, "person.html", context, status)


def _do(store: Store, act: str, form: ReasonForm, them: User, me: User) -> str:
    """Do what the form says. Returns the address of a new link; empty for everything else. Raises Refused."""
    reason = form.cleaned_data["reason"]
    if act in {"grant", "refuse"}:
        Sanctions(store).decide_appeal(them.uid, act == "grant", me.uid, reason)
    elif act == "lift":
        Sanctions(store).lift(them.uid, me.uid, reason)
    elif act == "link":
        Log(store).write(Act(what="link", whom=them.uid, by=me.uid, reason=reason))
        return reverse("reset", args=[ResetLinks(store).make(them.uid)])
    elif isinstance(form, SanctionForm):
        days = form.number_of_days
        until = int(time.time()) + days * A_DAY if days else 0
        Sanctions(store).impose(them.uid, State(form.cleaned_data["action"]), reason, until, me.uid)
    return ""
