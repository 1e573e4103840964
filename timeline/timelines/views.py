"""The pages with timelines, and the form that publishes a post."""

from collections.abc import Hashable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import change, to_login
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn
from retwis_site.rendering.error_pages import error_page
from retwis_site.rendering.kept_fields import kept_fields
from retwis_site.rendering.pages import EMPTY, Slots, cached_page, first_page_at, origin_of, page
from retwis_site.store.cached_list import FIRST_TRUSTED
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.people.suggestions import Suggestions
from timeline.posts import drafts
from timeline.posts.forms import BLANK, PostForm, form_with
from timeline.posts.html.post_cards import slots
from timeline.posts.limits import POSTS
from timeline.posts.repository import Posts
from timeline.timelines import unread
from timeline.timelines.cursors import post_cursor
from timeline.timelines.entities import HomePage
from timeline.timelines.everyone import EVERYONE_POSTS, EveryoneTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import Profiles

WELCOME_POSTS = 20


@require_safe
def home(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    try:
        found = Homes(connect()).page(request.viewer, before)
    except NotSignedIn:
        return _welcome(request)
    draft = drafts.kept(request)
    last_read = unread.last_read_post(request, found)
    shown = {
        **_home(found, form_with(draft) if draft else BLANK, first_page_at(request)),
        "unread": unread.unread_posts(found, last_read) if last_read is not None and before is None else None,
        "starts_at_last_read": unread.starts_at_last_read(found, before, last_read),
    }
    render = page if draft else cached_page
    response = render(request, "timeline/timelines/home.html", shown, _slots(found, last_read))
    if before is None:
        unread.keep_last_read(request, response, found)
    return response


@require_safe
def arrivals(request: RetwisRequest) -> HttpResponse:
    """What an open home page asks from time to time: 204, or a link when posts have come above `?after=<pid>`."""
    after = post_cursor(request.GET.get("after", ""))
    try:
        count = Homes(connect()).arrived(request.viewer, after or 0)
    except NotSignedIn:
        count = 0
    if not count:
        return HttpResponse(status=204)
    shown = {"count": count, "more": count >= FIRST_TRUSTED}
    return cached_page(request, "timeline/timelines/_arrivals.html", shown, EMPTY)


def _home(found: HomePage, form: PostForm, newest_at: str) -> dict[str, Hashable]:
    is_empty = not found.page.posts and found.page.older is None and not newest_at
    return {
        "user": found.viewer,
        "counts": found.counts,
        "form": form,
        "newest_at": newest_at,
        "suggested": tuple(Suggestions(connect()).for_user(found.viewer.uid)) if is_empty else (),
    }


def _slots(found: HomePage, last_read: int | None) -> Slots:
    """`newest`: posts above this id are new to an open page. It may be an id at the head of the list whose post is not
    shown."""
    newest = max([*found.listed[:1], *(post.pid for post in found.page.posts[:1])], default=1)
    return {**slots(found.page, found.viewer, last_read), "newest": [str(newest).encode()]}


def _welcome(request: RetwisRequest) -> HttpResponse:
    found = EveryoneTimeline(connect()).page(request.viewer, None, WELCOME_POSTS)
    shown = {
        "user": request.viewer.user,
        "newest_users": tuple(found.newest_users),
    }
    return cached_page(request, "timeline/timelines/welcome.html", shown, slots(found.page, request.viewer.user))


@change
def publish(request: RetwisRequest) -> HttpResponse:
    form = PostForm(request.POST)
    try:
        author = request.viewer.require_user()
        if not form.is_valid():
            found = Homes(connect()).page(request.viewer, None)
            response = page(
                request, "timeline/timelines/home.html", _home(found, form, ""), _slots(found, None), status=422
            )
            unread.keep_last_read(request, response, found)
            return response
    except NotSignedIn:
        return _signed_out(request, form)
    RateLimits(connect()).count(POSTS, str(author.uid))
    body = form.cleaned_data["body"]
    published = Posts(connect()).publish(author.uid, body, form.cleaned_data["token"])
    response = redirect("home")
    if published.body == body:
        messages.success(request, _("Posted."), extra_tags="posted")
        drafts.forget(request, response)
    else:  # the user went back in the browser, changed the text and sent the form again
        text = _("This form was already posted. Your new text is below. You can post it now.")
        messages.error(request, text)
        drafts.keep(response, body)
    return response


def _signed_out(request: RetwisRequest, form: PostForm) -> HttpResponse:
    """Keep a visitor's post until they have logged in. An invalid post is answered at once, with status 422."""
    if not form.is_valid():
        why = " ".join(str(error) for errors in form.errors.values() for error in errors)
        text = _("You are not logged in, and your post is not valid: %(why)s") % {"why": why}
        return error_page(request, 422, _("Not posted"), text, kept_fields(request))
    response = to_login("/")
    drafts.keep(response, form.cleaned_data["body"])
    return response


@require_safe
def everyone(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = EveryoneTimeline(connect()).page(request.viewer, before, EVERYONE_POSTS)
    shown = {
        "user": request.viewer.user,
        "newest_users": tuple(found.newest_users),
        "at_the_cap": found.at_the_cap,
        "newest_at": first_page_at(request),
        "origin": origin_of(request),
    }
    return cached_page(request, "timeline/timelines/everyone.html", shown, slots(found.page, request.viewer.user))


@require_safe
def profile(request: RetwisRequest, username: str) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = Profiles(connect()).page(request.viewer, username, before)
    shown = {
        "user": request.viewer.user,
        "person": found.person,
        "about": found.about,
        "counts": found.counts,
        "relation": found.relation,
        "newest_at": first_page_at(request),
        "origin": origin_of(request),
    }
    return cached_page(request, "timeline/timelines/profile.html", shown, slots(found.page, request.viewer.user))
