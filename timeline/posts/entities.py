"""What people read: posts, and the pages they stand on."""

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext_lazy as _

from accounts.users.entities import User
from retwis_site.exceptions import Gone, NotFound

LONGEST_POST = 280  # characters


@dataclass(frozen=True, slots=True)
class Post:
    pid: int
    author: User
    body: str
    time: int  # unix seconds


@dataclass(frozen=True, slots=True)
class Published:
    """What a form became: a new post, or with its token's second use the first one, whose text may be another."""

    pid: int
    body: str  # empty when it was deleted meanwhile


@dataclass(frozen=True, slots=True)
class Page:
    """Posts, newest first, and the cursor of the next page: `?before=<older>`. None where the timeline begins."""

    posts: list[Post]
    older: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    following: int
    followers: int


@dataclass(frozen=True, slots=True)
class HomePage:
    viewer: User
    counts: Counts
    page: Page
    seen: int | None  # the highest id that the first page had shown before this; None: it never showed any
    listed: list[int]  # ids below the cursor, newest first; some are dead, or of people not followed
    goes_on: bool  # whether there may be more below these


@dataclass(frozen=True, slots=True)
class GlobalPage:
    newest_users: list[str]  # usernames, newest first
    page: Page
    at_the_cap: bool  # older posts exist, but this timeline does not keep them


@dataclass(frozen=True, slots=True)
class InCommon:
    """How many people two users share: exact up to a limit, a lower bound beyond."""

    count: int
    exact: bool

    def __str__(self) -> str:
        return str(self.count) if self.exact else f"{self.count}+"


@dataclass(frozen=True, slots=True)
class Known:
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
    known: Known | None = None  # None where there is nobody


@dataclass(frozen=True, slots=True)
class About:
    """What a profile says of somebody."""

    bio: str  # empty where they did not say anything
    joined: int | None  # unix seconds; None where the store does not say


@dataclass(frozen=True, slots=True)
class ProfilePage:
    person: User
    about: About
    counts: Counts
    relation: Relation
    page: Page


class Show(StrEnum):
    """Which rows of a followers or following page, as its address says after `?show=`."""

    ALL = ""
    MUTUAL = "mutual"  # who follows, and is followed
    NOT_FOLLOWED_BACK = "not-followed-back"  # one does not follow who follows them


@dataclass(frozen=True, slots=True)
class Edge:
    """One row of a followers or following page."""

    user: User
    since: int  # unix seconds
    follows_me: bool = False  # the viewer


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """Followers or following, newest first, and the cursor of the next page."""

    person: User
    edges: list[Edge]
    older: str | None
    further: bool = False  # whether nobody knows if the next page has anybody: as many were looked at as one page may


class By(StrEnum):
    """In which order people are listed, as the address says after `?by=`."""

    NEWEST = ""
    FOLLOWERS = "followers"


@dataclass(frozen=True, slots=True)
class Listed:
    """Somebody in a list of people."""

    user: User
    bio: str
    followers: int
    joined: int | None  # unix seconds; None where that is not told
    is_me: bool
    following: bool  # whether the viewer does


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of people, and the cursor of the next one."""

    people: list[Listed]
    older: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """Whom a search has found, and whether there may be more."""

    people: list[Listed]
    more: bool


@dataclass(frozen=True, slots=True)
class Suggested:
    """Somebody whom one may want to follow."""

    user: User
    followers: int


class NoSuchPost(NotFound):
    """This author never wrote a post with this id."""


class PostDeleted(Gone):
    """The author deleted it."""

    told = _("This post was here, and its author has deleted it.")
