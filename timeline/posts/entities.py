"""Posts, and pages of posts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy as _

from accounts.users.entities import State, User
from retwis_site.exceptions import Gone, NotFound

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

LONGEST_POST = 280  # characters
is_language = re.compile("[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}").fullmatch  # such as `de` or `zh-TW`


class PostCounts(NamedTuple):
    """How often others have acted on a post."""

    likes: int = 0
    reposts: int = 0
    replies: int = 0
    quotes: int = 0


NO_COUNTS = PostCounts()


class Links(NamedTuple):
    """The other posts and the people that a post names. Only an edit changes them, and only `mentions`."""

    reply_to: int | None = None  # the post that this one replies to
    root: int | None = None  # the first post of the thread
    reply_to_user: int | None = None  # uid of the author answered
    above: tuple[int, ...] = ()  # the nearest posts above this one in the thread, nearest first
    quote: int | None = None  # the quoted post
    repost_of: int | None = None  # the post that this id reposts
    mentions: tuple[int, ...] | None = None  # uids; None: the post is older than mentions, or has no `@name`

    def thread(self, pid: int) -> int:
        """The first post of the thread in which the post `pid` is, which has these links: its root, or itself."""
        return self.root or pid


NO_LINKS = Links()


MOST_PICTURES = 4
LONGEST_ALT = 1500  # characters of a description


class Picture(NamedTuple):
    """A picture of a post."""

    digest: str
    width: int = 0  # pixels; 0: not asked yet
    height: int = 0
    alt: str = ""  # what it shows, for people who do not see it
    blurhash: str = ""  # its colours, for an app that waits for it
    focus: str = ""  # `x,y`, each from -1 to 1: what apps keep when they cut a part off; empty: the middle
    moving: str = ""  # what the name of its animation adds to the digest; empty of one that stands still

    @property
    def small(self) -> str:
        """The name of the file for a card: of a small picture there is one file."""
        return f"{self.digest}-600" if max(self.width, self.height) > 600 else self.digest


_FOCUS = re.compile(r"-?(?:0(?:\.[0-9]{1,4})?|1(?:\.0{1,4})?)")


def is_focus(text: str) -> bool:
    """Whether this is the `focus` of a picture, or empty."""
    parts = text.split(",")
    return not text or (len(parts) == 2 and all(map(_FOCUS.fullmatch, parts)))


class Media(NamedTuple):
    """The pictures of a post."""

    pictures: tuple[Picture, ...] = ()
    sensitive: bool = False  # they are covered until the viewer asks for them

    @property
    def digests(self) -> list[str]:
        return [picture.digest for picture in self.pictures]


NO_MEDIA = Media()


class Acted(NamedTuple):
    """What the viewer has done with a post."""

    liked: bool = False
    reposted: bool = False
    bookmarked: bool = False


NOT_ACTED = Acted()


class Context(NamedTuple):
    """What one page shows with a post. It depends on the viewer and on the page, so it is made for each page."""

    acted: Acted = NOT_ACTED
    listed: int | None = None  # the id in the list, when that is a repost of this post
    reposted_by: tuple[User, ...] = ()  # whose reposts of it the page has, in the order of the page
    answered: User | None = None  # the author replied to; None also when their account is deleted
    quoted: Post | None = None  # None also when the viewer cannot see it
    # The usernames in the text that are links, in lower case. None: all, since nobody has looked them up.
    mentioned: frozenset[str] | None = None
    muted: str | None = None  # the words that the viewer mutes and the post has: it waits behind a line that names them
    listed_time: int = 0  # unix seconds: when the repost was made that the list has


NO_CONTEXT = Context()


class Post(NamedTuple):  # Python makes and compares tuples faster than dataclasses, and a page has up to 50 posts
    pid: int
    author: User
    body: str
    time: int  # unix seconds
    links: Links = NO_LINKS
    counts: PostCounts = NO_COUNTS
    edited: int | None = None  # unix seconds of the last change
    language: str = ""  # a code, such as `de`; empty when the author has not said it
    media: Media = NO_MEDIA
    context: Context = NO_CONTEXT

    @property
    def listed(self) -> int:
        """The id by which the list of the page has this post: its own, or that of a repost. Cursors are made of it."""
        return self.context.listed or self.pid

    @property
    def listed_by(self) -> User:
        """Who has put it into the list: its author, or who reposted it."""
        return self.author if self.context.listed is None else self.context.reposted_by[0]

    @property
    def is_counted(self) -> bool:
        """Whether it is in the number of replies to a post. A reply by a person whom staff hides is counted only while
        replies to it are."""
        return self.author.state is not State.HIDDEN or self.counts.replies > 0

    @property
    def plain(self) -> Post:
        """The post as most people see it: without what the viewer has done, who reposted it, and muted words."""
        if self.context is NO_CONTEXT:
            return self
        plain = Context(NOT_ACTED, None, (), *self.context[3:6])
        if plain == self.context:
            return self
        return self.within(NO_CONTEXT if plain == NO_CONTEXT else plain)

    def is_plainly(self, other: Post) -> bool:
        """Whether most people see the same in both."""
        return self[:-1] == other[:-1] and self.context[3:6] == other.context[3:6]

    def within(self, context: Context) -> Post:
        """The post with this context. `_replace` takes four times as long."""
        return Post(*self[:-1], context)


class DeletedBy(StrEnum):
    """Who has deleted a post."""

    AUTHOR = "author"  # the post alone, or the account
    STAFF = "staff"

    @property
    def mark(self) -> str:
        """What stands behind the time in the field `deleted`, and behind the nonce in the name of the job."""
        return f":{self}" if self is DeletedBy.STAFF else ""


class Unavailable(NamedTuple):
    """A post that this viewer does not see. It keeps its place in a thread while posts below it are shown."""

    pid: int
    links: Links
    deleted_by: DeletedBy | None  # None: it is hidden from this viewer
    is_counted: bool = True  # as `Post.is_counted`


@dataclass(frozen=True, slots=True)
class NewPost:
    """A post as its author has written it. A repost as `reply_to` or `quote` means the post that it reposts."""

    body: str
    reply_to: int | None = None  # the post that this one replies to
    quote: int | None = None
    language: str = ""  # a code, such as `de`; empty when the author has not said it
    media: Media = NO_MEDIA  # of pictures that its author has uploaded


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


class PostRemoved(PostDeleted):
    """Staff deleted this post."""

    message = _("The moderators have removed this post.")


class EditedMeanwhile(Exception):
    message = _(
        "This post was changed meanwhile, in another window or by an app. Saving again replaces what it says now:"
    )


class TooManyEdits(Exception):
    """A post has as many texts as it may have."""

    message = _("This post was edited too often. Delete it and write a new one.")


class TargetRefused(Exception):
    """A post cannot be answered or quoted."""

    message: StrPromise  # the sentence on the page


class TargetMissing(TargetRefused):
    """There is no post with this id."""

    message = _("The post that you reply to or quote does not exist.")


class TargetDeleted(TargetRefused):
    """The post, or the account of its author, is deleted."""

    message = _("The post that you reply to or quote was deleted.")


class TargetBlocked(TargetRefused):
    """Its author and the writer block each other, one way or both."""

    message = _("You cannot reply to or quote this person: one of you blocks the other.")


@dataclass(frozen=True, slots=True)
class PostsPage:
    """Posts, newest first, and the cursor of the next page (`?before=<older>`); None on the last page. `newer`: the
    one of the next page upwards, where an app has asked for that."""

    posts: list[Post]
    older: int | None
    newer: int | None = None

    @property
    def newest(self) -> int | None:
        """From where an app goes on upwards; None without posts where the list has ended."""
        return self.newer or (self.posts[0].listed if self.posts else None)
