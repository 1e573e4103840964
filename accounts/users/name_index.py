"""What people are called, and that they are found by it: the display name, and `users_by_name`, which follows it.

The truth is the user's own hash. Whoever changes it makes the entries match: reads the truth, adds what it says, takes
out what it no longer says, and looks once more; what has changed meanwhile is done again, so the last to write has also
seen that it is right. Nobody trusts an entry alone, so one too many, which a killed process may leave, does no harm.
"""

from collections.abc import Collection, Mapping
from urllib.parse import quote, unquote

from accounts.signing_in.viewer import Visit
from accounts.users.entities import User
from accounts.users.names import entries, entry, queue_entries
from accounts.users.repository import Users, queue_person
from retwis_site.jobs.outbox import Outbox, nonce
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store

Called = tuple[str | None, str | None, str | None]  # a user's `username`, `name` and `deleted`


class Directory:
    """Display names and bios, and the entries that lead to people."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def bio(self, visit: Visit) -> tuple[User, str]:
        """The viewer, and what they say about themselves. One round trip with a hint. Raises NotSignedIn."""

        def ask(pipe: Pipe, me: int) -> None:
            pipe.hget(keys.user(me), "bio")

        me, [bio] = visit.ask_as_user(ask)
        return me, bio or ""

    def edit(self, me: User, name: str, bio: str) -> None:
        """Change what a user is called and says about themselves; `me` as just read. Commit: the HSET. Six round trips,
        and two more each time that somebody comes between; one while the name stays what it is.

        What the HSET replaces is asked for right before it, in its trip: somebody else may have changed it since `me`
        was read. What then still comes between is an entry too many, which `cleanup` takes out.
        """
        if name == me.name:
            # Not the name: another device may have changed it, and nobody would make the entries match.
            Users(self._store).write(me.uid, {"bio": bio})
            return
        intent = self._outbox.note(f"name:{me.uid}:{quote(me.name, safe='')}:{nonce()}")
        pipe = self._store.pipeline()
        pipe.hget(keys.user(me.uid), "name")
        pipe.hset(keys.user(me.uid), {"name": name, "bio": bio})
        replaced, _ = pipe.execute()
        self._finish(intent.name, me.uid, {me.name, replaced or ""})

    def finish_edit(self, intent: str) -> None:
        """What the worker does for `name:<uid>:<what it was, as in an address>:<nonce>`. Four round trips; two more as
        above."""
        _, uid, name, _ = intent.split(":")
        self._finish(intent, int(uid), {unquote(name)})

    def _finish(self, intent: str, uid: int, old: Collection[str]) -> None:
        if self.refile(uid, old) is None:  # the account was deleted meanwhile
            Users(self._store).take_back(uid, ("name", "bio"))
        self._outbox.done(intent)

    # ---- the entries

    def refile(self, uid: int, old: Collection[str]) -> User | None:
        """Make the entries of one user what they are called, which this process goes by at once; `old`: names, also
        empty ones, that they had. Returns the user; None for nobody, or a deleted account. Round trips as below."""
        called = self.make_match({uid: [entry(name, uid) for name in old if name]})
        return Users(self._store).remember(uid, called[uid])

    def make_match(self, old: Mapping[int, Collection[str]]) -> dict[int, Called]:
        """Make the entries of users, by uid, what they are called; `old`: entries that may be out of date. Returns what
        they are called. Three round trips for all together; two more each time that one has changed meanwhile."""
        doubtful = {uid: set(found) for uid, found in old.items()}
        seen = self.called(old)
        last = dict(seen)
        while seen:
            pipe = self._store.pipeline()
            for uid, called in seen.items():
                doubtful[uid] |= _entries(uid, called)
                self._queue(pipe, standing(uid, called), doubtful[uid])
            pipe.execute()
            seen = {uid: called for uid, called in self.called(seen).items() if called != seen[uid]}
            last |= seen
        return last

    def _queue(self, pipe: Pipe, right: set[str], doubtful: set[str]) -> None:
        if right:
            queue_entries(pipe, sorted(right))
        for found in sorted(doubtful - right):
            pipe.zrem(keys.users_by_name(), found)

    def called(self, uids: Collection[int]) -> dict[int, Called]:
        """What users are called now, by uid. One round trip."""
        pipe = self._store.pipeline()
        for uid in uids:
            queue_person(pipe, uid)
        return dict(zip(uids, map(tuple, pipe.execute()), strict=True))


def standing(uid: int, called: Called) -> set[str]:
    """The entries that lead to a user, from the reply to `queue_person`; none to nobody, nor to a deleted account."""
    *_, deleted = called
    return _entries(uid, called) if deleted is None else set()


def _entries(uid: int, called: Called) -> set[str]:
    """The same, whether or not the account is deleted."""
    username, name, _ = called
    return set() if username is None else set(entries(User(uid, username, name or "")))
