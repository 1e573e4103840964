"""The pages with timelines: home, the global timeline, the welcome page, profiles."""

from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.facts.facts import Fact
from accounts.signing_in.html import Page, Rendering, image_to_share, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from accounts.users.html import at, header_address, heading, isolated, titled
from retwis_site.http import cookies
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, escaped, joined
from retwis_site.rendering.pages import origin_of
from retwis_site.store import snowflake
from retwis_site.store.ids import parse_id
from retwis_site.store.local_cache import Memory
from timeline.people.html import join_date, newest_users, suggestions
from timeline.people.lists import ProfileTexts, Suggested
from timeline.posts.composer import composer
from timeline.posts.entities import Post, PostsPage
from timeline.posts.html import cards, html_of, phrases
from timeline.posts.links import tags_in
from timeline.relations.html import COMMON_FOLLOWERS, COMMON_FOLLOWING, counts_of, known_followers, stance_button
from timeline.timelines.everyone import EveryonePage
from timeline.timelines.home import HomePage
from timeline.timelines.profile import Numbers, ProfilePage, Tab

# ---- A page of posts with its links to other pages, as all timelines show it (`_posts.html`).


SHAPE = {"end": ("older", "cap", "beginning", "")}

STOPPED = Fragment("timeline/timelines/_stopped.html")


def listing(
    request: HttpRequest, page: PostsPage, by: Rendering, *, last_read: int | None = None, at_the_cap: bool = False
) -> dict[str, Any]:
    """The shape and the slots of a page of posts. `last_read`: the newest id that the viewer had read; a line separates
    the posts above it from the others, and says enough: no other line says that this is all. `at_the_cap`: older posts
    exist, but this list does not keep them."""
    later = "before" in request.GET
    above = _above_line(page.posts, None if later else by.me, last_read)
    end = "" if above else "beginning"
    if page.older is not None:
        end = "older"
    elif at_the_cap:
        end = "cap"
    return {
        "later": later,
        "has_posts": bool(page.posts),
        "end": end,
        "is_empty": not page.posts and page.older is None and not later,
        "posts": _with_line(page.posts, above, by),
        "older": page.older or "",
        "newest_at": request.path,
        "ages": phrases(by.language),
    }


def _above_line(posts: Sequence[Post], me: int | None, last_read: int | None) -> int:
    """How many posts stand above the line; 0 without one. New posts by `me` alone need none."""
    if last_read is None or not posts or posts[0].listed <= last_read:  # nothing is new, as on most pages
        return 0
    news = [post.listed for post in posts if post.listed_by.uid != me]
    if not snowflake.newest(news) > last_read >= posts[-1].listed:
        return 0
    return sum(post.listed > last_read for post in posts)


def _with_line(posts: Sequence[Post], above: int, by: Rendering) -> bytes:
    if not above:
        return cards(posts, by)
    return cards(posts[:above], by) + STOPPED.fill_as_sent(by.language) + cards(posts[above:], by)


# ---- The home page.


HOME = Page("timeline/timelines/home.html", here="home", shape=SHAPE)
ARRIVALS = Fragment("timeline/timelines/_arrivals.html")


def home_page(
    request: RetwisRequest, found: HomePage, before: int | None, suggested: tuple[Suggested, ...]
) -> HttpResponse:
    """The page of the signed-in viewer. `before`: its cursor. On the first page, the cookie keeps what was read."""
    by, user, kept = rendering(request), found.viewer, _last_read_in_cookie(request, found)
    last_read = kept or found.seen  # the highest id before this visit; None on the first visit of all
    said = _unread_html(found, before, last_read, by.language)
    shown = listing(request, found.page, by, last_read=last_read)
    if said and shown["end"] == "beginning":
        shown["end"] = ""  # one line says where the user is
    # Posts above this id are new to an open page. It may be an id at the head of the list whose post is not shown.
    newest = max(snowflake.newest(found.listed), found.newest, 1)
    response = HOME.response(
        request,
        by,
        polls=before is None,
        **heading(user, by.language),
        counts=counts_of(user, found.counts, by.language),
        composer=composer(request, by),
        newest=newest,
        unread=said,
        suggestions=suggestions(suggested, by),
        **shown,
    )
    if before is None and kept is None and found.seen is not None and found.newest > found.seen:
        cookies.keep(response, LAST_READ_COOKIE, f"{user.uid}-{found.seen}", LAST_READ_LIVES)
    return response


# ---- Unread posts: what has come to a home timeline since its owner's last visit.
#
# Redis has one number for each user, `seen`: the highest post id that their home has shown. A visit that finds higher
# ids keeps the old number in a cookie for some minutes. Otherwise the next page, or a reload, would not know it any
# more. The cookie names its user, because another user may use the same browser next.


