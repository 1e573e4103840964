"""All that the site has of one person, for them to take along: in chunks, so that any amount takes the same memory.

Somebody may write meanwhile. What is there from the beginning to the end is found, once; what comes or goes between may
be found or not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.posts.entities import Edge
from timeline.posts.reader import Record
from timeline.posts.repository import Posts
from timeline.timelines.cursors import parse_id, whole

AT_ONCE = 500  # edges or posts


@dataclass(frozen=True, slots=True)
class Account:
    """What somebody has said about themselves; texts are empty where they did not."""

    user: User
    bio: str
    language: str  # a code
    registered: int | None  # unix seconds; None where the site does not know


class Belongings:
    """What belongs to somebody."""

    def __init__(self, store: Store, owner: User) -> None:
        self._store = store
        self._owner = owner

    def account(self) -> Account:
        """One round trip."""
        pipe = self._store.pipeline()
        pipe.hmget(keys.user(self._owner.uid), ["bio", "language"])
        pipe.zscore(keys.users_by_time(), self._owner.username)
        (bio, language), registered = pipe.execute()
        return Account(self._owner, bio or "", language or "", None if registered is None else whole(registered))

    def following(self) -> Iterator[list[Edge]]:
        """Whom they follow, the newest first. Two round trips a chunk."""
        return self._edges(keys.following)

    def followers(self) -> Iterator[list[Edge]]:
        """Who follows them, likewise."""
        return self._edges(keys.followers)

    def _edges(self, side: Callable[[int], str]) -> Iterator[list[Edge]]:
        for rows in scored(self._store, side(self._owner.uid)):
            since = {uid: whole(score) for member, score in rows if (uid := parse_id(member)) is not None}
            people = Users(self._store).people(list(since))
            yield [Edge(people[uid], when) for uid, when in since.items() if uid in people]

    def posts(self) -> Iterator[list[Record]]:
        """What they have written, the newest first. Two round trips a chunk."""
        for rows in scored(self._store, keys.updates(self._owner.uid)):
            records, _ = Posts(self._store).read([pid for member, _ in rows if (pid := parse_id(member)) is not None])
            yield [record for record in records if record.uid == self._owner.uid]


def scored(store: Store, key: str) -> Iterator[list[tuple[str, float]]]:
    """A sorted set in chunks, the highest score first, and of one score the last name first. One round trip a chunk.

    Each chunk begins with the last row of the one before: any number of rows may share its score, so how many of these
    were there tells where it stands. Where it does not stand there, because some have gone, more is read again, so that
    nothing is left out; and what does not come below it in that order was there before, so that nothing comes twice.
    """
    last: tuple[float, str] | None = None
    high, offset = "+inf", 0
    while True:
        rows = store.zrevrangebyscore_withscores(key, high, "-inf", offset, AT_ONCE)
        below = [(member, score) for member, score in rows if last is None or (score, member) < last]
        if offset and len(below) == len(rows):
            offset //= 2
            continue
        if below:
            yield below
            member, score = below[-1]
            last = (score, member)
        if len(rows) < AT_ONCE:
            return
        _, lowest = rows[-1]
        before = offset if f"{lowest:.17g}" == high else 0
        offset = before + sum(score == lowest for _, score in rows) - 1
        high = f"{lowest:.17g}"
