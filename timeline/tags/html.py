"""Tags as HTML."""

from collections.abc import Sequence
from urllib.parse import quote

from django.http import HttpResponse

from accounts.signing_in.html import Page, Rendering, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.names import FIRST_STRONG_ISOLATE, POP
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from retwis_site.rendering.pages import origin_of
from timeline.people.entities import ListedPerson
from timeline.posts.entities import Page as PostPage
from timeline.posts.html.composer import composer
from timeline.posts.html.post_cards import tag_in_path
from timeline.tags.tag_pages import Tag, TagPage, UsedTag
from timeline.timelines import html as listing

TAG = Page("timeline/tags/tag.html", here="tag", shape=listing.SHAPE)
TAGS = Page("timeline/tags/tags.html", here="tags", shape=listing.SHAPE)
OPTIONS = Fragment("timeline/tags/_completions.html")
PERSON_OPTION = Fragment("timeline/tags/_person_option.html")
TAG_OPTION = Fragment("timeline/tags/_tag_option.html")
FOLLOWED_TAG = Fragment("timeline/tags/_followed_tag.html")
FOLLOW_TAG = Fragment("timeline/tags/_follow_tag.html")


def follow_tag_button(tag: Tag, following: bool, by: Rendering) -> Html:
    """The button for a signed-in viewer."""
    return FOLLOW_TAG.fill(
        by.language,
        following=following,
        folded=tag.folded,
        tag=tag_in_path(tag.folded),
        spelling=tag.spelling,
        csrf_token=by.token,
    )


def tag_page(request: RetwisRequest, found: TagPage) -> HttpResponse:
    """The posts of one tag."""
    by = rendering(request)
    tag = found.tag
    return TAG.answer(
        request,
        by,
        tag=tag_in_path(tag.folded),
        spelling=tag.spelling,
        title_tag=_in_title(tag),
        origin=origin_of(request),
        next=quote(f"/tags/{tag_in_path(tag.folded)}/"),
        button=follow_tag_button(tag, found.following, by) if by.me is not None else NOTHING,
        composer=composer(request, by),
        **listing.listing(request, found.page, by),
    )


def tags_page(request: RetwisRequest, tags: Sequence[Tag], page: PostPage) -> HttpResponse:
    """The posts of the tags that the viewer follows; a visitor follows none."""
    by = rendering(request)
    rows = joined(
        FOLLOWED_TAG.fill(
            by.language,
            tag=tag_in_path(tag.folded),
            spelling=tag.spelling,
            button=follow_tag_button(tag, following=True, by=by),
        )
        for tag in tags
    )
    shown = listing.listing(request, page, by)
    return TAGS.answer(request, by, has_tags=bool(tags), tags=rows, composer=composer(request, by), **shown)


def _in_title(tag: Tag) -> str:
    """The tag for a title or an attribute. Its writing direction does not change the text around it."""
    return f"{FIRST_STRONG_ISOLATE}#{tag.spelling}{POP}"


def people_options(people: Sequence[ListedPerson], language: str) -> list[Html]:
    return [
        PERSON_OPTION.fill(
            language,
            has_name=bool(one.user.name),
            following=one.following,
            position=position,
            username=one.user.username,
            name=one.user.name,
        )
        for position, one in enumerate(people, start=1)
    ]


def tag_options(tags: Sequence[UsedTag], language: str) -> list[Html]:
    return [
        TAG_OPTION.fill(language, position=position, spelling=one.tag.spelling, posts=one.posts)
        for position, one in enumerate(tags, start=1)
    ]
