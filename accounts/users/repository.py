"""Users and their secrets in Redis: register, look up, sign in, sign out everywhere, delete an account.

The order of the commands is the design's, section 5; it was checked by trying every interleaving with crashes.
"""

import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from django.conf import settings
from django.contrib.auth.hashers import make_password

from accounts.users.entities import Login, NameTaken, User
from accounts.users.names import entries, queue_entries
from retwis_site.exceptions import StoreError
from retwis_site.jobs.outbox import Outbox, nonce
from retwis_site.store import keys, snowflake
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import Memory, PageMemory

TRIES = 3  # times that a sequence starts over when the account changed under it

PERSON = ("username", "name", "deleted")
STAYS = ("username", "deleted")  # of a deleted account
ROTATED = ("auth", "password")  # what may be written with a new secret
FIELDS_AT_ONCE = 100

_people: PageMemory[int, User] = PageMemory(size=20_000, seconds=5)
_renamed: PageMemory[int, User] = PageMemory(size=1_000, seconds=10)  # as long as a post may be shown by an old name


class Users:
    """The accounts. Takes its store; knows nothing of requests."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def find(self, name: str) -> int | None:
        """The uid that has this name, as typed or in lower case; None if nobody has. One round trip."""
        return chosen(self._store.hmget(keys.users(), [name, name.lower()]))

    def how_many(self) -> int:
        """How many users there are. One round trip."""
        return self._store.zcard(keys.users_by_time())

    def in_order(self, first: int, number: int) -> list[str]:
        """The names of so many, by registration; `first` counts from 0. At most one round trip."""
        return self._store.zrange(keys.users_by_time(), first, first + number - 1) if number else []

    def people(self, uids: Collection[int]) -> dict[int, User]:
        """Users by uid; a uid without one, or whose account is deleted, is left out. At most one round trip; none while
        all are remembered."""
        known = self.remembered(uids)
        missing = [uid for uid in dict.fromkeys(uids) if uid not in known]
        pipe = self._store.pipeline()
        for uid in missing:
            queue_person(pipe, uid)
        return known | self.people_of(missing, pipe.execute())

    def remembered(self, uids: Iterable[int]) -> dict[int, User]:
        """The users that this process has seen within seconds. No round trip."""
        return _people.some(uids)

    def people_of(self, uids: Sequence[int], replies: Sequence[Sequence[str | None]]) -> dict[int, User]:
        """Users by uid, from the replies to `queue_person`; remembers them."""
        found = {uid: user for uid, reply in zip(uids, replies, strict=True) if (user := person(uid, reply))}
        for uid, user in found.items():
            _people.put(uid, user)
        return found

    def remember(self, uid: int, reply: Sequence[str | None]) -> User | None:
        """A user who was given another name here, as just read by `queue_person`; None for nobody, or a deleted
        account. No round trip."""
        _people.forget(uid)
        user = self.people_of([uid], [reply]).get(uid)
        if user is not None:
            _renamed.put(uid, user)
        return user

    def renamed(self) -> dict[int, User]:
        """Who was given another name here within seconds, so that they see it at once wherever they look. No round
        trip."""
        return _renamed.everything()

    def register(self, username: str, password: str) -> Login:
        """Make a user; `password` is a Django hash. Eight round trips. Raises NameTaken."""
        if self.find(username) is not None:
            raise NameTaken(username)
        uid, intent = self._new_uid(username)
        secret = new_secret()
        self._store.hset(keys.user(uid), {"username": username, "password": password, "auth": secret})
        if not self.finish_registration(intent, uid, username, secret):
            raise NameTaken(username)
        return Login(User(uid, username), secret)

    def _new_uid(self, username: str) -> tuple[int, str]:
        """A uid that nobody else has, and the intent to make a user of it, noted. Two round trips.

        One that was made from the time is claimed with HSETNX, after its intent, which says what the claim is for;
        where another process had made the same, the next one is, in three round trips more.
        """
        if settings.POST_IDS == "incr":
            uid = self._store.incr(keys.next_user_id())
            self._outbox.note(f"user:{uid}")
            return uid, f"user:{uid}"
        while True:
            uid = snowflake.make()
            intent = f"user:{uid}:{nonce()}"
            self._outbox.note(intent)
            if self._store.hsetnx(keys.user(uid), "username", username):
                return uid, intent
            self._outbox.done(intent)

    def finish_registration(self, intent: str, uid: int, username: str, secret: str) -> bool:
        """The commit and what follows: whether the name is this user's, with all that belongs to it. Four round trips;
        one more for a user whose account is deleted by now.

        HSETNX on the lower-cased name decides between people who want it at once: the commit. It is asked again with
        HGET, since only that answer is the same after a retry; both are for one key, and so stay in order everywhere.
        """
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.users(), username.lower(), str(uid))
        pipe.hget(keys.users(), username.lower())
        _, owner = pipe.execute()
        won: bool = owner == str(uid)
        if won:
            pipe.hset(keys.auths(), {secret: str(uid)})
            pipe.zadd_nx(keys.users_by_time(), {username: int(time.time())})
            queue_entries(pipe, entries(User(uid, username)))
        else:
            pipe.unlink(keys.user(uid))
        pipe.execute()
        if won and self._store.hget(keys.user(uid), "deleted") is not None:  # read after the write
            self.unlist(User(uid, username))
        self._outbox.done(intent)
        return won

    def stored_password(self, uid: int) -> tuple[str, str, str] | None:
        """`username`, `password` (a Django hash) and `auth` as they stand together; None without, or for a deleted
        account. One round trip."""
        username, password, auth, deleted = self._store.hmget(
            keys.user(uid), ["username", "password", "auth", "deleted"]
        )
        if username is None or password is None or deleted is not None:
            return None
        return str(username), str(password), str(auth or "")

    def open_session(self, uid: int, username: str, secret: str) -> Login | None:
        """Sign in with the secret that was read beside the verified password. Two round trips.

        None when a password change, a logout or a deletion came between, in a third: then the password must be verified
        again. So it is for an account that has no secret yet, which is given one.
        """
        if not secret:
            self._rotate(uid, "", {})
            return None
        self._store.hset(keys.auths(), {secret: str(uid)})
        now, language = self._store.hmget(keys.user(uid), ["auth", "language"])
        if now != secret:  # and never will be again
            self._store.hdel(keys.auths(), secret)
            return None
        return Login(User(uid, username), secret, str(language or ""))

    def end_sessions(self, uid: int, secret: str) -> None:
        """Sign out on every device; `secret` is the one that ends. Five round trips."""
        self._rotate(uid, secret, {})

    def change_password(self, uid: int, password: str) -> str:
        """Give a user another password (a Django hash) and end every session; returns the new secret. Six round trips.

        One HSET carries the hash and the new secret, so no old session outlives the old password.
        """
        secret = str(self._store.hget(keys.user(uid), "auth") or "")
        return self._rotate(uid, secret, {"password": password})

    def choose_language(self, uid: int, code: str) -> None:
        """What a user reads in every browser that they log in with, from now on. One round trip."""
        self.write(uid, {"language": code})

    def write(self, uid: int, fields: Mapping[str, str]) -> bool:
        """Write fields of an account; whether there is one: of what is written to a deleted one, nothing stays. One
        round trip, two for a deleted one.

        The look is for the same key as the write, and so comes after it everywhere: either it sees the deletion, or
        what clears up after the deletion sees the fields.
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
        """Take fields of a deleted account away that were written while it went. One round trip."""
        pipe = self._store.pipeline()
        for field in fields:
            pipe.hdel(keys.user(uid), field)
        pipe.execute()

    def delete(self, user: User, secret: str) -> None:
        """Delete an account for good; `secret` is the one that ends. Three round trips, whatever there is to it: a
        worker takes away whom they follow, who follows them, and what they wrote.

        One HSET ends every session, closes the account to its password, and hides all that is theirs: the commit. The
        username stays taken. What it replaces is asked for right before it, in its trip: another device may have
        changed that since `user` was read. This process remembers nothing of them; others may show their posts for some
        seconds more. Raises StoreError for a store so slow that nobody knows what has become of it meanwhile.
        """
        intent = self._outbox.note(f"gone:{user.uid}:{nonce()}")
        if intent.expired():  # a worker may take it for one that never got further
            raise StoreError("the store was too slow to delete an account; try again")
        left = {"deleted": str(int(time.time())), "password": make_password(None), "auth": "", "name": "", "bio": ""}
        pipe = self._store.pipeline()
        pipe.hmget(keys.user(user.uid), ["name", "auth"])
        pipe.hset(keys.user(user.uid), left)
        (name, auth), _ = pipe.execute()
        self._outbox.queue_due(pipe, intent.name)
        for ended in {secret, auth or secret}:
            pipe.hdel(keys.auths(), ended)
        _queue_unlisting(pipe, user, {user.name, name or ""})
        pipe.execute()
        Memory.clear_all()  # their posts stand in many places, and this is done rarely

    def strip(self, uid: int) -> None:
        """Leave nothing in a deleted account but its name, which stays taken, and when it was deleted. Two round
        trips."""
        for found in self._store.hash_fields(keys.user(uid), FIELDS_AT_ONCE):
            pipe = self._store.pipeline()
            for field, _ in found:
                if field not in STAYS:
                    pipe.hdel(keys.user(uid), field)
            pipe.execute()

    def unlist(self, user: User) -> None:
        """Take a deleted account out of what users are listed and found by. One round trip."""
        pipe = self._store.pipeline()
        _queue_unlisting(pipe, user, {user.name})
        pipe.execute()

    def _rotate(self, uid: int, old: str, fields: dict[str, str]) -> str:
        new = new_secret()
        intent = f"auth:{uid}:{old}:{nonce()}"
        self._outbox.note(intent)
        if self.write(uid, {**fields, "auth": new}):
            self._store.hset(keys.auths(), {new: str(uid)})
        self._store.hdel(keys.auths(), old)
        self._outbox.done(intent)
        return new


