"""Fills a store that has no people: with the lines of a whole site, as a file or another system gives them.

While it is unfinished, its counters hold UNFINISHED instead of a number. So no site can register users or post in it,
and the next run recognises what a killed run has left. The commit point is the SET of `next_user_id`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from django.conf import settings

from retwis_site.features import Line, SiteLines, site_lines
from retwis_site.store import keys, schema
from retwis_site.store.chunks import Writes
from retwis_site.store.client import Store
from retwis_site.store.kinds import About, is_ours, matching, may_be
from retwis_site.store.schema import UNFINISHED
from retwis_site.store.snowflake import SMALLEST

AT_ONCE = 500  # keys that are removed in one round trip


class CannotFill(Exception):
    """The store was not filled, or not completely. The message names the fix."""


class Filling:
    """Writes a site into an empty store: `begin`, then `write` with each chunk of lines, then `finish`.

    After a crash, begin again: nothing of the unfinished run stays. `dropped` counts, by type, the lines that named an
    unknown user or post."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._largest: dict[str, int] = dict.fromkeys(counters(), 0)  # ids, by the key that counts them
        self.dropped: Counter[str] = Counter()

    def begin(self) -> None:
        """Mark the store as unfinished, and remove what an earlier unfinished run has left. Raises CannotFill for a
        store with people."""
        begin(self._store)

    def write(self, lines: Sequence[Line]) -> None:
        """Write at most 500 lines of any types. All lines of a type come before those of the types after it: user,
        follow, post, like. At most two round trips for each type."""
        for kind in site_lines().values():
            own = [line for line in lines if line["type"] == kind.type]
            if own:
                self._write(kind, own)

    def _write(self, kind: SiteLines, lines: Sequence[Line]) -> None:
        known = self._known(kind, lines)
        self.dropped[kind.type] += len(lines) - len(known)
        writes = Writes(self._store)
        kind.write(writes, known)
        writes.execute()
        if kind.counter:
            counted = [line["id"] for line in lines if settings.POST_IDS == "incr" or line["id"] < SMALLEST]
            self._largest[kind.counter()] = max(self._largest[kind.counter()], *counted, 0)

    def _known(self, kind: SiteLines, lines: Sequence[Line]) -> list[Line]:
        """The lines without those that name an unknown or deleted user or post. At most one round trip."""
        pipe = self._store.pipeline()
        uids = {line[field] for line in lines for field in kind.users}
        pids = {line[field] for line in lines for field in kind.posts}
        users = {uid: pipe.hmget(keys.user(uid), ("username", "deleted")) for uid in uids}
        posts = {pid: pipe.hmget(keys.post(pid), ("user_id", "deleted")) for pid in pids}
        pipe.execute()
        known_users = {uid for uid, fields in users.items() if _exists(*fields.value)}
        known_posts = {pid for pid, fields in posts.items() if _exists(*fields.value)}
        return [
            line
            for line in lines
            if known_users.issuperset(line[field] for field in kind.users)
            and known_posts.issuperset(line[field] for field in kind.posts)
        ]

    def finish(self, largest: Mapping[str, int]) -> None:
        """Write what follows from the lines, the schema and the counters. Commit: the SET of `next_user_id`.

        `largest`: by type, the largest id that the other site has ever given out. A deleted post keeps its id."""
        for kind in site_lines().values():
            kind.finish(self._store)
            if kind.counter:
                self._largest[kind.counter()] = max(self._largest[kind.counter()], largest.get(kind.type, 0))
        schema.mark(self._store)
        for counter in counters():
            self._store.set(counter, str(self._largest[counter]))


def _exists(name: str | None, deleted: str | None) -> bool:
    return name is not None and deleted is None


def counters() -> tuple[str, str]:
    """The keys that hold UNFINISHED until all else is written. Setting the last one commits."""
    return keys.next_post_id(), keys.next_user_id()


def begin(store: Store) -> None:
    """Mark a store as unfinished, and remove the keys of an earlier unfinished run. Raises CannotFill for a store with
    people."""
    refuse_people(store)
    for name in reversed(counters()):  # the first one marks the store, as the last one commits
        store.set(name, UNFINISHED)
    _clear(store)


def refuse_people(store: Store) -> None:
    """Raises CannotFill for a store with people. One round trip."""
    if is_used(store):
        raise CannotFill("The store at REDIS_URL holds users or posts, or remains of them. Name an empty one.")


def is_used(store: Store) -> bool:
    """Whether a store has users or posts, of this site or another, or remains of them other than those of an unfinished
    run: other Retwises have keys with the same names. One round trip; more where other programs have many keys."""
    counter = store.get(keys.next_user_id())
    if counter is not None:
        return counter != UNFINISHED
    return any(
        (kind := may_be(name)) is not None and kind.about is About.PEOPLE
        for names in store.scan_keys(matching("*"), AT_ONCE)
        for name in names
    )


def _clear(store: Store) -> None:
    """Remove every key of the key table except the counters. Keys of other programs stay, such as `user:settings`."""
    for names in store.scan_keys(matching("*"), AT_ONCE):
        pipe = store.pipeline()
        for name in names:
            if is_ours(name) and name not in counters():
                pipe.unlink(name)
        pipe.execute()
