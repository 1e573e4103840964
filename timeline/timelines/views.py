"""The pages with timelines, and the form that publishes a post."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import change, to_login
from accounts.signing_in.html.pages import rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn
from retwis_site.rendering.error_pages import error_page
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.kept_fields import kept_fields
from retwis_site.rendering.pages import answer
from retwis_site.store.cached_list import FIRST_TRUSTED
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.people.entities import Suggested
from timeline.people.suggestions import Suggestions
from timeline.posts.composing import drafts
from timeline.posts.composing.forms import PostForm
from timeline.posts.entities import TargetRefused
from timeline.posts.html.composer import composer_with, empty_composer
from timeline.posts.limits import POSTS
from timeline.posts.repository import Posts
from timeline.timelines import unread
from timeline.timelines.cursors import post_cursor
from timeline.timelines.entities import HomePage
from timeline.timelines.everyone import EVERYONE_POSTS, EveryoneTimeline
from timeline.timelines.home import Homes
from timeline.timelines.html.home_page import arrivals_html, home_page, unread_html
from timeline.timelines.html.public_pages import everyone_page, profile_page, welcome_page
from timeline.timelines.profile import Profiles

WELCOME_POSTS = 20


@require_safe
def home(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    try:
        found = Homes(connect()).page(request.viewer, before)
    except NotSignedIn:
        return _welcome(request)
    by = rendering(request)
    draft = drafts.kept(request)
    last_read = unread.last_read_post(request, found)
    response = home_page(
        request,
        by,
        found,
        composer_with(PostForm(initial={"body": draft}), by) if draft else empty_composer(by),
        said=unread_html(found, before, last_read, by.language),
        last_read=last_read,
        suggested=_suggested(found, before),
    )
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
    language = active_language()
    return answer(arrivals_html(count, count >= FIRST_TRUSTED, language).encode(), language)


def _suggested(found: HomePage, before: int | None) -> tuple[Suggested, ...]:
    """People to follow, for a home without posts."""
    if found.page.posts or found.page.older is not None or before is not None:
        return ()
    return tuple(Suggestions(connect()).for_user(found.viewer.uid))


def _welcome(request: RetwisRequest) -> HttpResponse:
    found = EveryoneTimeline(connect()).page(request.viewer, None, WELCOME_POSTS)
    return welcome_page(request, rendering(request), found)


@change
def publish(request: RetwisRequest) -> HttpResponse:
    form = PostForm(request.POST)
    try:
        author = request.viewer.require_user()
        if not form.is_valid():
            return _with_errors(request, form)
    except NotSignedIn:
        return _signed_out(request, form)
    RateLimits(connect()).count(POSTS, str(author.uid))
    body = form.cleaned_data["body"]
    try:
        published = Posts(connect()).publish(author.uid, form.new_post, form.cleaned_data["token"])
    except TargetRefused as refused:
        form.refuse(refused)
        return _with_errors(request, form)
    response = redirect("home")
    if published.body == body:
        messages.success(request, _("Posted."), extra_tags="posted")
        drafts.forget(request, response)
    else:  # the user went back in the browser, changed the text and sent the form again
        text = _("This form was already posted. Your new text is below. You can post it now.")
        messages.error(request, text)
        drafts.keep(response, body)
    return response


def _with_errors(request: RetwisRequest, form: PostForm) -> HttpResponse:
    """Home with what was typed, and why it was not posted. Raises NotSignedIn."""
    found = Homes(connect()).page(request.viewer, None)
    by = rendering(request)
    suggested = _suggested(found, None)
    response = home_page(request, by, found, composer_with(form, by), suggested=suggested, status=422)
    unread.keep_last_read(request, response, found)
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
    return everyone_page(request, rendering(request), found)


@require_safe
def profile(request: RetwisRequest, username: str) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = Profiles(connect()).page(request.viewer, username, before)
    return profile_page(request, rendering(request), found)