LAST_READ_COOKIE = f"{settings.COOKIE_PREFIX}since"
LAST_READ_LIVES = 600  # seconds

UNREAD = Fragment(
    "timeline/timelines/_unread.html",
    shape={"says": ("stopped_here", "new_posts", "all_read"), "leads": ("", "back", "down")},
)


def _last_read_in_cookie(request: HttpRequest, home: HomePage) -> int | None:
    """None without a cookie, or with the cookie of another user."""
    uid, _, pid = request.COOKIES.get(LAST_READ_COOKIE, "").partition("-")
    return parse_id(pid) if parse_id(uid) == home.viewer.uid else None


def _unread_html(home: HomePage, before: int | None, last_read: int | None, language: str) -> Html:
    """What the page says about unread posts, above its posts. `last_read`: the highest id that the viewer had read
    before this visit. Own posts do not count, and posts that this page knows to be dead or hidden."""
    posts = home.page.posts
    slots: dict[str, Any] = {"has_more": False, "leads": "", "number": 0, "resume_before": ""}
    if last_read is None:
        return NOTHING
    if before is not None:
        # A later page that begins with the last read post: all unread posts are on the pages before it.
        begins_there = before > last_read and (not posts or posts[0].listed <= last_read)
        return UNREAD.fill(language, says="stopped_here", **slots) if begins_there else NOTHING
    unread = [post for post in posts if post.listed > last_read] if home.newest > last_read else []
    number = sum(post.listed_by.uid != home.viewer.uid and not snowflake.is_ahead(post.listed) for post in unread)
    if unread and len(unread) == len(posts) and home.page.older is not None:
        number += sum(last_read < pid < unread[-1].listed for pid in home.listed)  # on later pages
        has_more = home.has_more and all(pid > last_read for pid in home.listed)  # the list may end before that post
        slots |= {"has_more": has_more, "leads": "back", "resume_before": last_read + 1}
    elif unread and len(unread) < len(posts):
        slots |= {"leads": "down"}  # to the line between unread and read posts
    return UNREAD.fill(language, says="new_posts" if number else "all_read", **slots | {"number": number})


# ---- The pages that visitors see too: the global timeline, the welcome page, profiles.


EVERYONE = Page("timeline/timelines/everyone.html", here="timeline", shape=SHAPE)
MOST_TAGS, MOST_RULES = 10, 5  # on the welcome page

# The tags of the week, as typed, when this process has looked for them lately: explore does. The welcome page shows
# them, and asks the store for nothing. Some 500 bytes.
rising: Memory[str, Sequence[str]] = Memory(size=2, seconds=300)

RULE = Fragment("timeline/timelines/_rule.html")
WELCOME = Page("timeline/timelines/welcome.html", here="home", shape=SHAPE)
WRITTEN = Fragment("timeline/timelines/_written.html")
FACT = Fragment("timeline/timelines/_fact.html")
PROFILE = Page("timeline/timelines/profile.html", here="profile", shape={"tab": (Tab.POSTS, Tab.REPLIES), **SHAPE})


def everyone_page(request: RetwisRequest, found: EveryonePage) -> HttpResponse:
    """The global timeline."""
    by = rendering(request)
    return EVERYONE.response(
        request,
        by,
        origin=origin_of(request),
        newest_users=newest_users(found.newest_users, by.language),
        composer=composer(request, by),
        **listing(request, found.page, by, at_the_cap=found.at_the_cap),
    )


def welcome_page(request: HttpRequest, by: Rendering, found: EveryonePage) -> HttpResponse:
    """The home page of a visitor: the newest posts of everyone, the tags of the week or those of these posts, and the
    first rules of the site."""
    tags = rising.get("") or _most_used_tags(found.page.posts)
    rules = by.site.numbered_rules[:MOST_RULES]
    origin = origin_of(request)
    return WELCOME.response(
        request,
        by,
        origin=origin,
        image=image_to_share(origin),
        has_tags=bool(tags),
        tags=html_of(" ".join(f"#{tag}" for tag in tags[:MOST_TAGS]), by.language),
        has_rules=bool(rules),
        rules=joined(RULE.fill(by.language, text=rule) for rule in rules),
        **listing(request, found.page, by),
    )


def _most_used_tags(posts: Sequence[Post]) -> Sequence[str]:
    """The tags of these posts, as the newest of them types each; the one in most posts first."""
    spelled = ChainMap(*(tags_in(post.body) for post in posts))
    return [spelled[tag] for tag, _ in Counter(chain.from_iterable(spelled.maps)).most_common()]


