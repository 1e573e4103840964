"""The one view of the API: it finds the endpoint, asks whether the token allows it, and writes the answer as JSON."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from django.http import HttpResponse
from django.http.response import ResponseHeaders
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from accounts.media.decoding import PictureRefused
from accounts.signing_in.guards import open_to_frozen
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.tokens import CALLS, OUT_OF_SCOPE, covers
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import AccountFrozen, NotSignedIn, State, User
from retwis_site.exceptions import NothingToShow, TooOften
from retwis_site.http.apps import Forbidden, Invalid, Unreadable, bearer_of, json_response, refusal, sent_by
from retwis_site.rendering.pages import RECORD_NOT_FOUND, not_a_page, too_often
from timeline.api import apps, finding, instance, media, notifications, people, statuses
from timeline.api.calls import Call, Endpoint, Listed, links_of
from timeline.posts.entities import TargetRefused

ROOMS = (apps, instance, people, media, statuses, notifications, finding)
ENDPOINTS = tuple(endpoint for room in ROOMS for endpoint in room.ENDPOINTS)

INVALID_TOKEN = "The access token is invalid"  # noqa: S105  apps compare it
NEEDS_USER = "This method requires an authenticated user"  # for the token of an app itself


# ---- From an address to its endpoints. One part of it at most may be anything, such as an id.


_ANY = "/"  # stands for that part; no part of an address is the same


def _by_parts() -> dict[tuple[str, ...], tuple[str, dict[str, Endpoint]]]:
    """By the parts of an address: the name of the part that may be anything, and the endpoints by their methods."""
    found: dict[tuple[str, ...], tuple[str, dict[str, Endpoint]]] = {}
    for endpoint in ENDPOINTS:
        parts = endpoint.address[1:].split("/")
        name = next((part[1:] for part in parts if part.startswith(":")), "")
        place = tuple(_ANY if part == f":{name}" else part for part in parts)
        found.setdefault(place, (name, {}))[1][endpoint.method] = endpoint
    return found


_BY_PARTS = _by_parts()
_MOST_PARTS = max(map(len, _BY_PARTS))


def _found_at(path: str) -> tuple[Mapping[str, Endpoint], dict[str, str]]:
    """The endpoints at an address by their methods, with or without its last slash, and what it names."""
    parts = tuple(path.removeprefix("/").removesuffix("/").split("/"))
    if parts in _BY_PARTS:
        return _BY_PARTS[parts][1], {}
    for place, part in enumerate(parts if len(parts) <= _MOST_PARTS else ()):
        name, by_method = _BY_PARTS.get((*parts[:place], _ANY, *parts[place + 1 :]), ("", {}))
        if name and part:
            return by_method, {name: part}
    return {}, {}


# ---- The view


_OF_EVERY_ANSWER = ResponseHeaders({"Vary": "Authorization", "Cache-Control": "private, no-store"})


@open_to_frozen  # below, the endpoint says whether it is
@csrf_exempt  # no cookie counts here
def api(request: RetwisRequest, rest: str = "") -> HttpResponse:
    """Round trips: those of the endpoint. Its exceptions become answers here; those of the store in the middleware."""
    by_method, named = _found_at(request.path_info)
    if not by_method:
        return refusal(404, RECORD_NOT_FOUND)
    endpoint = by_method.get("GET" if request.method == "HEAD" else request.method or "")
    if endpoint is None:
        return not_a_page(request, ", ".join(by_method))
    wait = 0  # seconds
    try:
        answer = _answered(request, endpoint, named)
    except TooOften as error:
        answer, wait = too_often(request, error), error.retry_after
    calls = request.viewer.proof.calls  # None for a visitor, and for a token that this process has not seen
    if calls is not None or wait:
        left, ends = (0, int(time.time()) + wait) if calls is None or wait else (calls.left, calls.ends)
        answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"] = str(CALLS.allowed), str(left)
        answer["X-RateLimit-Reset"] = datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    answer.headers._store.update(_OF_EVERY_ANSWER._store)
    return answer


def _answered(request: RetwisRequest, endpoint: Endpoint, named: Mapping[str, str]) -> HttpResponse:
    viewer = request.viewer
    viewer.check = partial(_check, viewer, endpoint)
    try:
        if endpoint.needs_user and not viewer.secret:
            return refusal(422, NEEDS_USER) if bearer_of(request) else refusal(401, INVALID_TOKEN)
        call = Call(request, named, sent_by(request))
        try:
            found = endpoint.answer(call)
        except (NothingToShow, Invalid):
            if endpoint.scope and viewer.secret:
                viewer.require_user()  # what is refused before the token is looked at; else no round trip
            raise
        if endpoint.needs_user:
            viewer.require_user()  # no round trip, but for an answer that asks nothing
    except NotSignedIn:
        return refusal(401, INVALID_TOKEN)
    except (Forbidden, Unreadable) as error:
        return refusal(error.status, str(error))
    except AccountFrozen:
        return refusal(403, "Your account is frozen: you can read, and change nothing that others see")
    except NothingToShow:
        return refusal(404, RECORD_NOT_FOUND)
    except (Invalid, TargetRefused, PictureRefused) as error:
        why = str(error.message if isinstance(error, TargetRefused) else error)  # the error would keep this frame
        details = {"details": error.details} if isinstance(error, Invalid) and error.details else None
        return refusal(422, f"Validation failed: {why}", details)
    if isinstance(found, HttpResponse):
        return found
    if not isinstance(found, Listed):
        return json_response(found)
    answer = json_response(found.items)
    if links := links_of(request, found):
        answer["Link"] = links
    return answer


_covers = lru_cache(maxsize=500)(covers)  # apps ask for few sets of scopes


def _check(viewer: Viewer, endpoint: Endpoint, user: User) -> None:
    """Called in the round trip that checks the token, before anything is written. Raises Forbidden, AccountFrozen."""
    if endpoint.scope and not _covers(viewer.checked.scopes, endpoint.scope):
        raise Forbidden(OUT_OF_SCOPE)
    if endpoint.method != "GET" and not endpoint.open_to_frozen and user.state is State.FROZEN:
        raise AccountFrozen


urlpatterns: list[Any] = [
    path("api/<path:rest>", api, name="api"),
    path("nodeinfo/<path:rest>", api, name="nodeinfo"),
    path(".well-known/nodeinfo", api, name="nodeinfo_links"),
    path(".well-known/nodeinfo/", api, name="nodeinfo_links_with_slash"),
]
