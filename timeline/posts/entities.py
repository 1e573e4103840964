"""What people read: posts, and the pages they stand on."""

from dataclasses import dataclass

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


class NoSuchPost(NotFound):
    """This author never wrote a post with this id."""


class PostDeleted(Gone):
    """The author deleted it."""

    message = _("This post was here, and its author has deleted it.")


@dataclass(frozen=True, slots=True)
class Page:
    """Posts, newest first, and the cursor of the next page: `?before=<older>`. None where the timeline begins."""

    posts: list[Post]
    older: int | None
