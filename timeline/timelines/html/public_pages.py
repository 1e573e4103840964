"""The pages that visitors see too: the global timeline, the welcome page, profiles."""

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts.signing_in.html.pages import Page, Rendering
from accounts.users.html import PERSON, person
from accounts.users.names import isolated
from retwis_site.http.url_converters import in_path
from retwis_site.rendering.fragments import EITHER, NOTHING, Html, joined
from retwis_site.rendering.pages import origin_of
from timeline.people.html import join_date, newest_users
from timeline.posts.entities import Page as PostsPage
from timeline.posts.html.post_cards import card_pinned
from timeline.posts.html.texts import html_of
from timeline.relations.html import (
    COMMON_FOLLOWERS,
    COMMON_FOLLOWING,
    counts_of,
    follow_button,
    known_followers,
    person_menu,
)
from timeline.timelines.entities import EveryonePage, ProfilePage, Tab
from timeline.timelines.html import listing

EVERYONE = Page(
    "timeline/timelines/everyone.html",
    here="timeline",
    slots=("origin", "newest_users", "composer", *listing.SLOTS),
    shape=listing.SHAPE,
)
WELCOME = Page(
    "timeline/timelines/welcome.html", here="home", slots=("newest_users", *listing.SLOTS), shape=listing.SHAPE
)
PROFILE = Page(
    "timeline/timelines/profile.html",
    here="profile",
    slots=(
        *("uid", *PERSON, "username", "username_in_title", "title_name", "shown_name"),
        *(
            "origin",
            "description",
            "counts",
            "bio",
            "joined",
            "next",
            "button",
            "menu",
            "in_common",
            "composer",
            "pinned",
        ),
        *listing.SLOTS,
    ),
    shape={
        **dict.fromkeys(("is_me", "is_blocked", "follows_me", "has_bio", "has_pinned"), EITHER),
        "tab": [tab.value for tab in Tab],
        **listing.SHAPE,
    },
)


def everyone_page(request: HttpRequest, by: Rendering, found: EveryonePage, composer: Html) -> HttpResponse:
    """The global timeline."""
    return EVERYONE.answer(
        request,
        by,
        origin=origin_of(request),
        newest_users=newest_users(found.newest_users, by.language),
        composer=composer,
        **listing.listing(request, found.page, by, at_the_cap=found.at_the_cap),
    )


def welcome_page(request: HttpRequest, by: Rendering, found: EveryonePage) -> HttpResponse:
    """The home page of a visitor: the newest posts of everyone."""
    return WELCOME.answer(
        request,
        by,
        newest_users=newest_users(found.newest_users, by.language),
        **listing.listing(request, found.page, by),
    )


def profile_page(request: HttpRequest, by: Rendering, found: ProfilePage, composer: Html) -> HttpResponse:
    """A user's profile with their posts, or with their posts and replies."""
    pinned = [found.pinned] if found.pinned else []
    others = [post for post in found.page.posts if post.pid not in {one.pid for one in pinned}]
    shown = listing.listing(request, PostsPage(others, found.page.older), by)
    owner, relation, bio = found.person, found.relation, found.about.bio
    can_follow = by.me is not None and not relation.is_me
    is_blocked = relation.hiding.blocks.mine
    return PROFILE.answer(
        request,
        by,
        is_me=relation.is_me,
        follows_me=relation.follows_me,
        has_bio=bool(bio),
        tab=found.tab.value,
        has_pinned=bool(pinned),
        pinned=card_pinned(found.pinned, by) if found.pinned else NOTHING,
        uid=owner.uid,
        username=owner.username,
        username_in_title=owner.username.lower(),
        **person(owner, by.language),
        title_name=isolated(owner),
        shown_name=owner.shown_name,
        origin=origin_of(request),
        description=bio or _("Posts by %(name)s") % {"name": isolated(owner)},
        counts=counts_of(owner, found.counts.following, found.counts.followers, by),
        bio=html_of(bio, by.language),
        joined=join_date(found.about.joined, by.language),
        next=quote(f"/@{in_path(owner.username)}/"),
        is_blocked=is_blocked,
        button=follow_button(owner, relation.following, by) if can_follow and not is_blocked else NOTHING,
        menu=person_menu(owner, relation.hiding, by) if can_follow else NOTHING,
        in_common=_in_common(found, by),
        composer=composer,
        **{**shown, "is_empty": shown["is_empty"] and not pinned},
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
