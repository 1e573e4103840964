"""The posts on which a browser has acted a moment ago. Its next pages read them anew, on every worker: what a process
has cached may be older than the action.

A cookie names them for as long as a process may keep a post. Anybody may send one, so it names few.
"""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies
from retwis_site.store.ids import parse_id

COOKIE = f"{settings.COOKIE_PREFIX}changed"
SECONDS = 10  # longer than any post is cached
MOST = 8  # ids; who acts faster sees some of the counts seconds later


def note(request: HttpRequest, response: HttpResponse, pid: int) -> None:
    """Name this post, before those that the browser has named."""
    pids = dict.fromkeys((pid, *read(request)))
    cookies.keep(response, COOKIE, "-".join(map(str, list(pids)[:MOST])), SECONDS)


def read(request: HttpRequest) -> list[int]:
    """The ids that the browser names, the newest first."""
    if COOKIE not in request.COOKIES:
        return []
    named = request.COOKIES[COOKIE][: 20 * MOST].split("-")[:MOST]
    return [pid for pid in map(parse_id, named) if pid is not None]
