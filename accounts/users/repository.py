"""Users in Redis: find them by name, read many at once, write fields of one.

The order of commands in every write was checked by exploring all interleavings with crashes in a model.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import PageMemory

TRIES = 3  # times that a sequence starts again when the account has changed meanwhile

PERSON = ("username", "name", "deleted")

_people: PageMemory[int, User] = PageMemory(size=20_000, seconds=5)
_renamed: PageMemory[int, User] = PageMemory(size=1_000, seconds=10)  # as long as a post may be shown with an old name


class Users:
    """All users. It takes its store and knows nothing of requests."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, name: str) -> int | None:
        """The uid of a username, as typed or in lower case; None when no user has it. One round trip."""
        return chosen(self._store.hmget(keys.users(), [name, name.lower()]))

    def how_many(self) -> int:
        """The number of users. One round trip."""
        return self._store.zcard(keys.users_by_time())

    def in_order(self, first: int, number: int) -> list[str]:
        """The names of `number` users by registration; `first` counts from 0. At most one round trip."""
        return self._store.zrange(keys.users_by_time(), first, first + number - 1) if number else []

    def people(self, uids: Collection[int]) -> dict[int, User]:
        """Users by uid, without unknown uids and deleted accounts. At most one round trip; none while all are
        cached."""
        known = self.cached(uids)
        missing = [uid for uid in dict.fromkeys(uids) if uid not in known]
        pipe = self._store.pipeline()
        for uid in missing:
            queue_person(pipe, uid)
        return known | self.people_of(missing, pipe.execute())

    def cached(self, uids: Iterable[int]) -> dict[int, User]:
        """The users that this process has read within seconds. No round trip."""
        return _people.some(uids)

    def people_of(self, uids: Sequence[int], replies: Sequence[Sequence[str | None]]) -> dict[int, User]:
        """Users by uid, from the replies to `queue_person`; caches them."""
        found = {uid: user for uid, reply in zip(uids, replies, strict=True) if (user := person(uid, reply))}
        for uid, user in found.items():
            _people.put(uid, user)
        return found

    def cache_renamed(self, uid: int, reply: Sequence[str | None]) -> User | None:
        """Cache a user whose name this process has changed, from the reply to `queue_person`. Returns the user; None
        for an unknown uid or a deleted account. No round trip."""
        _people.forget(uid)
        user = self.people_of([uid], [reply]).get(uid)
        if user is not None:
            _renamed.put(uid, user)
        return user

    def renamed(self) -> dict[int, User]:
        """The users whose name this process has changed within seconds: they see it at once on every page. No round
        trip."""
        return _renamed.everything()

    def choose_language(self, uid: int, code: str) -> None:
        """Keep the language that a user reads after each login. One round trip."""
        self.write(uid, {"language": code})

    def write(self, uid: int, fields: Mapping[str, str]) -> bool:
        """Write fields of an account. Returns False for a deleted account, which keeps none of them. One round trip,
        two for a deleted account.

        Both commands are for one key, so the read comes after the write everywhere. Either it sees the deletion, or the
        worker that removes the account sees the fields.
        """
        pipe = self._store.pipeline()
        pipe.hset(keys.user(uid), fields)
        pipe.hget(keys.user(uid), "deleted")
        _, deleted = pipe.execute()
        if deleted is None:
            return True
        self.take_back(uid, fields)
        return False

    def take_back(self, uid: int, fields: Iterable[str]) -> None:
        """Remove fields that were written while the account was deleted. One round trip."""
        pipe = self._store.pipeline()
        for field in fields:
            pipe.hdel(keys.user(uid), field)
        pipe.execute()


def queue_person(pipe: Pipe, uid: int) -> None:
    """Ask for a user; `person(uid, reply)` reads the reply."""
    pipe.hmget(keys.user(uid), PERSON)


def person(uid: int, reply: Sequence[str | None]) -> User | None:
    """A user from the reply to `queue_person`; None for an unknown uid or a deleted account."""
    username, name, deleted = reply
    return None if username is None or deleted is not None else User(uid, username, name or "")


def new_secret() -> str:
    """128 random bits in hex, as in the official Retwis."""
    return secrets.token_hex(16)


def chosen(found: list[str | None]) -> int | None:
    """The uid from a lookup of a name as typed and in lower case. The name as typed wins: a foreign database may have
    both."""
    as_typed, lower = found
    uid = as_typed or lower
    return int(uid) if uid is not None and uid.isascii() and uid.isdigit() else None
