"""The home page."""

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from accounts.users.html import PERSON, person
from retwis_site.rendering.fragments import EITHER, NOTHING, Fragment, Html
from retwis_site.store import snowflake
from timeline.people.entities import Suggested
from timeline.people.html import suggestions
from timeline.relations.html import counts_of
from timeline.timelines import unread
from timeline.timelines.entities import HomePage
from timeline.timelines.html import listing

HOME = Page(
    "timeline/timelines/home.html",
    here="home",
    slots=(*PERSON, "counts", "composer", "newest", "unread", "suggestions", *listing.SLOTS),
    shape={"polls": EITHER, **listing.SHAPE},
)
UNREAD = Fragment(
    "timeline/timelines/_unread.html",
    slots=("resume_before",),
    numbers=("number",),
    shape={
        "says": ("stopped_here", "new_posts", "all_read"),
        "has_more": EITHER,
        "leads": ("", "back", "down"),
    },
)
ARRIVALS = Fragment("timeline/timelines/_arrivals.html", numbers=("count",), shape={"more": EITHER})


def home_page(
    request: HttpRequest,
    by: Rendering,
    found: HomePage,
    composer: Html,
    *,
    said: Html = NOTHING,
    last_read: int | None = None,
    suggested: tuple[Suggested, ...] = (),
    status: int = 200,
) -> HttpResponse:
    """The page of the signed-in viewer. `said`: from `unread_html`. `last_read`: as for `listing`."""
    user = found.viewer
    # Posts above this id are new to an open page. It may be an id at the head of the list whose post is not shown.
    newest = max(snowflake.newest(found.listed), found.newest, 1)
    return HOME.answer(
        request,
        by,
        status=status,
        polls="before" not in request.GET,
        **person(user, by.language),
        counts=counts_of(user, found.counts.following, found.counts.followers, by),
        composer=composer,
        newest=newest,
        unread=said,
        suggestions=suggestions(suggested, by),
        **listing.listing(request, found.page, by, last_read=last_read),
    )


def unread_html(found: HomePage, before: int | None, last_read: int | None, language: str) -> Html:
    """What the page says about unread posts. `last_read`: the newest id that the viewer had read before this visit."""
    if unread.starts_at_last_read(found, before, last_read):
        return _unread("stopped_here", unread.NO_UNREAD_POSTS, language)
    if last_read is None or before is not None:
        return NOTHING
    posts = unread.unread_posts(found, last_read)
    return _unread("new_posts" if posts.count else "all_read", posts, language)


def _unread(says: str, posts: unread.UnreadPosts, language: str) -> Html:
    leads = "down" if posts.has_divider else ""
    return UNREAD.fill(
        language,
        says=says,
        has_more=posts.has_more,
        leads="back" if posts.resume_before else leads,
        number=posts.count,
        resume_before=posts.resume_before or "",
    )


def arrivals_html(count: int, more: bool, language: str) -> Html:
    """The link that loads posts which have come since the page was opened."""
    return ARRIVALS.fill(language, count=count, more=more)
