"""The pages of tags, follow and unfollow, and what completes names and tags."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import change, login_required
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn, User
from retwis_site.rendering.fragments import active_language, joined
from retwis_site.rendering.pages import answer
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.posts.entities import Page
from timeline.posts.parsing.links import HASH_SIGNS, folded, is_tag
from timeline.relations.feature import FOLLOWS
from timeline.relations.tag_follow import TagFollows
from timeline.tags.completion import people_named, tags_named
from timeline.tags.feature import COMPLETIONS
from timeline.tags.html import OPTIONS, people_options, tag_options, tag_page, tags_page
from timeline.tags.tag_pages import MOST_FOLLOWED, NoSuchTag, TagPages, followed_tag
from timeline.timelines.pagination import post_cursor

SIGNS = frozenset(("@", *HASH_SIGNS))  # of what `complete` completes


@require_safe
def tag(request: RetwisRequest, tag: str) -> HttpResponse:
    """The posts with one tag. Other spellings lead to the folded one, the address of the page."""
    before = post_cursor(request.GET.get("before"))
    if not is_tag(tag):
        raise NoSuchTag(tag)
    if tag != folded(tag):
        query = request.META.get("QUERY_STRING", "")
        address = reverse("tag", args=[folded(tag)])
        return HttpResponsePermanentRedirect(f"{address}?{query}" if query else address)
    found = TagPages(connect()).page(request.viewer, tag, before)
    return tag_page(request, found)


@require_safe
def tags(request: RetwisRequest) -> HttpResponse:
    """The posts of the tags that the viewer follows."""
    before = post_cursor(request.GET.get("before"))
    try:
        found = TagPages(connect()).of_followed(request.viewer, before)
    except NotSignedIn:
        return tags_page(request, [], Page([], None))
    return tags_page(request, found.tags, found.page)


@change
@login_required
def follow_tag(request: RetwisRequest, me: User, tag: str) -> HttpResponse:
    found = followed_tag(connect(), me.uid, folded(tag))
    if not found.following and found.number >= MOST_FOLLOWED:
        text = _("You can follow up to %(number)d tags. Unfollow one first.")
        messages.error(request, text % {"number": MOST_FOLLOWED})
    else:
        RateLimits(connect()).count(FOLLOWS, str(me.uid))
        TagFollows(connect()).follow(me.uid, found.tag.folded)
        messages.success(request, _("You now follow %(name)s.") % {"name": f"#{found.tag.spelling}"})
    return redirect("tag", found.tag.folded)


@change
@login_required
def unfollow_tag(request: RetwisRequest, me: User, tag: str) -> HttpResponse:
    found = followed_tag(connect(), me.uid, folded(tag))
    TagFollows(connect()).unfollow(me.uid, found.tag.folded)
    messages.success(request, _("You no longer follow %(name)s.") % {"name": f"#{found.tag.spelling}"})
    return redirect("tag", found.tag.folded)


@require_safe
def complete(request: RetwisRequest) -> HttpResponse:
    """What completes `?q=`, which is `@` or a hash sign and what was typed after it: a list, or 204 with nothing to
    show. The script asks it while a user types."""
    try:
        me = request.viewer.require_user()
    except NotSignedIn:
        return HttpResponse(status=204)
    typed = request.GET.get("q", "")
    sign, name = typed[:1], typed[1:]
    if not name or sign not in SIGNS:
        return HttpResponse(status=204)
    RateLimits(connect()).count(COMPLETIONS, str(me.uid))
    language = active_language()
    if sign == "@":
        options = people_options(people_named(connect(), request.viewer, name), language)
    else:
        options = tag_options(tags_named(connect(), request.viewer, name), language)
    if not options:
        return HttpResponse(status=204)
    return answer(OPTIONS.fill_as_sent(language, options=joined(options)), language)


# ---- Addresses


urlpatterns = [
    path("complete/", complete, name="complete"),
    path("tags/", tags, name="tags"),
    path("tags/<str:tag>/", tag, name="tag"),
    path("tags/<str:tag>/follow/", follow_tag, name="follow_tag"),
    path("tags/<str:tag>/unfollow/", unfollow_tag, name="unfollow_tag"),
]