def profile_page(request: RetwisRequest, found: ProfilePage) -> HttpResponse:
    """A user's profile with their posts, or with their posts and replies."""
    by = rendering(request)
    pinned, others = found.pinned, found.page.posts
    if pinned:
        others = [post for post in others if post.pid != pinned.pid]
    owner, relation, origin = found.person, found.relation, origin_of(request)
    between = relation.between
    is_blocked = between.hiding.blocks.mine  # then the page is empty, whatever they have written
    shown = listing(request, PostsPage(others, None if is_blocked else found.page.older), by)
    return PROFILE.response(
        request,
        by,
        is_me=relation.is_me,
        follows_me=between.follows_me,
        tab=found.tab.value,
        has_pinned=bool(pinned),
        pinned=cards([pinned], by) if pinned else NOTHING,
        origin=origin,
        image=image_to_share(origin, owner),
        **_about(owner, found.about, found.numbers, by.language),
        next=quote(reverse("profile", args=[owner.username])) if by.me is None else NOTHING,
        is_blocked=is_blocked,
        has_written=found.tab is Tab.POSTS and bool(found.numbers.written) and not is_blocked,
        button=NOTHING if relation.is_me else stance_button(owner, between.following, between.hiding, by),
        in_common=_in_common(found, by),
        composer=_composer_of_profile(request, found, by),
        **{**shown, "is_empty": shown["is_empty"] and not pinned},
    )


# By uid and language: what a profile tells of its owner to everyone, and what it was made of. An entry has 3 KB, so all
# have 700 KB.
_abouts: Memory[tuple[int, str], tuple[object, Mapping[str, Any]]] = Memory(size=250, seconds=3600)


def _about(owner: User, about: ProfileTexts, numbers: Numbers, language: str) -> Mapping[str, Any]:
    """What a profile tells of its owner to everyone."""
    key, made_of = (owner.uid, language), (owner, about, numbers)
    kept = _abouts.get(key)
    if kept is None or kept[0] != made_of:
        kept = (made_of, _made_about(owner, about, numbers, language))
        if not settings.DEBUG:  # then a changed template shows at once
            _abouts.put(key, kept)
    return kept[1]


def _made_about(owner: User, about: ProfileTexts, numbers: Numbers, language: str) -> dict[str, Any]:
    texts = {
        "username": owner.username,
        "username_in_title": owner.username,
        "description": about.bio or _("Posts by %(name)s") % {"name": isolated(owner)},
        **titled(owner),
    }
    return {
        "has_name": bool(owner.name),
        "has_bio": bool(about.bio),
        "has_facts": bool(about.facts),
        **{name: escaped(text) for name, text in texts.items()},
        **heading(owner, language),
        "has_header": bool(about.header),
        "header": escaped(header_address(about.header)),
        "counts": numbers_of(owner, numbers, language),
        "bio": html_of(about.bio, language),
        "facts": facts_html(about.facts, language),
        "joined": join_date(about.joined, language),
    }


def _composer_of_profile(request: RetwisRequest, found: ProfilePage, by: Rendering) -> Html:
    """On the profile of another, a post is written to them; to no one whom the viewer blocks or mutes."""
    hiding = found.relation.between.hiding
    if hiding.blocks.mine or hiding.muted:
        return NOTHING
    return composer(request, by, begins="" if found.relation.is_me else f"@{found.person.username}")


def numbers_of(owner: User, numbers: Numbers, language: str) -> Html:
    """How many posts a person has written, and how many they follow and are followed by."""
    posts = NOTHING
    if numbers.written is not None:
        posts = WRITTEN.fill(language, at=at(owner.username), number=numbers.written)
    return counts_of(owner, numbers.follows, language, posts)


def facts_html(facts: Sequence[Fact], language: str) -> Html:
    """The rows of what a person tells beside the bio."""
    return joined(
        FACT.fill(
            language,
            is_link=fact.is_link,
            is_verified=fact.is_link and fact.verified is not None,
            label=fact.label,
            value=fact.value,
            exact=moment(fact.verified, language)[1] if fact.verified else NOTHING,
        )
        for fact in facts
    )


def _in_common(found: ProfilePage, by: Rendering) -> Html:
    """Whom the viewer and the owner of the profile both know."""
    relation = found.relation
    notes = []
    if relation.known is not None:
        notes.append(known_followers(relation.known.people, relation.known.others, by))
    followers, following = relation.common_followers, relation.common_following
    if followers is not None and followers.count:
        name = found.person.shown_name
        notes.append(COMMON_FOLLOWERS.fill(by.language, exact=followers.exact, number=followers.count, name=name))
    if following is not None and following.count:
        notes.append(COMMON_FOLLOWING.fill(by.language, exact=following.exact, number=following.count))
    return joined(notes)
