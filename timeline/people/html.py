"""People as HTML: rows of lists, and the pages of people."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, get_args

from accounts.signing_in.html import Page, Rendering
from accounts.users.html import at, person_slots
from retwis_site.rendering.dates import day, moment, month
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from timeline.people.directory import Side
from timeline.people.lists import By, FollowRow, ListedPerson, Show, Suggested
from timeline.posts.html import beginning_of
from timeline.relations.html import follow_button, stance_button
from timeline.relations.relations import Hiding

BIO_IN_LISTS = 80  # characters

FOLLOW_PAGES = {
    side: Page("timeline/people/follow_page.html", here=side, shape={"show": tuple(Show)}) for side in get_args(Side)
}
PEOPLE = Page("timeline/people/people.html", here="people", shape={"order": tuple(By)})
JOINED = Fragment("timeline/people/_joined.html")
LISTED = Fragment("timeline/people/_listed.html")
FOLLOW_ROW = Fragment("timeline/people/_follow_row.html")
SUGGESTED = Fragment("timeline/people/_suggested.html")
SUGGESTIONS = Fragment("timeline/people/_suggestions.html")
NEWEST_USER = Fragment("timeline/people/_newest_user.html")
NEWEST_USERS = Fragment("timeline/people/_newest_users.html")


def join_date(when: int | None, language: str) -> Html:
    """The month of registration; nothing without a date."""
    if when is None:
        return NOTHING
    iso, exact = moment(when, language)
    return JOINED.fill(language, iso=iso, exact=exact, month=month(when, language))


def listed(people: Sequence[ListedPerson], by: Rendering) -> Html:
    """The rows of the directory or of a search."""
    return joined(_listed(person, by) for person in people)


def _listed(one: ListedPerson, by: Rendering) -> Html:
    return LISTED.fill(by.language, **_row(one, by), followers=one.followers, joined=join_date(one.joined, by.language))


def _row(one: ListedPerson, by: Rendering) -> dict[str, Any]:
    """What all rows of people show: the person, the bio, and the button."""
    return {
        **person_slots(one.user, by.language),
        "has_bio": bool(one.bio),
        "bio": beginning_of(one.bio, BIO_IN_LISTS),
        "button": NOTHING if one.is_me else stance_button(one.user, one.following, Hiding(muted=one.muted), by),
    }


def follow_rows(rows: Sequence[FollowRow], by: Rendering) -> Html:
    """The rows of a followers or following page."""
    return joined(_follow_row(row, by) for row in rows)


def _follow_row(row: FollowRow, by: Rendering) -> Html:
    iso, exact = moment(row.since, by.language)
    return FOLLOW_ROW.fill(
        by.language,
        follows_me=row.follows_me,
        **_row(row.listed, by),
        iso=iso,
        exact=exact,
        day=day(row.since, by.language),
    )


def suggestions(people: Sequence[Suggested], by: Rendering) -> Html:
    """People to follow; nothing without any, and for a frozen viewer, who may follow no one."""
    if not people or by.viewer.is_frozen:
        return NOTHING
    rows = joined(
        SUGGESTED.fill(
            by.language,
            **person_slots(one.user, by.language),
            followers=one.followers,
            has_voter=one.voter is not None,
            voter=one.voter.shown_name if one.voter else "",
            button=follow_button(one.user, following=False, by=by),
        )
        for one in people
    )
    return SUGGESTIONS.fill(by.language, rows=rows)


def newest_users(names: Sequence[str], language: str) -> Html:
    """The newest users, by their usernames."""
    users = joined(_newest_user(name, language) for name in names)
    return NEWEST_USERS.fill(language, has_users=bool(names), users=users)


@lru_cache(maxsize=1000)
def _newest_user(name: str, language: str) -> Html:
    return NEWEST_USER.fill(language, at=at(name), name=name)
