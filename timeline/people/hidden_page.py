"""The page of the people whom a user blocks and mutes."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import to_login
from accounts.signing_in.html import Page, Rendering, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn
from accounts.users.html import person
from retwis_site.rendering.dates import day, moment
from retwis_site.rendering.fragments import Fragment, Html, joined
from retwis_site.store.client import connect
from timeline.people.hidden import HiddenPeople, HiddenPerson, Hides, hidden_people

HIDDEN = Page("timeline/people/hidden/hidden.html", here="hidden_people")
ROW = Fragment("timeline/people/hidden/_row.html", shape={"kind": tuple(Hides)})


def hidden_page(request: HttpRequest, by: Rendering, found: HiddenPeople) -> HttpResponse:
    rows: dict[str, Any] = {kind: joined(_row(kind, one, by) for one in people) for kind, people in found.items()}
    return HIDDEN.response(request, by, **rows, **{f"has_{kind}": bool(people) for kind, people in found.items()})


def _row(kind: Hides, one: HiddenPerson, by: Rendering) -> Html:
    iso, exact = moment(one.until or 0, by.language)
    return ROW.fill(
        by.language,
        kind=kind,
        ends=one.until is not None,
        **person(one.user, by.language),
        username=one.user.username,
        csrf_token=by.token,
        iso=iso,
        exact=exact,
        day=day(one.until or 0, by.language),
    )


# ---- Views


@require_safe
@cache_control(private=True, no_store=True)
def blocks(request: RetwisRequest) -> HttpResponse:
    try:
        found = hidden_people(connect(), request.viewer)
    except NotSignedIn:
        return to_login(request.get_full_path())
    return hidden_page(request, rendering(request), found)
