"""The people whom a user blocks and mutes, as HTML."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from accounts.users.html import PERSON, person
from retwis_site.rendering.dates import day, moment
from retwis_site.rendering.fragments import EITHER, Fragment, Html, joined
from timeline.people.hidden.repository import HiddenPeople, HiddenPerson, Hides

HIDDEN = Page(
    "timeline/people/hidden/hidden.html",
    here="hidden_people",
    slots=tuple(Hides),
    shape={f"has_{kind}": EITHER for kind in Hides},
)
ROW = Fragment(
    "timeline/people/hidden/_row.html",
    slots=(*PERSON, "username", "csrf_token", "iso", "exact", "day"),
    shape={"kind": tuple(Hides), "ends": EITHER},
)


def hidden_page(request: HttpRequest, by: Rendering, found: HiddenPeople) -> HttpResponse:
    rows: dict[str, Any] = {kind: joined(_row(kind, one, by) for one in people) for kind, people in found.items()}
    return HIDDEN.answer(request, by, **rows, **{f"has_{kind}": bool(people) for kind, people in found.items()})


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
