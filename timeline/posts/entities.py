"""Posts, and pages of posts."""

from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from accounts.users.entities import User
from retwis_site.exceptions import Gone, NotFound

LONGEST_POST = 280  # characters


class Post(NamedTuple):  # Python makes and compares tuples faster than dataclasses, and a page has up to 50 posts
    pid: int
    author: User
    body: str
    time: int  # unix seconds


@dataclass(frozen=True, slots=True)
class Published:
    """The post of a form: a new one, or, when the token was used before, the first one, with the first text."""

    pid: int
    body: str  # empty when the post is deleted by now


class NoSuchPost(NotFound):
    """This author has no post with this id."""


class PostDeleted(Gone):
    """The author deleted this post."""

    message = _("This post was deleted by its author.")


@dataclass(frozen=True, slots=True)
class Page:
    """Posts, newest first, and the cursor of the next page (`?before=<older>`); None on the last page."""

    posts: list[Post]
    older: int | None
