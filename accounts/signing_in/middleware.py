"""Attaches `request.viewer`, and a lazy `request.user`. A page that asks neither costs no round trip. Refuses what a
frozen user may not do, in one place for all views: a view need not know of it.

A page that asks either depends on the cookie. Its response says so to caches: retwis_site/middleware.py.
"""

from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from accounts.signing_in.tokens import OWN
from accounts.signing_in.viewer import AppToken, Viewer
from accounts.users.entities import AccountFrozen, State, User, Visitor
from retwis_site.http import cookies
from retwis_site.http.apps import bearer_of, is_of_app
from retwis_site.identity import forget
from retwis_site.store.client import connect
from retwis_site.store.ids import parse_id


class RetwisRequest(HttpRequest):
    """The type of a request that has passed this middleware, as views get it. For type checkers alone."""

    viewer: Viewer
    LANGUAGE_CODE: str  # of the language of this request
    user: User | Visitor  # type: ignore[assignment]


SITE_CHANGED = f"{settings.COOKIE_PREFIX}site_changed"  # of an admin, whose next pages show what was just changed


# ---- The posts on which a browser has acted a moment ago. Its next pages read them anew, on every worker: what a
# process has cached may be older than the action. A cookie names them for as long as a process may keep a post. Anybody
# may send one, so it names few.


POSTS_CHANGED = f"{settings.COOKIE_PREFIX}changed"
CHANGED_FOR = 10  # seconds; longer than any post is cached
MOST_CHANGED = 8  # ids; who acts faster sees some of the counts seconds later


def note_changed(request: HttpRequest, response: HttpResponse, *changed: int | None) -> None:
    """Name these posts, before those that the browser has named. None and 0 are no posts."""
    pids = dict.fromkeys(pid for pid in changed if pid)
    if pids:
        named = [*(pids | dict.fromkeys(changed_posts(request)))][:MOST_CHANGED]
        cookies.keep(response, POSTS_CHANGED, "-".join(map(str, named)), CHANGED_FOR)


def changed_posts(request: HttpRequest) -> list[int]:
    """The ids that the browser names, the newest first."""
    if POSTS_CHANGED not in request.COOKIES:
        return []
    named = request.COOKIES[POSTS_CHANGED][: 20 * MOST_CHANGED].split("-")[:MOST_CHANGED]
    return [pid for pid in map(parse_id, named) if pid is not None]


# ---- The middleware


class ViewerMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_of_app(request):
            token = bearer_of(request)
            viewer = Viewer(connect(), "" if OWN in token else AppToken(token))
        else:
            viewer = Viewer(connect(), request.COOKIES.get(settings.AUTH_COOKIE, ""), changed_posts(request))
        if SITE_CHANGED in request.COOKIES:
            forget()
        attached: Any = request
        attached.viewer = viewer
        attached.user = SimpleLazyObject(lambda: viewer.user)
        return self._get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *arguments: object) -> None:
        """A POST is refused as soon as the view learns that its viewer is frozen, before it changes anything; so is a
        page that is only there to act. No round trip."""
        if (request.method != "POST" and not hasattr(view, "for_acting")) or getattr(view, "open_to_frozen", False):
            return
        viewer = cast(RetwisRequest, request).viewer
        viewer.check = _refuse_frozen
        if viewer.signed_in:  # known already
            _refuse_frozen(viewer.require_user())


def _refuse_frozen(user: User) -> None:
    if user.state is State.FROZEN:
        raise AccountFrozen
