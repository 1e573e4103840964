"""Users in Redis: find them by name, read many at once, write fields of one.

Tests interleave every write with others and with crashes, within each round trip too: `tests/protocols/`.
"""

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from accounts.users.entities import Role, Sanction, State, User
from retwis_site.store import keys
from retwis_site.store.chunks import remove_unchanged
from retwis_site.store.client import Pipe, Reply, Repository, Result, answer, for_each
from retwis_site.store.ids import note_bad, parse_id, parse_number, stored_digest, stored_id, stored_names, stored_time
from retwis_site.store.kinds import COLOURS
from retwis_site.store.local_cache import Memory

SECRET_DIGITS = 32
TRIES = 3  # times that a sequence starts again when the account has changed meanwhile

# What the hash of a user holds when staff has imposed nothing, or no longer does.
NO_SANCTION = {"state": "", "state_until": "0", "state_reason": "", "state_since": "0", "state_act": ""}
IMPOSED = (*NO_SANCTION,)
HASHES = ("password", "prepared_password", "old_password")
RECOVERY, SPENT = "recovery:", "0"  # what the fields of recovery codes begin with, and the value of a spent one
PERSON = ("username", "name", "deleted", "colour", "picture", "state", "state_until")

# An entry has a user of some 250 bytes, so all have 1.6 MB.
_people: Memory[int, User] = Memory(size=3500, seconds=5)
made_of_users: list[Callable[[], None]] = []  # each empties a cache of what is made of users


def is_deleted(field: str | None) -> bool:
    """Whether the field `deleted` of an account says that it is deleted, so that all it has may be removed. Any other
    text only hides the account, until an operator has seen to it."""
    return parse_number(field or "") is not None


class Users(Repository):
    """All users. It takes its store and knows nothing of requests."""

    def find(self, name: str) -> int | None:
        """The uid of a username, as typed or in lower case; None when no user has it. One round trip."""
        return answer(self._store, ask_owner, name)

    def find_typed(self, name: str) -> int | None:
        """As for `find`, also of a name as pages show it, with the sign before it. An adopted name may begin with it.
        One round trip; two where nobody has the name with the sign."""
        uid = self.find(name)
        return self.find(name[1:]) if uid is None and name.startswith("@") else uid

    def in_order(self, first: int, number: int) -> list[str]:
        """The names of `number` users by registration; `first` counts from 0. At most one round trip."""
        if not number:
            return []
        return stored_names(keys.users_by_time(), self._store.zrange(keys.users_by_time(), first, first + number - 1))

    def people(self, uids: Collection[int]) -> dict[int, User]:
        """Users by uid, without unknown uids, deleted and suspended accounts. At most one round trip; none while all
        are cached."""
        return answer(self._store, ask_people, uids)

    def choose(self, uid: int, field: str, text: str) -> None:
        """Keep what a user has chosen: the `language` of the pages after each login, the `colour` of their picture, or
        since when their pictures need a description (`needs_alt`). An empty text takes the choice back. One round
        trip."""
        if text:
            self.write(uid, {field: text})
        else:
            self.take_back(uid, [field])
        forget(uid)

    def write(self, uid: int, fields: Mapping[str, str]) -> bool:
        """Write fields of an account. Returns False for a deleted account, which keeps none of them. One round trip,
        two for a deleted account.

        Both commands are for one key, so the read comes after the write everywhere. Either it sees the deletion, or the
        worker that removes the account sees the fields.
        """
        with self._store.pipeline() as pipe:
            pipe.hset(keys.user(uid), fields)
            deleted = pipe.hget(keys.user(uid), "deleted")
        if deleted.value is None:
            return True
        self.take_back(uid, fields)
        return False

    def keeps(self, uid: int, *written: str) -> bool:
        """Whether an account keeps what was just written into these keys of its own. A deleted one keeps nothing: they
        are removed. One round trip; one more for each key of a deleted account.

        The account is read after the write. Either this read sees the deletion, or the worker that removes the account
        sees what was written.
        """
        if not is_deleted(self._store.hget(keys.user(uid), "deleted")):
            return True
        for key in written:
            self._store.unlink(key)
        return False

    def take_back(self, uid: int, fields: Iterable[str]) -> None:
        """Remove fields that were written while the account was deleted. One round trip."""
        for_each(self._store, lambda pipe, field: pipe.hdel(keys.user(uid), field), fields)

    def take_out(self, uid: int, field: str, text: str) -> bool:
        """Remove a field that has this text; returns False when it has another, which stays. Two round trips; one when
        it has another, up to five when that comes meanwhile."""
        key = keys.user(uid)
        if self._store.hget(key, field) != text:
            return False
        if not remove_unchanged(self._store, key, {field: text}):
            return True
        if self._store.hget(key, "deleted") is not None:
            self.take_back(uid, [field])
        return False


def ask_how_many(pipe: Pipe) -> Reply[int]:
    """The number of users. One command."""
    return pipe.zcard(keys.users_by_time())


def ask_user(pipe: Pipe, uid: int) -> Result[User | None]:
    """A user; None for an unknown uid, and for a deleted or suspended account."""
    fields = pipe.hmget(keys.user(uid), PERSON)
    return Result(lambda: person(uid, fields.value))


