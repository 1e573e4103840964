"""The pages of tags, follow and unfollow, and what completes names and tags."""

from urllib.parse import quote

from django.contrib import messages
from django.http import HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import user_change
from accounts.signing_in.html import Page, Rendering, done, image_to_share, not_done, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn, User
from accounts.users.html import FIRST_STRONG_ISOLATE, POP
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, active_language, joined
from retwis_site.rendering.pages import html_response, origin_of
from retwis_site.store.client import connect
from timeline.posts.composer import composer
from timeline.posts.entities import PostsPage
from timeline.posts.html import tag_in_path
from timeline.posts.links import AT_SIGNS, HASH_SIGNS, folded, is_tag
from timeline.relations.feature import FOLLOWS
from timeline.relations.home_tags import MOST_AT_HOME, HomeTags
from timeline.relations.relations import TagFollows
from timeline.tags.feature import COMPLETIONS
from timeline.tags.tags import MOST_FOLLOWED, NoSuchTag, TagPages, ViewersTag, chosen_tag, people_named, tags_named
from timeline.timelines import html as listing
from timeline.timelines.pagination import post_cursor

TAG = Page("timeline/tags/tag.html", here="tag", shape=listing.SHAPE)
TAGS = Page("timeline/tags/tags.html", here="tags", shape=listing.SHAPE)
OPTIONS = Fragment("timeline/tags/_completions.html")
PERSON_OPTION = Fragment("timeline/tags/_person_option.html")
TAG_OPTION = Fragment("timeline/tags/_tag_option.html")
FOLLOWED_TAG = Fragment("timeline/tags/_followed_tag.html")
FOLLOW_TAG = Fragment("timeline/tags/_follow_tag.html")


def follow_tag_buttons(one: ViewersTag, by: Rendering) -> Html:
    """The buttons to follow a tag, and of a followed one, whether home has its posts; nothing for those who cannot
    follow."""
    if not by.can_act:
        return NOTHING
    return FOLLOW_TAG.fill(
        by.language,
        following=one.following,
        at_home=one.at_home,
        folded=one.folded,
        tag=tag_in_path(one.folded),
        spelling=one.spelling,
        csrf_token=by.token,
    )


# ---- Views


SIGNS = frozenset((*AT_SIGNS, *HASH_SIGNS))  # of what `complete` completes


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
    found, page = TagPages(connect()).page(request.viewer, tag, before)
    by = rendering(request)
    return TAG.response(
        request,
        by,
        tag=tag_in_path(found.folded),
        spelling=found.spelling,
        # For a title or an attribute: its writing direction does not change the text around it.
        title_tag=f"{FIRST_STRONG_ISOLATE}#{found.spelling}{POP}",
        origin=origin_of(request),
        image=image_to_share(origin_of(request)),
        next=quote(reverse("tag", args=[found.folded])),
        button=follow_tag_buttons(found, by),
        composer=composer(request, by, begins=f"#{found.spelling}"),
        **listing.listing(request, page, by),
    )


@require_safe
def tags(request: RetwisRequest) -> HttpResponse:
    """The posts of the tags that the viewer follows; a visitor follows none."""
    before = post_cursor(request.GET.get("before"))
    try:
        tags, page = TagPages(connect()).of_followed(request.viewer, before)
    except NotSignedIn:
        tags, page = [], PostsPage([], None)
    by = rendering(request)
    rows = joined(
        FOLLOWED_TAG.fill(
            by.language,
            tag=tag_in_path(one.folded),
            spelling=one.spelling,
            button=follow_tag_buttons(one, by),
        )
        for one in tags
    )
    shown = listing.listing(request, page, by)
    return TAGS.response(request, by, has_tags=bool(tags), tags=rows, **shown)


def too_many_tags() -> str:
    """Why a user cannot follow one more."""
    return _("You can follow up to %(number)d tags. Unfollow one first.") % {"number": MOST_FOLLOWED}


@user_change
def follow_tag(request: RetwisRequest, me: User, tag: str) -> HttpResponse:
    found = chosen_tag(connect(), me.uid, folded(tag))
    if not found.may_be_followed:
        return not_done(request, too_many_tags(), "tag", found.tag.folded)
    FOLLOWS.count(connect(), me.uid)
    TagFollows(connect()).follow(me.uid, found.tag.folded)
    said = _("You now follow %(name)s.") % {"name": f"#{found.tag.spelling}"}
    return done(request, said, "tag", found.tag.folded)


@user_change
def unfollow_tag(request: RetwisRequest, me: User, tag: str) -> HttpResponse:
    found = chosen_tag(connect(), me.uid, folded(tag))
    TagFollows(connect()).unfollow(me.uid, found.tag.folded)
    said = _("You no longer follow %(name)s.") % {"name": f"#{found.tag.spelling}"}
    return done(request, said, "tag", found.tag.folded)


@user_change
def add_to_home(request: RetwisRequest, me: User, tag: str) -> HttpResponse:
    found = chosen_tag(connect(), me.uid, folded(tag))
    name = {"name": f"#{found.tag.spelling}"}
    if not found.tag.following:
        messages.error(request, _("Follow %(name)s first.") % name)
    elif not found.tag.at_home and found.number_at_home >= MOST_AT_HOME:
        text = _("Your home page can have up to %(number)d tags. Hide one first.")
        messages.error(request, text % {"number": MOST_AT_HOME})
    else:
        FOLLOWS.count(connect(), me.uid)
        HomeTags(connect()).add(me.uid, found.tag.folded)
        messages.success(request, _("Posts with %(name)s now appear on your home page.") % name)
    return redirect("tag", found.tag.folded)


@user_change
def remove_from_home(request: RetwisRequest, me: User, tag: str) -> HttpResponse:
    found = chosen_tag(connect(), me.uid, folded(tag))
    HomeTags(connect()).remove(me.uid, found.tag.folded)
    said = _("Posts with %(name)s no longer appear on your home page.") % {"name": f"#{found.tag.spelling}"}
    return done(request, said, "tag", found.tag.folded)


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
    COMPLETIONS.count(connect(), me.uid)
    language = active_language()
    if sign in AT_SIGNS:
        options = [
            PERSON_OPTION.fill(
                language,
                has_name=bool(one.user.name),
                following=one.following,
                position=position,
                username=one.user.username,
                name=one.user.name,
            )
            for position, one in enumerate(people_named(connect(), request.viewer, name), start=1)
        ]
    else:
        options = [
            TAG_OPTION.fill(language, position=position, spelling=used.tag.spelling, posts=used.posts)
            for position, used in enumerate(tags_named(connect(), request.viewer, name), start=1)
        ]
    if not options:
        return HttpResponse(status=204)
    return html_response(OPTIONS.fill_as_sent(language, options=joined(options)), language)


# ---- Addresses


urlpatterns = [
    path("complete/", complete, name="complete"),
    path("tags/", tags, name="tags"),
    path("tags/<str:tag>", tag, name="tag_without_slash"),  # as apps name it
    path("tags/<str:tag>/", tag, name="tag"),
    path("tags/<str:tag>/follow/", follow_tag, name="follow_tag"),
    path("tags/<str:tag>/unfollow/", unfollow_tag, name="unfollow_tag"),
    path("tags/<str:tag>/home/add/", add_to_home, name="add_tag_to_home"),
    path("tags/<str:tag>/home/remove/", remove_from_home, name="remove_tag_from_home"),
]
