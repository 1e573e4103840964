"""What the protocol of posts has read, and what follows from it.

A text is one letter, its tag, or a letter and "@": such a text mentions someone.
"""

from typing import NamedTuple

LINKS = ("reply_to", "root", "quote")


class Links(NamedTuple):
    """What a post names. It never changes."""

    reply_to: int | None = None
    root: int | None = None
    quote: int | None = None


NO_LINKS = Links()


class Seen(NamedTuple):
    """All that decides where a post stands."""

    exists: bool
    deleted: bool = False
    has_replies: bool = False
    links: Links = NO_LINKS
    mentions: str | None = None
    body: str = ""
    edited: int | None = None
    texts: tuple[tuple[int, str], ...] = ()  # (since, text); the newest last

    @property
    def text(self) -> str:
        return self.texts[-1][1] if self.texts else self.body

    @property
    def stands_in(self) -> set[str]:
        if not self.exists or (self.deleted and not self.has_replies):
            return set()
        return thread_of(self.links) if self.deleted else listings_of(self.links, self.text)

    @property
    def may_stand_in(self) -> set[str]:
        texts = {self.body, *(text for _, text in self.texts)}
        return set().union(*(listings_of(self.links, text) for text in texts))


class Parent(NamedTuple):
    """A post that is answered."""

    pid: int
    replies: int
    deleted: bool
    expires: bool

    @property
    def stands_wrong(self) -> bool:
        return self.deleted and self.expires == bool(self.replies)


class Look(NamedTuple):
    """What one round trip has read of a post, and of the posts that it names."""

    seen: Seen
    parent: Parent | None = None
    quotes: tuple[int, int] | None = None  # the quoted post, and what its count must be
    account: tuple = (None,)


def thread_of(links: Links) -> set[str]:
    """The listings that a tombstone keeps."""
    return {f"{name}:{pid}" for name, pid in (("thread", links.root), ("replies_to", links.reply_to)) if pid}


def listings_of(links: Links, text: str) -> set[str]:
    quotes = {f"quotes_of:{links.quote}"} if links.quote else set()
    return thread_of(links) | quotes | ({f"tag:{text[0]}"} if text else set())


def mentioned(text: str) -> str | None:
    return text if text.endswith("@") else None