def ask_people(pipe: Pipe, uids: Iterable[int]) -> Result[dict[int, User]]:
    """Users by uid, without unknown uids, deleted and suspended accounts. Asks for those that are not cached, and
    caches them.

    A name may be five seconds old. The viewer must see their own change at once, so a page takes the viewer from
    `Viewer.user` instead.
    """
    uids = dict.fromkeys(uids)
    if not uids:
        return Result(dict)
    cached = _people.some(uids)
    asked = {uid: pipe.hmget(keys.user(uid), PERSON) for uid in uids if uid not in cached}

    def read() -> dict[int, User]:
        found = {uid: user for uid, fields in asked.items() if (user := person(uid, fields.value)) is not None}
        return cached | keep(found.values())

    return Result(read)


def keep(people: Iterable[User]) -> dict[int, User]:
    """Cache users that were just read. Returns them by uid; an unchanged user is the object that was cached before."""
    return _people.put_all({user.uid: user for user in people})


def cached_until(uids: Iterable[int]) -> float:
    """Until when all these users are cached, in monotonic seconds; 0 when one is not."""
    return _people.until(uids)


def person(uid: int, fields: Sequence[str | None]) -> User | None:
    """A user from the fields PERSON; None for an unknown uid, and for a deleted or suspended account."""
    username, name, deleted, colour, picture, state, until = fields
    if not username or deleted is not None:
        return None
    now = state_now(uid, state, until) if state else State.NONE
    if colour and colour not in COLOURS:
        note_bad(keys.user(uid), colour)
        colour = ""
    if picture:
        picture = stored_digest(keys.user(uid), picture)
    return None if now is State.SUSPENDED else User(uid, username, name or "", now, colour or "", picture or "")


def state_now(uid: int, state: str | None, until: str | None) -> State:
    """The state that the fields `state` and `state_until` tell. After its end it is NONE; what is no state, too."""
    try:
        imposed = State(state or "")
    except ValueError:
        note_bad(keys.user(uid), state or "")
        return State.NONE
    ends = stored_time(keys.user(uid), until)
    return State.NONE if 0 < ends <= time.time() else imposed


def sanction_of(uid: int, fields: Sequence[str | None]) -> Sanction | None:
    """What staff has imposed on a user, from the fields IMPOSED; None when nothing is, or no longer."""
    state, until, reason, since, act_id = fields
    now = state_now(uid, state, until) if state else State.NONE
    if now is State.NONE:
        return None
    key = keys.user(uid)
    return Sanction(now, stored_time(key, until), reason or "", stored_time(key, since), act_id or "")


def role_of(uid: int, role: str | None) -> Role:
    """What a user may do, from the field `role`. What is no role is MEMBER."""
    if not role:
        return Role.MEMBER
    try:
        return Role(role)
    except ValueError:
        note_bad(keys.user(uid), role or "")
        return Role.MEMBER


def forget(uid: int) -> None:
    """Remove a user who looks different now from this process's caches."""
    _people.forget(uid)
    for forget_all in made_of_users:
        forget_all()


def new_secret() -> str:
    """128 random bits in hex, as in the official Retwis."""
    return secrets.token_hex(SECRET_DIGITS // 2)


def new_secret_of(uid: int) -> str:
    """128 random bits in hex, and then the uid: a process that does not know the secret yet asks at once for the right
    user. The uid is only a guess: the sender of the secret may have changed it."""
    return f"{new_secret()}{uid}"


def uid_in(secret: str) -> int | None:
    """The uid at the end of such a secret; None in one of the official Retwis, which has random bits alone."""
    return parse_id(secret[SECRET_DIGITS:])


def spellings(name: str) -> list[str]:
    """The fields of `users` that may lead from a name to its owner: as typed, and in lower case."""
    return [name, name.lower()]


def hash_that_counts(password: str | None, prepared: str | None, old: str | None) -> str | None:
    """The hash of a user, from the fields HASHES. `prepared_password` has one for a `password`, with that before it."""
    made_for, _, encoded = (prepared or "").partition(" ")
    if encoded and made_for == password:
        return encoded
    return old if password is None else password


def overruled_by_password(fields: Mapping[str, str]) -> list[str]:
    """The fields of these whose hash does not count, but for `password`, and the recovery code that has set it."""
    counts = hash_that_counts(*(fields.get(name) for name in HASHES))
    hashes = [name for name in HASHES[1:] if name in fields and not fields[name].endswith(counts or "-")]
    return [*hashes, *(name for name, value in fields.items() if name.startswith(RECOVERY) and value == SPENT)]


def ask_owner(pipe: Pipe, name: str) -> Result[int | None]:
    """The uid that a name leads to, as typed or in lower case; None when no user has it."""
    found = pipe.hmget(keys.users(), spellings(name))
    return Result(lambda: _chosen(*found.value))


NO_OWNERS: Result[dict[str, int]] = Result(dict)


def ask_owners(pipe: Pipe, names: Sequence[str]) -> Result[dict[str, int]]:
    """Like `ask_owner` for several names; without names that no user has. One command; none without names."""
    if not names:
        return NO_OWNERS
    fields = list(dict.fromkeys(spelling for name in names for spelling in spellings(name)))
    found = pipe.hmget(keys.users(), fields)

    def read() -> dict[str, int]:
        numbers = dict(zip(fields, found.value, strict=True))
        uids = {name: _chosen(numbers[name], numbers[name.lower()]) for name in names}
        return {name: uid for name, uid in uids.items() if uid is not None}

    return Result(read)


def _chosen(as_typed: str | None, lower: str | None) -> int | None:
    """The name as typed wins: a foreign database may have both."""
    return stored_id(keys.users(), as_typed) or stored_id(keys.users(), lower)
