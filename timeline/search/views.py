"""The page of the search."""

from functools import partial

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import to_login
from accounts.signing_in.html import rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn
from retwis_site.http.client_ip import client_address
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.people.lists import choice
from timeline.search.feature import SEARCHES, VISITORS_SEARCHES
from timeline.search.html import Asked, not_searched_page, results_page
from timeline.search.names import Meant, Names, ask_meant, ask_no_names
from timeline.search.queries.parsing import BadQuery, NothingToFind, Scope, UnknownPerson, parse
from timeline.search.queries.searching import Search, Searching
from timeline.timelines.pagination import post_cursor


@require_safe
def search(request: RetwisRequest) -> HttpResponse:
    """The posts that `?q=` asks for, and above them the people and tags. A text that is no query is a 400."""
    typed, before = request.GET.get("q", "").strip(), post_cursor(request.GET.get("before"))
    asked = Asked(typed, choice(Scope, request.GET.get("in", Scope.EVERYONE)), before)
    if asked.scope is not Scope.EVERYONE:
        try:
            request.viewer.require_user()
        except NotSignedIn:
            return to_login(request.get_full_path())
    if not typed:
        return not_searched_page(request, rendering(request), asked, "")
    first = before is None and asked.scope is Scope.EVERYONE
    try:
        query = parse(typed)
        beside = partial(ask_meant, typed, query) if first else ask_no_names
        search, meant = Searching(connect()).begin(request.viewer, query, asked.scope, before, beside)
    except BadQuery as error:
        return not_searched_page(request, rendering(request), asked, error.problem, status=400)
    except NothingToFind:
        return not_searched_page(request, rendering(request), asked, "nothing_to_find")
    except UnknownPerson as error:
        return not_searched_page(request, rendering(request), asked, "unknown_person", name=error.name)
    above = _counted(request, search, meant)
    return results_page(request, rendering(request), asked, query, search.page(), above)


def _counted(request: RetwisRequest, search: Search, meant: Meant) -> Names:
    """Count a search of the viewer, who has been checked, and ask for the names above the posts and for what the search
    needs next. One round trip. Raises TooOften."""
    uid = request.viewer.uid
    limit, who = (VISITORS_SEARCHES, client_address(request)) if uid is None else (SEARCHES, str(uid))
    pipe = connect().pipeline()
    counted, above = RateLimits(connect()).ask_count(pipe, limit, who), meant.ask(pipe, uid)
    search.ask(pipe)
    pipe.execute()
    _ = counted.value
    return above.value


# ---- Addresses


urlpatterns = [path("search/", search, name="search")]
