"""A look: all that decides where some posts stand, and what they answer and quote, read in one round trip."""

from collections.abc import Mapping
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import stored_time
from retwis_site.store.replies import Answer
from timeline.posts.entities import NO_LINKS, Links
from timeline.posts.reading.history import Version, ask_versions
from timeline.posts.reading.records import LINKS, links_from
from timeline.posts.writing.listings import QUOTES, listings_of

FOREVER = -1  # TTL of a key without an expiry


class Seen(NamedTuple):
    """All that decides where a post stands."""

    exists: bool  # False: no hash, or one without an author
    deleted: bool = False
    has_replies: bool = False
    links: Links = NO_LINKS
    body: str = ""
    edited: int | None = None  # unix seconds
    texts: tuple[Version, ...] = ()  # of an edited post; the newest last

    @property
    def text(self) -> str:
        """The text that the post must have: the newest one."""
        return self.texts[-1].text if self.texts else self.body

    @property
    def stands_in(self) -> set[str]:
        """The keys of the listings in which the post must stand."""
        if not self.exists or (self.deleted and not self.has_replies):
            return set()
        listings = listings_of(self.links, self.text)
        return {one.key for one in listings if one.has_tombstones or not self.deleted}

    @property
    def may_stand_in(self) -> set[str]:
        """The keys of the listings of all its texts."""
        texts = {self.body, *(version.text for version in self.texts)}
        return {one.key for text in texts for one in listings_of(self.links, text)}


class Parent(NamedTuple):
    """A post that is answered."""

    replies: int
    deleted: bool
    expires: bool

    @property
    def number(self) -> int:
        """What its number of replies must be."""
        return 0 if self.deleted else self.replies

    @property
    def stands_wrong(self) -> bool:
        """Whether it is deleted, and its replies have come or gone since it was settled."""
        return self.deleted and self.expires == bool(self.replies)


class Look:
    """Queues its commands. After `execute()` it has `seen`, `parents` and `quotes`."""

    def __init__(self, pipe: Pipe, links: Mapping[int, Links]) -> None:
        """`links`: those of each post, as far as they are known before the look."""
        self._seen = {pid: _ask_seen(pipe, pid) for pid in links}
        answered = {one.reply_to for one in links.values() if one.reply_to is not None}
        quoted = {one.quote for one in links.values() if one.quote is not None}
        self._parents = {pid: _ask_parent(pipe, pid) for pid in answered}
        self._quotes = {pid: QUOTES.ask(pipe, pid) for pid in quoted}

    @property
    def seen(self) -> dict[int, Seen]:
        return {pid: one.value for pid, one in self._seen.items()}

    @property
    def parents(self) -> dict[int, Parent]:
        return {pid: one.value for pid, one in self._parents.items()}

    @property
    def quotes(self) -> dict[int, int]:
        """What the number of quotes of each quoted post must be."""
        return {pid: one.value for pid, one in self._quotes.items()}


def _ask_seen(pipe: Pipe, pid: int) -> Answer[Seen]:
    key = keys.post(pid)
    fields = pipe.hmget(key, ("user_id", "deleted", "body", "edited", *LINKS))
    replies = pipe.zcard(keys.replies_to(pid))
    texts = ask_versions(pipe, pid)

    def read() -> Seen:
        author, deleted, body, edited, *links = fields.value
        return Seen(
            exists=author is not None,
            deleted=deleted is not None,
            has_replies=replies.value > 0,
            links=links_from(key, links),
            body=body or "",
            edited=None if edited is None else stored_time(key, edited),
            texts=texts.value,
        )

    return Answer(read)


def _ask_parent(pipe: Pipe, pid: int) -> Answer[Parent]:
    fields = pipe.hmget(keys.post(pid), ["user_id", "deleted"])
    replies, seconds = pipe.zcard(keys.replies_to(pid)), pipe.ttl(keys.post(pid))

    def read() -> Parent:
        author, deleted = fields.value
        if author is None:  # its hash has expired
            return Parent(0, deleted=False, expires=False)
        return Parent(replies.value, deleted is not None, seconds.value != FOREVER)

    return Answer(read)