def _queue_unlisting(pipe: Pipe, user: User, names: Collection[str]) -> None:
    """`names`: what they are or were called, besides their username."""
    pipe.zrem(keys.users_by_time(), user.username)
    for found in {found for name in names for found in entries(User(user.uid, user.username, name))}:
        pipe.zrem(keys.users_by_name(), found)


def queue_person(pipe: Pipe, uid: int) -> None:
    """Ask for a user; for `person(uid, reply)`."""
    pipe.hmget(keys.user(uid), PERSON)


def person(uid: int, reply: Sequence[str | None]) -> User | None:
    """A user from the reply to `queue_person`; None for one that never was, or whose account is deleted."""
    username, name, deleted = reply
    return None if username is None or deleted is not None else User(uid, username, name or "")


def new_secret() -> str:
    """128 random bits in hex, as the official Retwis has them."""
    return secrets.token_hex(16)


def chosen(found: list[str | None]) -> int | None:
    """Of a name looked up as typed and lower-cased: the uid. A name as typed wins, for databases from elsewhere."""
    as_typed, lower = found
    uid = as_typed or lower
    return int(uid) if uid is not None and uid.isascii() and uid.isdigit() else None


def finish_user(store: Store, intent: str) -> None:
    """What the worker does for `user:<uid>` or `user:<uid>:<nonce>`: roll a registration forward, up to six
    round trips."""
    uid = int(intent.split(":")[1])
    username, secret, deleted = store.hmget(keys.user(uid), ["username", "auth", "deleted"])
    if username is not None and deleted is not None:  # by somebody who was in before this was finished
        Users(store).unlist(User(uid, username))
    if username is None or secret is None or deleted is not None:
        Outbox(store).done(intent)
        return
    Users(store).finish_registration(intent, uid, username, secret)


def finish_auth(store: Store, intent: str) -> None:
    """What the worker does for `auth:<uid>:<old secret>:<nonce>`: make `auths` follow the user hash.

    When the old secret still stands, the change never began; the old secret of an account that had none is empty. A
    deleted account has none any more, nor a password. Up to four round trips.
    """
    _, uid, rest = intent.split(":", 2)
    old = rest.rpartition(":")[0]
    current, deleted = store.hmget(keys.user(int(uid)), ["auth", "deleted"])
    current = current or ""
    if deleted is not None:
        Users(store).take_back(int(uid), ROTATED)
        current = ""
    if current != old:
        if current:
            store.hset(keys.auths(), {current: uid})
        store.hdel(keys.auths(), old)
    Outbox(store).done(intent)
