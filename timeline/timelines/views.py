"""The pages with timelines."""

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import page_of_form, user_change
from accounts.signing_in.html import done, news_number, of_another_session, rendering, shown_number
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import AccountSuspended, NotSignedIn, User
from retwis_site.rendering.fragments import NOTHING, active_language, joined
from retwis_site.rendering.pages import html_response, kept_for_visitors
from retwis_site.store.cached_list import FIRST_TRUSTED
from retwis_site.store.client import connect
from timeline.people.lists import Suggested, Suggestions
from timeline.relations.relation import BlocksViewer
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import HomePage, Homes
from timeline.timelines.html import ARRIVALS, everyone_page, home_page, profile_page, welcome_page
from timeline.timelines.pagination import POSTS_A_PAGE, post_cursor
from timeline.timelines.profile import Pins, Profiles, Tab


@require_safe
def home(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    try:
        found = Homes(connect()).page(request.viewer, before)
    except NotSignedIn:
        return _welcome(request)
    return home_page(request, found, before, _suggested(found, before))


@require_safe
def arrivals(request: RetwisRequest) -> HttpResponse:
    """What an open home page asks from time to time: a link when posts have come above `?after=<pid>`, and the number
    of new notices when the page shows another one (`?known=`); else 204."""
    after = post_cursor(request.GET.get("after", ""))
    try:
        count = Homes(connect()).arrived(request.viewer, after or 0)
    except NotSignedIn:
        count = 0
    if (other := of_another_session(request)) is not None:
        return other
    language = active_language()
    html = ARRIVALS.fill(language, count=count, more=count >= FIRST_TRUSTED) if count else NOTHING
    number = request.viewer.checked.numbers.get("news", 0)
    if shown_number(number) != request.GET.get("known", ""):
        html = joined([html, news_number(number, language, "waits")])
    elif not html:
        return HttpResponse(status=204)
    return html_response(html.encode(), language)


def _suggested(found: HomePage, before: int | None) -> tuple[Suggested, ...]:
    """People to follow: in a home without posts, and beside that of a user who follows few."""
    if before is not None:
        return ()
    suggestions, uid = Suggestions(connect()), found.viewer.uid
    if found.page.posts or found.page.older is not None:
        return suggestions.beside_home(uid, found.counts.following, found.hidden)
    return tuple(suggestions.for_user(uid))


@kept_for_visitors
def _welcome(request: RetwisRequest) -> HttpResponse:
    found = EveryoneTimeline(connect()).page(request.viewer, None, POSTS_A_PAGE)
    return welcome_page(request, rendering(request), found)


@require_safe
@kept_for_visitors
def everyone(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = EveryoneTimeline(connect()).page(request.viewer, before, POSTS_A_PAGE)
    return everyone_page(request, found)


@require_safe
def profile(request: RetwisRequest, username: str, tab: Tab = Tab.POSTS) -> HttpResponse:
    """Staff is led from a person who is suspended, or who blocks them, to their page of the person."""
    before = post_cursor(request.GET.get("before"))
    try:
        found = Profiles(connect()).page(request.viewer, username, before, tab)
    except (AccountSuspended, BlocksViewer):
        if not request.viewer.checked.is_staff:
            raise
        return redirect("moderation_person", username)
    return profile_page(request, found)


@user_change
def pin(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    _require_own(request, me, username)
    Pins(connect()).pin(me.uid, pid)
    return done(request, _("Pinned to your profile."), page_of_form(request))


@user_change
def unpin(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    _require_own(request, me, username)
    Pins(connect()).unpin(me.uid, pid)
    return done(request, _("No longer pinned."), page_of_form(request))


def _require_own(request: RetwisRequest, me: User, username: str) -> None:
    """Raises PermissionDenied for the post of another user."""
    if request.viewer.find(username).uid != me.uid:
        raise PermissionDenied(_("Only its author can pin a post."))


# ---- Addresses


urlpatterns = [
    path("", home, name="home"),
    path("new/", arrivals, name="arrivals"),
    path("timeline/", everyone, name="timeline"),
    path("@<username:username>", profile, name="profile_without_slash"),  # as apps name it
    path("@<username:username>/", profile, name="profile"),
    path("@<username:username>/replies/", profile, {"tab": Tab.REPLIES}, name="replies"),
    path("@<username:username>/<id:pid>/pin/", pin, name="pin"),
    path("@<username:username>/<id:pid>/unpin/", unpin, name="unpin"),
]
