"""People as pages list them, and how the viewer relates to them."""

from dataclasses import dataclass
from enum import StrEnum

from accounts.users.entities import User
from timeline.relations.entities import InCommon


@dataclass(frozen=True, slots=True)
class Counts:
    following: int
    followers: int


@dataclass(frozen=True, slots=True)
class KnownFollowers:
    """Those of somebody's followers whom the viewer follows: one or two by name, and how many others."""

    people: tuple[User, ...]
    others: InCommon


@dataclass(frozen=True, slots=True)
class Relation:
    """How the viewer stands to the person whose profile they read."""

    is_me: bool = False
    following: bool = False
    common_followers: InCommon | None = None  # None where there is nothing to compare
    common_following: InCommon | None = None
    follows_me: bool = False
    known: KnownFollowers | None = None  # None where there is nobody


@dataclass(frozen=True, slots=True)
class About:
    """What a profile says of somebody."""

    bio: str  # empty where they did not say anything
    joined: int | None  # unix seconds; None where the store does not say


class Show(StrEnum):
    """Which rows of a followers or following page, as its address says after `?show=`."""

    ALL = ""
    MUTUAL = "mutual"  # who follows, and is followed
    NOT_FOLLOWED_BACK = "not-followed-back"  # one does not follow who follows them


@dataclass(frozen=True, slots=True)
class FollowRow:
    """One row of a followers or following page."""

    user: User
    since: int  # unix seconds
    follows_me: bool = False  # the viewer


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """Followers or following, newest first, and the cursor of the next page."""

    person: User
    edges: list[FollowRow]
    older: str | None
    further: bool = False  # whether nobody knows if the next page has anybody: as many were looked at as one page may


class By(StrEnum):
    """In which order people are listed, as the address says after `?by=`."""

    NEWEST = ""
    FOLLOWERS = "followers"


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """Somebody in a list of people."""

    user: User
    bio: str
    followers: int
    joined: int | None  # unix seconds; None where that is not told
    is_me: bool
    following: bool  # whether the viewer does


@dataclass(frozen=True, slots=True)
class PeopleList:
    """A page of people, and the cursor of the next one."""

    people: list[ListedPerson]
    older: str | None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Whom a search has found, and whether there may be more."""

    people: list[ListedPerson]
    more: bool


@dataclass(frozen=True, slots=True)
class Suggested:
    """Somebody whom one may want to follow."""

    user: User
    followers: int
