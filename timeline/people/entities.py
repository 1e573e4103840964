"""People in lists and on profiles, and the viewer's relation to them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import stored_score
from retwis_site.store.local_cache import Memory
from retwis_site.store.replies import Result
from timeline.relations.relations import HIDES_NOTHING, Hiding, InCommon

# ---- Join dates, in unix seconds. A join date never changes, so a process caches it.


_join_dates: Memory[int, int] = Memory(size=5000, seconds=3600)  # by uid; 250 bytes an entry, 1.2 MB in all


def ask_join_dates(pipe: Pipe, people: Iterable[User]) -> Result[dict[int, int]]:
    """The join dates by uid, without users that have none. At most one command, for those that are not cached."""
    people = list(people)
    dates = _join_dates.some(user.uid for user in people)
    missing = [user for user in people if user.uid not in dates]
    if not missing:
        return Result(lambda: dates)
    scores = pipe.zmscore(keys.users_by_time(), [user.username for user in missing])

    def read() -> dict[int, int]:
        for user, when in zip(missing, scores.value, strict=True):
            if when is not None:
                dates[user.uid] = stored_score(keys.users_by_time(), user.username, when)
                _join_dates.put(user.uid, dates[user.uid])
        return dates

    return Result(read)


# ---- People


@dataclass(frozen=True, slots=True)
class KnownFollowers:
    """The followers of a user that the viewer follows: one or two by name, and the number of the others."""

    people: tuple[User, ...]
    others: InCommon


@dataclass(frozen=True, slots=True)
class Relation:
    """The viewer's relation to the owner of a profile."""

    is_me: bool = False
    following: bool = False  # the viewer follows the owner
    hiding: Hiding = HIDES_NOTHING
    common_followers: InCommon | None = None  # None for a visitor, and on the viewer's own profile
    common_following: InCommon | None = None  # None in the same cases
    follows_me: bool = False  # the owner follows the viewer
    known: KnownFollowers | None = None  # None without such followers


@dataclass(frozen=True, slots=True)
class About:
    """The texts of a profile."""

    bio: str  # empty without one
    joined: int | None  # unix seconds; None when the store has no date


class Show(StrEnum):
    """The rows of a followers or following page, by the value of `?show=`."""

    ALL = ""
    MUTUAL = "mutual"  # the edge exists in both directions
    NOT_FOLLOWED_BACK = "not-followed-back"  # the edge exists in this direction only


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """One row of a list of people."""

    user: User
    bio: str
    followers: int
    joined: int | None  # unix seconds; None in search results, and when the store has no date
    is_me: bool
    following: bool  # the viewer follows this user


@dataclass(frozen=True, slots=True)
class FollowRow:
    """One row of a followers or following page."""

    listed: ListedPerson
    since: int  # unix seconds
    follows_me: bool = False  # this user follows the viewer


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """A page of followers or following, newest first."""

    person: User
    edges: list[FollowRow]
    older: str | None  # the cursor of the next page; None on the last page
    further: bool = False  # COMPARED rows were read and there are more; the next page may have no rows


class By(StrEnum):
    """The order of a list of people, by the value of `?by=`."""

    NEWEST = ""
    FOLLOWERS = "followers"


@dataclass(frozen=True, slots=True)
class PeopleList:
    """A page of people."""

    people: list[ListedPerson]
    older: str | None  # the cursor of the next page; None on the last page


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The people that a search has found, at most a page."""

    people: list[ListedPerson]
    more: bool  # there may be more


@dataclass(frozen=True, slots=True)
class Suggested:
    """A user to follow."""

    user: User
    followers: int
    voter: User | None = None  # a follower of theirs whom the viewer follows
