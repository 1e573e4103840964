"""Pages of posts."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from accounts.users.entities import User
from timeline.people.lists import ProfileTexts, ViewerRelation
from timeline.posts.entities import Post, PostsPage
from timeline.relations.relations import FollowCounts


@dataclass(frozen=True, slots=True)
class HomePage:
    viewer: User
    counts: FollowCounts
    page: PostsPage
    seen: int | None  # the highest id that earlier first pages have shown; None: no page has shown a post
    listed: list[int]  # ids below the cursor, newest first; some are dead, or by users who are no longer followed
    has_more: bool  # whether the home may have posts below these ids
    hidden: frozenset[int]  # uids of the latest people whom lists leave out for the viewer
    newest: int  # the highest id of a post on the page that is not ahead; 0 without one


@dataclass(frozen=True, slots=True)
class EveryonePage:
    newest_users: list[str]  # usernames, newest first
    page: PostsPage
    at_the_cap: bool  # older posts exist, but this timeline does not keep them


class Tab(StrEnum):
    """Which posts of a user a profile shows."""

    POSTS = "posts"  # what they wrote to everyone, and what they reposted
    REPLIES = "replies"  # all that they wrote, and nothing else: a profile says how many posts it has


class Numbers(NamedTuple):
    """The numbers of a user, each of them the length of a list."""

    follows: FollowCounts
    written: int | None  # posts, without reposts; None in a database of the official Retwis that was not adopted


@dataclass(frozen=True, slots=True)
class ProfilePage:
    person: User
    about: ProfileTexts
    numbers: Numbers
    relation: ViewerRelation
    page: PostsPage
    pinned: Post | None  # shown first; it may stand in `page`, too
    tab: Tab
