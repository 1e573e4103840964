"""Follows as HTML: counts, the follow button, and whom two people have in common.

The counts and the button take the person: `people` builds on relations, not the other way round."""

from accounts.signing_in.html import Rendering
from accounts.users.entities import User
from accounts.users.html import at, first_two
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from timeline.relations.relations import FollowCounts, Hiding, InCommon

COUNTS = Fragment("timeline/relations/_counts.html")
FOLLOW = Fragment("timeline/relations/_follow.html")
UNHIDE = Fragment("timeline/relations/_unhide.html", shape={"hides": ("blocked", "muted")})
KNOWN_FOLLOWERS = Fragment("timeline/relations/_known_followers.html", shape={"named": (0, 1, 2)})
COMMON_FOLLOWERS = Fragment("timeline/relations/_common_followers.html")
COMMON_FOLLOWING = Fragment("timeline/relations/_common_following.html")

PERSON_MENU = Fragment("timeline/relations/_person_menu.html")


def counts_of(person: User, counts: FollowCounts, language: str, posts: Html = NOTHING) -> Html:
    """How many `person` follows, and by how many `person` is followed. `posts`: what stands before them."""
    return COUNTS.fill(
        language,
        uid=person.uid,
        at=at(person.username),
        posts=posts,
        following=counts.following,
        followers=counts.followers,
    )


def follow_button(person: User, following: bool, by: Rendering) -> Html:
    """The button; nothing for those who cannot follow. `following`: whether the viewer follows `person` now."""
    if not by.can_act:
        return NOTHING
    return FOLLOW.fill(
        by.language,
        following=following,
        uid=person.uid,
        at=at(person.username),
        username=person.username,
        csrf_token=by.token,
    )


def stance_button(person: User, following: bool, hiding: Hiding, by: Rendering) -> Html:
    """What the viewer most likely does about a person: undo a block or a mute, else follow or unfollow. A muted person
    whom the viewer follows has both. Nothing for those who cannot follow."""
    if hiding.blocks.mine:
        return _unhide_button(person, "blocked", by)
    if not hiding.muted:
        return follow_button(person, following, by)
    unmute = _unhide_button(person, "muted", by)
    return joined([unmute, follow_button(person, following, by)]) if following else unmute


def _unhide_button(person: User, hides: str, by: Rendering) -> Html:
    if not by.can_act:
        return NOTHING
    name = person.username
    return UNHIDE.fill(by.language, hides=hides, at=at(name), username=name, csrf_token=by.token)


def person_menu(person: User, hiding: Hiding, by: Rendering, back: str, *, is_reported: bool = False) -> Html:
    """To block and to mute a person, and to undo it; and to report one, unless that is done. Nothing for those who
    cannot. `back`: the page to which they return."""
    if not by.can_act:
        return NOTHING
    return PERSON_MENU.fill(
        by.language,
        blocked=hiding.blocks.mine,
        muted=hiding.muted,
        reposts_muted=hiding.reposts_muted,
        is_reported=is_reported,
        at=at(person.username),
        username=person.username,
        csrf_token=by.token,
        next=back,
    )


def known_followers(named: tuple[User, ...], others: InCommon, by: Rendering) -> Html:
    """The followers of a person whom the viewer follows: at most two by name, and the number of the others."""
    return KNOWN_FOLLOWERS.fill(
        by.language,
        named=len(named),
        has_others=others.count > 0,
        **first_two(named),
        others=others.count,
        others_text=str(others),
    )
