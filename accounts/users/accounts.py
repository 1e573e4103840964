"""Accounts: how one begins, how it ends, and its lines in the files of a site and of its owner."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.hashers import get_hasher, is_password_usable, make_password

from accounts.users.entities import NameTaken, User
from accounts.users.names import entries, queue_entries, queue_skeletons, skeletons
from accounts.users.repository import HASHES, Users, ask_owner, hash_that_counts, is_deleted, new_secret
from retwis_site.exceptions import IdInUse, LeaseEnded, NotDone
from retwis_site.features import AddressOf, Line, Owner, SiteLines, features
from retwis_site.jobs.outbox import Claim, Job, Outbox, add_due, alone, job_id
from retwis_site.maintenance.lines import ID, NAME, PASSWORD, TEXT, TIME, TIME_OR_NULL, fields_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys, schema, snowflake
from retwis_site.store.chunks import Writes, ask_has_keys
from retwis_site.store.client import Pipe, Repository, Result, Store, for_each
from retwis_site.store.ids import counted_id, integer, nonce, stored_time
from retwis_site.store.kinds import KINDS, OfId
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import is_hash

# ---- Registration: the keys of a new user, and the one command that decides who has a name.


def ask_left(pipe: Pipe, uid: int) -> Result[bool]:
    """Whether anything is stored of a user besides the name that was just written. One command for each kind of key
    that users have, and two more."""
    others = [kind for kind in KINDS.values() if kind.of_users and kind is not keys.user]
    fields, role = pipe.hlen(keys.user(uid)), pipe.hget(keys.staff(), str(uid))
    left = ask_has_keys(pipe, uid, others)
    return Result(lambda: fields.value > 1 or role.value is not None or left.value)


@contextmanager
def alone_with_looks(store: Store, name: str) -> Iterator[Store]:
    """`alone`, from the check of a name to the account that has it: of two names that look alike and come at once, the
    second one finds the first. Two round trips; four for a name with capitals that look like other letters. Raises
    LeaseEnded."""
    with ExitStack() as leases:
        for skeleton in sorted(skeletons(name)):  # in one order, so that no two wait for each other
            store = leases.enter_context(alone(store, f"look:{skeleton}"))
        yield store


def looks_like_another(store: Store, name: str, uid: int | None = None) -> bool:
    """Whether the name of an account, but that of `uid`, looks like this one, or is the same. One round trip."""
    return any(holder not in {None, str(uid)} for holder in store.hmget(keys.skeletons(), skeletons(name)))


def _ask_empty(pipe: Pipe) -> Result[bool]:
    """Whether the store has no users and no mark: then the first of its users writes the mark."""
    version, users = pipe.get(keys.schema()), pipe.zcard(keys.users_by_time())
    return Result(lambda: version.value is None and not users.value)


class Begun(NamedTuple):
    """A registration before its commit. It has a uid, and no name yet."""

    uid: int
    username: str
    job: Job


class Registration(Repository):
    """Makes users."""

    def register(self, username: str, password: str) -> User:
        """Make a user; `password` is a Django hash. Eight round trips. Raises NameTaken, IdInUse."""
        return self.complete(self.begin(username), password, {})

    def begin(self, username: str) -> Begun:
        """A uid for a new user, and the job that makes a user of it. Three round trips; two when uids are made from the
        time. Raises NameTaken, IdInUse, WrongClock.

        Nothing comes of it before `complete`, so what must come before the commit can name the uid. It is claimed with
        HSETNX, so no registration is written over an account. When another process has made the same uid from the time,
        the next one is tried: two round trips more. The job of the other's uid only finishes that registration. The
        first user of a store marks it. A counter that was lost may give out the uid of an account whose hash was lost
        with it, on the same server: nobody gets what other servers still have of it.
        """
        with self._store.pipeline() as pipe:
            owner, is_empty = ask_owner(pipe, username), _ask_empty(pipe)
        if owner.value is not None:
            raise NameTaken(username)
        counted = settings.POST_IDS == "incr"

        def claim(uid: int) -> Begun | None:
            job, pipe = Outbox(self._store).queue_add(f"user:{uid}:{nonce()}")
            is_mine = pipe.hsetnx(keys.user(uid), "username", username)
            left = ask_left(pipe, uid) if counted else Result(lambda: False)
            if is_empty.value:
                schema.mark(pipe)
            pipe.execute()
            if is_mine.value and not left.value:
                return Begun(uid, username, job)
            if is_mine.value:
                self._store.hdel(keys.user(uid), "username")
            job.done()
            return None

        if not counted:
            return snowflake.claimed(claim)
        uid = self._store.incr(keys.next_user_id())
        begun = claim(counted_id(keys.next_user_id(), uid))
        if begun is None:
            raise IdInUse(keys.next_user_id(), uid)
        return begun

    def complete(self, begun: Begun, password: str, fields: Mapping[str, str]) -> User:
        """Make the user, with more `fields` in the hash. The secret is the official one, which no browser gets here.
        Five round trips. Raises NameTaken."""
        secret = new_secret()
        stored = {"username": begun.username, "password": password, "auth": secret, **fields}
        begun.job.store.hset(keys.user(begun.uid), stored)
        leased = Registration(begun.job.store)
        if not leased._commit(begun.uid, begun.username):
            begun.job.done()
            raise NameTaken(begun.username)
        with begun.job.ending():
            leased._list(begun.uid, begun.username, secret)
        return User(begun.uid, begun.username)

    def give_up(self, begun: Begun) -> None:
        """Make no user of a uid. Two round trips."""
        begun.job.store.unlink(keys.user(begun.uid))
        begun.job.done()

    def settle(self, uid: int) -> bool:
        """Bring a registration to its end in place of a process that died, from the fields of the hash. Returns whether
        the user has the name; also True for a deleted account. Up to nine round trips; two more where
        `alone_with_looks` makes four. Raises LeaseEnded.

        Somebody may have registered since with a name that looks alike. Then nothing comes of this one, unless it has
        reached its commit: the operator may have allowed the name."""
        username, secret, deleted = self._store.hmget(keys.user(uid), ["username", "auth", "deleted"])
        if username is None or (secret is None and deleted is None):
            return False
        if deleted is not None:  # the user was signed in before, so the name is theirs
            for_each(self._store, queue_skeletons, [User(uid, username)])
            AccountDeletion(self._store).unlist(User(uid, username))
            return True
        with alone_with_looks(self._store, username) as store:
            if Users(store).find(username) != uid and looks_like_another(store, username, uid):
                store.unlink(keys.user(uid))
                return False
            registration = Registration(store)
            if not registration._commit(uid, username):
                return False
            registration._list(uid, username, secret or "")
            return True

    def _commit(self, uid: int, username: str) -> bool:
        """One round trip; two when another user has the name.

        The commit is HSETNX on the lower-cased name: it decides between people who want the name at once. HGET asks
        again, since only its answer is the same after a retry. Both are for one key, so they stay in order everywhere.
        What the name looks like is written with it: a process that dies leaves no name beside which another one that
        looks like it is free. Without the name, `cleanup` removes that.
        """
        with self._store.pipeline() as pipe:
            pipe.hsetnx(keys.users(), username.lower(), str(uid))
            owner = pipe.hget(keys.users(), username.lower())
            queue_skeletons(pipe, User(uid, username))
        if owner.value == str(uid):
            return True
        self._store.unlink(keys.user(uid))
        return False

    def _list(self, uid: int, username: str, secret: str) -> None:
        """What follows the commit. Two round trips; one more when the account is deleted by now."""
        with self._store.pipeline() as pipe:
            pipe.hset(keys.auths(), {secret: str(uid)})
            pipe.zadd_nx(keys.users_by_time(), {username: int(time.time())})
            queue_entries(pipe, entries(User(uid, username)))
        if self._store.hget(keys.user(uid), "deleted") is not None:  # read after the write
            AccountDeletion(self._store).unlist(User(uid, username))


def finish_user(store: Store, claim: Claim) -> None:
    """The job `user:<uid>` or `user:<uid>:<nonce>`: finish a registration. Round trips of `settle`."""
    Registration(store).settle(job_id(claim.name, 1))


# ---- The job that removes a deleted account: every feature removes its part of it.
#
# The field `deleted` of `user:<uid>` is the truth; all else follows from it, a chunk at a time, so an account of any
# size takes the same memory. Each part either removes last the set that leads to its chunks, or adds a job for each
# member: when a worker is killed, the next one finds there what is left to do. A request that follows or posts at the
# same time reads `deleted` after its write. So either it sees the deletion and takes its write back, or the write is
# found here.


def finish_deletion(store: Store, claim: Claim) -> bool:
    """The job `gone:<uid>:<nonce>`. Returns False when its turn ended before all was removed. Five to eleven round
    trips a chunk. An account that is not deleted is left alone: its deletion never reached its commit.
    """
    uid = job_id(claim.name, 1)
    deleted = store.hget(keys.user(uid), "deleted")
    return not is_deleted(deleted) or claim.carry_out_for_a_turn(_remove(store, uid))


def _remove(store: Store, uid: int) -> Iterator[object]:
    """From the last feature to the first: what is built on an account goes before the account. Then the small keys, of
    which the key table says that they go: one round trip. It is no chunk."""
    for feature in reversed(features()):
        if feature.remove_account is not None:
            yield from feature.remove_account(store, uid)
    small = [kind(uid) for kind in KINDS.values() if kind.goes and isinstance(kind, OfId)]
    for_each(store, lambda pipe, key: pipe.unlink(key), small)


def remove_user(store: Store, uid: int) -> tuple[()]:
    """The part of the account itself: its places in the lists of users, and the fields of its hash. Four round trips.

    It is no chunk: a part that gave a chunk on each run would end each turn at once."""
    username = store.hget(keys.user(uid), "username")
    AccountDeletion(store).unlist(User(uid, username or ""))
    AccountDeletion(store).strip(uid)
    return ()


# ---- Deletion: one command hides all of an account, and a worker removes the rest.


KEPT_FIELDS = ("username", "deleted")  # what the hash of a deleted account keeps
FIELDS_AT_ONCE = 100


class AccountDeletion(Repository):
    """Deletes accounts, and removes the entries that lead to them."""

    def delete(self, user: User, secret: str) -> None:
        """Delete an account for good; `secret` is the one that ends. Three round trips for an account of any size: a
        worker removes its follows, its followers and its posts.

        The commit is one HSET: it ends every session, closes the account to its password, and hides all of it. The
        username stays taken. The same round trip reads the fields that the HSET replaces, since another device may have
        changed them after `user` was read. This process forgets all that it has cached; other processes may show the
        posts for some seconds more. Raises StoreError when the store was too slow: then nothing was deleted.
        """
        job = Outbox(self._store).add(f"gone:{user.uid}:{nonce()}")
        left = {"deleted": str(int(time.time())), "password": make_password(None), "auth": "", "name": "", "bio": ""}
        with job.store.pipeline() as pipe:
            replaced = pipe.hmget(keys.user(user.uid), ["name", "auth"])
            pipe.hset(keys.user(user.uid), left)
        Memory.clear_all()  # the posts are cached in many places, and a deletion is rare
        name, auth = replaced.value
        with suppress(LeaseEnded), job.store.pipeline() as pipe:
            add_due(pipe, job.name)
            for ended in {secret, auth or secret}:
                pipe.hdel(keys.auths(), ended)
            _queue_unlisting(pipe, user, {user.name, name or ""})

    def unlist(self, user: User) -> None:
        """Remove a deleted account from the lists and the index of names. One round trip."""
        with self._store.pipeline() as pipe:
            _queue_unlisting(pipe, user, {user.name})

    def strip(self, uid: int) -> None:
        """Remove every field of a deleted account but KEPT_FIELDS. Two round trips."""
        for fields in self._store.hash_fields(keys.user(uid), FIELDS_AT_ONCE):
            Users(self._store).take_back(uid, [field for field, _ in fields if field not in KEPT_FIELDS])


def _queue_unlisting(pipe: Pipe, user: User, names: Collection[str]) -> None:
    """`names`: the present and former display names."""
    pipe.zrem(keys.users_by_time(), user.username)
    for entry in {entry for name in names for entry in entries(User(user.uid, user.username, name))}:
        pipe.zrem(keys.users_by_name(), entry)


# ---- The lines about users in the file of a whole site.


ABOUT = ("name", "bio", "language")
READ = ("username", *HASHES, *ABOUT, "deleted")
FIELDS = {"id": ID, "username": NAME, "password": PASSWORD, **dict.fromkeys(ABOUT, TEXT), "registered": TIME_OR_NULL}
FIELDS_OF_DELETED = {"id": ID, "username": NAME, "deleted": TIME}


def read_users(store: Store) -> Iterator[Line]:
    """A line for each user that a name leads to, by id. Two round trips for each AT_ONCE users. Raises NotDone for
    a password in clear text."""
    for users in fields_of_users(store, READ):
        stored = {uid: dict(zip(READ, fields, strict=True)) for uid, fields in users}
        named = {uid: fields["username"] for uid, fields in stored.items() if fields["username"]}
        with store.pipeline() as pipe:
            owners = {uid: ask_owner(pipe, name) for uid, name in named.items()}
            registered = {uid: pipe.zscore(keys.users_by_time(), name) for uid, name in named.items()}
        for uid in (uid for uid, owner in owners.items() if owner.value == uid):
            yield _line(uid, stored[uid], registered[uid].value)


def _line(uid: int, fields: Mapping[str, str | None], registered: float | None) -> Line:
    name, password, deleted = fields["username"], fields["password"], fields["deleted"]
    line: Line = {"id": uid, "username": name}
    if deleted is not None:
        return line | {"deleted": iso(stored_time(keys.user(uid), deleted))}
    if password and not is_hash(password):  # everyone with the file could read it
        raise NotDone(f"The password of {name} is in clear text. Run `manage.py user password {name}`.")
    line["password"] = hash_that_counts(password or None, fields["prepared_password"], fields["old_password"])
    line |= {field: fields[field] or "" for field in ABOUT}
    return line | {"registered": None if registered is None else iso(integer(registered))}


def write_users(writes: Writes, lines: Sequence[Line]) -> None:
    """Users with new session secrets: nobody stays signed in."""
    for line in lines:
        uid, username = line["id"], line["username"]
        writes.hset(keys.users(), {username.lower(): str(uid)})
        queue_skeletons(writes.pipe, User(uid, username))  # also of deleted accounts: their names stay taken
        if "deleted" in line:
            writes.hset(keys.user(uid), {"username": username, "deleted": str(seconds(line, "deleted"))})
            continue
        secret = new_secret()
        about = {field: line[field] for field in ABOUT if line[field]}
        writes.hset(keys.user(uid), {"username": username, "auth": secret, **_password(line["password"]), **about})
        writes.hset(keys.auths(), {secret: str(uid)})
        writes.zadd(keys.users_by_name(), dict.fromkeys(entries(User(uid, username, line["name"])), 0))
    writes.zadd(keys.users_by_time(), _registered([line for line in lines if "deleted" not in line]))


def _password(encoded: str | None) -> dict[str, str]:
    """The field of a hash: `old_password` when it is no Argon2, as that for new passwords is. Without a hash, only
    `changepassword` can give the account a password."""
    if encoded is None:
        return {"password": make_password(None)}
    is_present = not is_password_usable(encoded) or encoded.startswith(str(get_hasher().algorithm))
    return {"password" if is_present else "old_password": encoded}


def _registered(lines: Sequence[Line]) -> dict[str, float]:
    """When these users registered, by name. Where it is not known, it is the date of the user before, roughly."""
    known = [seconds(line, "registered") for line in lines if line["registered"] is not None]
    last = known[0] if known else int(time.time())
    dates: dict[str, float] = {}
    for line in lines:
        if line["registered"] is not None:
            last = seconds(line, "registered")
        dates[line["username"]] = last if line["registered"] else snowflake.made_at(line["id"]) or last
    return dates


USERS = SiteLines(
    type="user",
    fields=lambda line: FIELDS_OF_DELETED if "deleted" in line else FIELDS,
    read=read_users,
    write=write_users,
    unique=("id", "username"),
    counter=keys.next_user_id,
)


# ---- The line about the account in the personal download.


DOWNLOADED = (*ABOUT, "colour", "picture", "header", "needs_alt")


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """One line. One round trip."""
    key = keys.user(owner.uid)
    with store.pipeline() as pipe:
        fields = pipe.hmget(key, DOWNLOADED)
        registered = pipe.zscore(keys.users_by_time(), owner.username)
    told = {name: text or "" for name, text in zip(DOWNLOADED, fields.value, strict=True)}
    yield [
        {
            "type": "account",
            "id": owner.uid,
            "username": owner.username,
            **told,
            "needs_alt": iso(stored_time(key, told["needs_alt"])) if told["needs_alt"] else "",
            "registered": None if registered.value is None else iso(integer(registered.value)),
            "address": address_of("profile", owner.username),
        }
    ]
