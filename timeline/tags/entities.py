"""Pages of tags."""

from dataclasses import dataclass

from accounts.users.entities import User
from retwis_site.exceptions import NotFound
from timeline.posts.entities import Page


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag that some post had once."""

    folded: str  # in addresses and keys
    spelling: str  # as it was first used


@dataclass(frozen=True, slots=True)
class TagPage:
    tag: Tag
    following: bool  # the viewer follows it
    page: Page


@dataclass(frozen=True, slots=True)
class FollowedTagsPage:
    """The posts of the tags that the viewer follows."""

    viewer: User
    tags: list[Tag]  # the follow of last first
    page: Page


@dataclass(frozen=True, slots=True)
class UsedTag:
    """A tag that completes what is typed."""

    tag: Tag
    posts: int


class NoSuchTag(NotFound):
    """No post ever had this tag."""
