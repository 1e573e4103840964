"""Display names, and the index that finds users by name: `users_by_name` follows the users' own hashes.

The truth is the user's hash. A change of name makes the entries match: it reads the hash, adds its entries, removes the
others, and looks again. When the hash has changed meanwhile, it starts again; so the last writer has also seen that the
entries are right. No reader trusts an entry alone, so an extra entry, which a killed process may leave, does no harm.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, unquote

from accounts.users.entities import User
from accounts.users.names import entries, queue_entries
from accounts.users.repository import Users, forget
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce


class Stored(NamedTuple):
    """The fields of a user from which entries follow. Those of a suspended user stay: readers skip them."""

    username: str | None
    name: str | None
    deleted: str | None


class NameIndex:
    """Changes display names and bios, and keeps the entries that lead to users."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def edit(self, me: User, name: str, bio: str) -> None:
        """Change a user's display name and bio; `me` as just read. Commit: the HSET. Six round trips; two more each
        time that another change comes between. One when the name stays the same.

        The same round trip reads the name that the HSET replaces: another device may have changed it after `me` was
        read. A change that still comes between leaves an extra entry, which `cleanup` removes.
        """
        if name == me.name:
            # The name is not written: another device may have changed it, and its entries would not match.
            Users(self._store).write(me.uid, {"bio": bio})
            return
        job = self._outbox.add(f"name:{me.uid}:{quote(me.name, safe='')}:{nonce()}")
        pipe = job.store.pipeline()
        replaced = pipe.hget(keys.user(me.uid), "name")
        pipe.hset(keys.user(me.uid), {"name": name, "bio": bio})
        pipe.execute()
        with suppress(LeaseEnded):
            NameIndex(job.store).finish_edit(job.name, me.uid, {me.name, replaced.value or ""})

    def finish_edit(self, job: str, uid: int, old: Collection[str]) -> None:
        """What follows the commit; `old`: the names before it. Four round trips; two more as above."""
        if not self.refile(uid, old):  # the account was deleted meanwhile
            Users(self._store).take_back(uid, ("name", "bio"))
        self._outbox.done(job)

    # ---- the entries

    def refile(self, uid: int, old: Collection[str]) -> bool:
        """Make the entries of one user match. `old`: former names, which may be empty. Returns whether there is such an
        account: False for an unknown uid or a deleted account. Round trips as below."""
        stored = self.make_match({uid: [entry for name in old if name for entry in entries(User(uid, name))]})
        forget(uid)
        return is_there(stored[uid])

    def make_match(self, old: Mapping[int, Collection[str]]) -> dict[int, Stored]:
        """Make the entries of users match; `old`: by uid, entries that may be out of date. Returns what the hashes say.
        Three round trips for all users together; two more each time that one has changed meanwhile."""
        doubtful = {uid: set(former) for uid, former in old.items()}
        seen = self.stored(old)
        last = dict(seen)
        while seen:
            pipe = self._store.pipeline()
            for uid, stored in seen.items():
                doubtful[uid] |= _entries(uid, stored)
                self._queue(pipe, right_entries(uid, stored), doubtful[uid])
            pipe.execute()
            seen = {uid: stored for uid, stored in self.stored(seen).items() if stored != seen[uid]}
            last |= seen
        return last

    def _queue(self, pipe: Pipe, right: set[str], doubtful: set[str]) -> None:
        if right:
            queue_entries(pipe, sorted(right))
        for stale in sorted(doubtful - right):
            pipe.zrem(keys.users_by_name(), stale)

    def stored(self, uids: Collection[int]) -> dict[int, Stored]:
        """What the hashes of these users say, by uid. One round trip."""
        pipe = self._store.pipeline()
        asked = {uid: pipe.hmget(keys.user(uid), Stored._fields) for uid in uids}
        pipe.execute()
        return {uid: Stored(*fields.value) for uid, fields in asked.items()}


def finish_name(store: Store, claim: Claim) -> None:
    """The job `name:<uid>:<former name, quoted>:<nonce>`. Four round trips; two more each time that another change
    comes between."""
    _, _, name, _ = claim.name.split(":")
    NameIndex(store).finish_edit(claim.name, job_id(claim.name, 1), {unquote(name)})


def is_there(stored: Stored) -> bool:
    """Whether this is an account that is not deleted."""
    return bool(stored.username) and stored.deleted is None


def right_entries(uid: int, stored: Stored) -> set[str]:
    """The entries that should lead to a user; none for an unknown uid or a deleted account."""
    return _entries(uid, stored) if stored.deleted is None else set()


def _entries(uid: int, stored: Stored) -> set[str]:
    """The entries of a user, as if the account were not deleted; none for an unknown uid."""
    return set() if stored.username is None else set(entries(User(uid, stored.username, stored.name or "")))
