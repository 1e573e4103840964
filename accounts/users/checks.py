"""Checks of accounts and of the index of names. Names, uids and secrets that do not lead to each other.

`users`, `user:<uid>` and the sets of a user hold parts of the same facts, so each can be repaired from the others. A
`user:` hash alone proves nothing: a registration that died before its commit leaves one.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import NamedTuple, TypeVar

from django.contrib.auth.hashers import make_password

from accounts.users.accounts import KEPT_FIELDS, AccountDeletion, finish_deletion
from accounts.users.names import NameIndex, holders, parse, right_entries, skeletons
from accounts.users.repository import Users, ask_owner, ask_user, is_deleted, new_secret, spellings
from retwis_site.features import account_sets
from retwis_site.jobs.lease import LeasedStore
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.maintenance import checks
from retwis_site.maintenance.checks import Built, Check, Chunks, Finding, Searcher, confirmed, looking
from retwis_site.maintenance.lines import uids_in_order
from retwis_site.store import keys, snowflake
from retwis_site.store.chunks import ask_has_keys
from retwis_site.store.client import Pipe, Result, Scored, Store, answer, answers
from retwis_site.store.ids import integer, nonce, parse_id, stored_id
from retwis_site.store.kinds import KINDS, OfId

T = TypeVar("T")

# ---- Keys of users that do not exist: of all kinds that the key table has for each user.


def unknown(store: Store, uids: Iterable[int]) -> list[int]:
    """Those of the uids that no user has. One round trip."""
    return looking(store, _ask_unknown)(uids)


def _ask_unknown(pipe: Pipe, uid: int) -> Result[bool]:
    known = pipe.hexists(keys.user(uid), "username")
    return Result(lambda: not known.value)


def ask_gone(pipe: Pipe, uid: int) -> Result[bool]:
    """Whether there is no such user, or a deleted one. One command."""
    stored = pipe.hmget(keys.user(uid), ["username", "deleted"])
    return Result(lambda: stored.value[0] is None or is_deleted(stored.value[1]))


def but_of_lost(store: Store, orphans: Sequence[T], uid_of: Callable[[T], int]) -> list[T]:
    """The orphans that no lost account has: `doctor` may write such an account again, and it needs what it had. One
    round trip; none without orphans."""
    lost = {*looking(store, _ask_lost)({uid_of(one) for one in orphans})}
    return [one for one in orphans if uid_of(one) not in lost]


def _ask_lost(pipe: Pipe, uid: int) -> Result[bool]:
    """Whether no user has this uid although keys of a user with it are left."""
    is_unknown, deleted = _ask_unknown(pipe, uid), pipe.hget(keys.user(uid), "deleted")
    size, owns = pipe.hlen(keys.user(uid)), ask_has_keys(pipe, uid, account_sets())
    return Result(lambda: is_unknown.value and not is_deleted(deleted.value) and bool(size.value or owns.value))


class UnknownUserChecks(Searcher):
    """Searches the keys that each user has one of."""

    def inconsistencies(self) -> list[Check]:
        """Sorted sets of users that do not exist, such as `following:99`."""
        return [
            self._check_of(
                kind.of_unknown or f"{kind.word}: of unknown users",
                kind,
                looking(self._store, _ask_unknown),
                "{key}: there is no such user",
                partial(self._remove_or_move, kind),
            )
            for kind in account_sets()
        ]

    def orphans(self) -> list[Check]:
        """Other keys of users that do not exist or are deleted: a page may rebuild a home during the deletion."""
        others = [kind for kind in KINDS.values() if isinstance(kind, OfId) and kind.of_users and kind.of_unknown]
        return [
            self._check_of(kind.of_unknown, kind, self._gone, repair=partial(self._remove_or_move, kind))
            for kind in others
            if kind.type != "zset"
        ]

    def _gone(self, uids: Sequence[int]) -> list[int]:
        return but_of_lost(self._store, looking(self._store, ask_gone)(uids), lambda uid: uid)

    def _remove_or_move(self, kind: OfId, uid: int) -> None:
        """Remove what a deleted account has left, and caches. A server may have lost a user who is not known: what they
        had is moved."""
        if kind.truth and answer(self._store, _ask_unknown, uid):
            checks.move_away(self._store, kind(uid))
        else:
            self._store.unlink(kind(uid))


# ---- Account checks


NEIGHBOURS = 20  # uids below a user's: the dates of their registrations give the user's date, roughly


class OwnedName(NamedTuple):
    """A field of `users`: a name as typed, and the uid that it leads to."""

    name: str
    uid: int


def owned_names(store: Store, names: list[str]) -> Iterator[list[OwnedName]]:
    """The fields of `users` in chunks, without those that lead to no uid: KeyChecks find these."""
    for chunk in checks.fields(store, names):
        yield [OwnedName(name, uid) for name, text in chunk if (uid := parse_id(text))]


def owners(store: Store, names: list[str]) -> Iterator[list[int]]:
    """The uids that the fields of `users` lead to."""
    return (sorted({uid for _, uid in chunk}) for chunk in owned_names(store, names))


def usernames_of(store: Store, uids: Iterable[int]) -> dict[int, str]:
    """The usernames of those of the uids that have one. One round trip."""
    stored = answers(store, lambda pipe, uid: pipe.hget(keys.user(uid), "username"), uids)
    return {uid: name for uid, name in stored.items() if name}


class AccountChecks(Searcher):
    """Checks of accounts. Their order matters: a repair relies on the checks before it."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "names that lead to no user or to another user",
                keys.users,
                self._wrong,
                "{0!r} leads to user {1}, which has another name or none",
                self._repair_name,
                read=owned_names,
            ),
            self._check_of(
                "users that no name leads to",
                keys.user,
                self._nameless,
                "no name leads to user {0}",
                self._give_name,
            ),
            self._check_of(
                "secrets that auths lacks",
                keys.users,
                self._locked_out,
                "auths does not know the secret of user {0}",
                self._restore_secret,
                read=owners,
            ),
            self._check_of(
                "users that users_by_time lacks",
                keys.users,
                self._unlisted,
                "user {0} is not in users_by_time",
                self._list,
                read=owners,
            ),
            self._check_of(
                "unknown names in users_by_time",
                keys.users_by_time,
                self._unknown,
                "no user has the name {0!r}",
            ),
        ]

    def orphans(self) -> list[Check]:
        """What killed processes leave behind."""
        return [
            self._check_of(
                "extra fields of deleted accounts",
                keys.user,
                looking(self._store, _ask_extra_fields),
                repair=AccountDeletion(self._store).strip,
            ),
            self._check_of(
                "old passwords that were replaced",
                keys.user,
                looking(self._store, _ask_replaced_password),
                "old_password in {key}",
                lambda uid: self._store.hdel(keys.user(uid), "old_password"),
            ),
            self._check_of("orphaned user: hashes", keys.user, self._orphans),
        ]

    # ---- names and uids

    def _wrong(self, batch: Sequence[OwnedName]) -> list[OwnedName]:
        """Fields of `users` that lead to a uid with another username, or with none."""
        usernames = usernames_of(self._store, [uid for _, uid in batch])
        return [one for one in batch if one.uid not in usernames or one.name not in spellings(usernames[one.uid])]

    def _repair_name(self, name: str, uid: int) -> None:
        username = self._store.hget(keys.user(uid), "username")
        if username is None:
            self._restore(uid, name)
        elif Users(self._store).find(username) == uid:  # the user has two names; `nameless` finds this one's user
            self._store.hdel(keys.users(), name)
        else:
            self._store.hset(keys.user(uid), {"username": name})

    def _restore(self, uid: int, name: str) -> None:
        """Write the fields that the hash lacks: the username, a secret, and a password that only `user password` can
        replace. A deleted account gets its username alone. When nothing of the user is left, remove the name instead.
        """
        if not answer(self._store, ask_has_keys, uid, account_sets()) and not self._store.hlen(keys.user(uid)):
            self._store.hdel(keys.users(), name)
            return
        fields = {}
        if self._store.hget(keys.user(uid), "deleted") is None:
            fields = {"password": make_password(None), "auth": new_secret()}
        # The username goes last: without it, the next run finds an account again of which a process died here.
        for field, value in (fields | {"username": name}).items():
            self._store.hsetnx(keys.user(uid), field, value)

    def _nameless(self, uids: Sequence[int]) -> list[int]:
        """`user:` hashes that `users` does not lead to, of users with a session or anything else, or deleted ones."""
        return [uid for uid in self.without_name(uids) if self.was_registered(uid)]

    def without_name(self, uids: Sequence[int]) -> list[int]:
        """Those of the uids that `users` does not lead to by their username. Two round trips."""
        names = usernames_of(self._store, uids)
        owners = answers(self._store, lambda pipe, uid: pipe.hmget(keys.users(), spellings(names.get(uid, ""))), uids)
        return [uid for uid, numbers in owners.items() if str(uid) not in numbers]

    def was_registered(self, uid: int) -> bool:
        """Whether a registration reached its commit: the user has a session, or anything in a set, or is deleted,
        which leaves the name taken. At most three round trips."""
        username, secret, deleted = self._store.hmget(keys.user(uid), ["username", "auth", "deleted"])
        if username is not None and deleted is not None:
            return True
        if secret is not None and self._store.hget(keys.auths(), secret) == str(uid):
            return True
        return answer(self._store, ask_has_keys, uid, account_sets())

    def _give_name(self, uid: int) -> None:
        """Make the username lead to the user; when another user has it by now, a new username like it."""
        name = self._store.hget(keys.user(uid), "username") or f"user_{uid}"
        # Names have at most 30 characters, uids at most 16.
        for candidate in (name, f"{name[:13]}_{uid}", f"{uid}_{nonce()}"):
            if self._store.hsetnx(keys.users(), candidate.lower(), str(uid)):
                self._store.hset(keys.user(uid), {"username": candidate})
                return

    def _orphans(self, uids: Sequence[int]) -> list[int]:
        """`user:` hashes of registrations that died before their commit. None in a store without any name: `seed` is
        filling it."""
        if not self._store.hlen(keys.users()):
            return []
        return [uid for uid in self.without_name(uids) if not self.was_registered(uid)]

    # ---- secrets

    def _locked_out(self, uids: Sequence[int]) -> list[int]:
        """Users with a secret in their hash, the truth, that `auths` lacks: their cookies open nothing."""
        stored = answers(self._store, lambda pipe, uid: pipe.hmget(keys.user(uid), ["auth", "deleted"]), uids)
        secrets = {uid: secret for uid, (secret, deleted) in stored.items() if secret and deleted is None}
        owners = answers(self._store, lambda pipe, uid: pipe.hget(keys.auths(), secrets[uid]), secrets)
        return [uid for uid, owner in owners.items() if owner != str(uid)]

    def _restore_secret(self, uid: int) -> None:
        secret = self._store.hget(keys.user(uid), "auth")
        if not secret:  # the account was deleted meanwhile
            return
        other = stored_id(keys.auths(), self._store.hget(keys.auths(), secret))
        if other is not None and self._store.hget(keys.user(other), "auth") == secret:  # two users, one secret
            secret = new_secret()
            self._store.hset(keys.user(uid), {"auth": secret})
        self._store.hset(keys.auths(), {secret: str(uid)})

    # ---- the list of newest users

    def _unlisted(self, uids: Sequence[int]) -> list[int]:
        """Users with a name that `users_by_time` lacks."""
        users = [user for user in answers(self._store, ask_user, uids).values() if user]
        times = self._registered([user.username for user in users])
        return [user.uid for user in users if times[user.username] is None]

    def _registered(self, names: Iterable[str]) -> dict[str, float | None]:
        return answers(self._store, lambda pipe, name: pipe.zscore(keys.users_by_time(), name), names)

    def _list(self, uid: int) -> None:
        name = self._store.hget(keys.user(uid), "username")
        if name is not None:
            self._store.zadd_nx(keys.users_by_time(), {name: snowflake.made_at(uid) or self._estimated_date(uid)})

    def _estimated_date(self, uid: int) -> int:
        """About when a user with a counted uid registered, in unix seconds: the newest date of the uids just below."""
        neighbours = usernames_of(self._store, range(max(uid - NEIGHBOURS, 1), uid)).values()
        known = [integer(when) for when in self._registered(neighbours).values() if when is not None]
        return max(known, default=int(time.time()))

    def _unknown(self, names: Sequence[str]) -> list[str]:
        """Members of `users_by_time` that are no user's name, or differ from it in letter case."""
        owners = answers(self._store, ask_owner, names)
        usernames = usernames_of(self._store, [owner for owner in owners.values() if owner is not None])
        return [name for name, owner in owners.items() if usernames.get(owner or 0) != name]


def _ask_extra_fields(pipe: Pipe, uid: int) -> Result[bool]:
    """Fields of deleted accounts that a request wrote during the deletion: `seen`, or others when it was killed. One
    may be a secret."""
    deleted, size = pipe.hget(keys.user(uid), "deleted"), pipe.hlen(keys.user(uid))
    return Result(lambda: is_deleted(deleted.value) and size.value > len(KEPT_FIELDS))


def _ask_replaced_password(pipe: Pipe, uid: int) -> Result[bool]:
    """`old_password` beside `password`, which wins: a login or a password change was killed."""
    passwords = pipe.hmget(keys.user(uid), ["password", "old_password"])
    return Result(lambda: None not in passwords.value)


# ---- Check: deleted accounts with data left that no job will remove.


MEMBERS_READ = 20  # of each set


class LeftData(NamedTuple):
    """Data of a deleted account."""

    uid: int
    key: str
    explained_by: frozenset[str]  # the beginnings of the jobs that may be about to remove it


class DeletedAccountChecks(Searcher):
    """The check of deleted accounts. It leaves their places in the ranking to `RankingChecks`.

    Home timelines that a page has just rebuilt are orphans, and so are fields that were written late to a hash.
    """

    def inconsistencies(self) -> list[Check]:
        return [Check("deleted accounts with data left", (keys.user,), self.left_data)]

    def left_data(self, names: list[str]) -> Chunks:
        """Members of the sets that features declare, and entries of `users_by_time`. One finding a user."""
        for uids in checks.ids(self._store, names):
            found = confirmed(
                self._store,
                list(self._read(uids)),
                self._read,
                lambda data: set(data.explained_by),
                lambda data: data.uid,
            )
            yield [
                Finding(f"deleted user {uid}: {key}", partial(self._remove, uid))
                for uid, key in {data.uid: data.key for data in found}.items()
            ]

    def _read(self, uids: Sequence[int]) -> Iterator[LeftData]:
        """The data left of those users that are deleted. Two round trips."""
        stored = answers(self._store, lambda pipe, uid: pipe.hmget(keys.user(uid), ["username", "deleted"]), uids)
        names = {uid: name or "" for uid, (name, deleted) in stored.items() if is_deleted(deleted)}
        sets = account_sets()
        with self._store.pipeline() as pipe:
            # The first members of each set; several, because a job may be at work on some of them.
            asked = [(uid, kind, pipe.zrange(kind(uid), 0, MEMBERS_READ - 1)) for uid in names for kind in sets]
            listed = [(uid, pipe.zscore(keys.users_by_time(), name)) for uid, name in names.items()]
        for uid, kind, some in asked:
            for member in some.value:
                yield LeftData(uid, kind(uid), frozenset({f"gone:{uid}", *sets[kind](uid, member)}))
        for uid, score in listed:
            if score.value is not None:
                yield LeftData(uid, keys.users_by_time(), frozenset({f"gone:{uid}", f"user:{uid}"}))

    def _remove(self, uid: int) -> None:
        """Add the job of the deletion again, and carry it out as a worker would."""
        job = Outbox(self._store).add(f"gone:{uid}:{nonce()}")
        claim = Claim(LeasedStore(self._store, inf), job.name, attempt=1, turn=inf)
        finish_deletion(self._store, claim)
        claim.outbox.done(job.name)  # not `job.done()`: the lease of its owner has ended long ago


# ---- Checks: entries of `users_by_name` that are missing, stale, or have a wrong score.


OwnedEntry = tuple[str, int]  # an entry, and the uid that it leads to


class NameIndexChecks(Searcher):
    """Checks of the index of names. They rely on AccountChecks, which come first and repair names and uids."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._index = NameIndex(store)

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "names that users_by_name lacks",
                keys.users,
                self._lacking,
                "users_by_name lacks {1!r}",
                lambda uid, _: self._index.make_match({uid: []}),
                read=self._users,
                jobs=lambda uid, entry: keys.users_by_name.jobs_on(entry, str(uid)),
                built=Built(keys.users_by_name(), self._index_all),
            ),
            self._check_of(
                "scores in users_by_name that are not 0",
                keys.users_by_name,
                _scored,
                "{0!r} has the score {1:g}",
                lambda entry, _: self._store.zadd(keys.users_by_name(), {entry: 0}),
                read=checks.scored_in,
            ),
        ]

    def orphans(self) -> list[Check]:
        return [
            self._check_of(
                "stale entries in users_by_name",
                keys.users_by_name,
                self._stale,
                "{0!r} leads to no user with that name",
                lambda entry, uid: self._index.make_match({uid: [entry]}),  # it stays where it is right by now
                read=owned_entries,
            )
        ]

    def _index_all(self) -> None:
        for batch in self._users(self._store, [keys.users()]):
            self._index.make_match({uid: [] for uid in batch})

    def _users(self, store: Store, names: list[str]) -> Iterator[list[int]]:
        """The uids that their own names lead to, in chunks. AccountChecks find the others."""
        for batch in owned_names(store, names):
            stored = self._index.stored({uid for _, uid in batch})
            yield sorted({uid for name, uid in batch if name in spellings(stored[uid].username or "")})

    def _lacking(self, uids: Collection[int]) -> list[tuple[int, str]]:
        """Users with their missing entries. Two round trips."""
        right = [
            (uid, entry)
            for uid, stored in self._index.stored(uids).items()
            for entry in sorted(right_entries(uid, stored))
        ]
        scores = answers(self._store, lambda pipe, one: pipe.zscore(keys.users_by_name(), one[1]), right)
        return [one for one, score in scores.items() if score is None]

    def _stale(self, owned: Sequence[OwnedEntry]) -> list[OwnedEntry]:
        """Members that are no entry, or lead to no user, to a deleted account, or to a user with another name."""
        stored = self._index.stored({uid for _, uid in owned})
        return [(entry, uid) for entry, uid in owned if entry not in right_entries(uid, stored[uid])]


def _scored(entries: Scored) -> Scored:
    """Entries with a score other than 0. The set is in the order of its bytes only while all scores are equal."""
    return [(entry, score) for entry, score in entries if score != 0]


def owned_entries(store: Store, names: list[str]) -> Iterator[list[OwnedEntry]]:
    """The members of `users_by_name`; with 0 what is no entry."""
    return ([(member, (parse(member) or ("", 0))[1]) for member in chunk] for chunk in checks.texts_in(store, names))


# ---- Checks: usernames whose look is not in `skeletons`, and entries that no username has.
#
# Sites of older versions and official databases have no `skeletons`. Of several old accounts that look alike, the first
# has the entry, and all of them stay.


SkeletonEntry = tuple[str, str]  # a field of `skeletons`: the skeleton, and the uid that it leads to


class SkeletonChecks(Searcher):
    """Checks of `skeletons`. They rely on AccountChecks, which come first and repair names and uids."""

    def inconsistencies(self) -> list[Check]:
        return [Check("names that skeletons lacks", at_end=self.lacking)]

    def orphans(self) -> list[Check]:
        return [
            self._check_of(
                "stale entries in skeletons",
                keys.skeletons,
                self._wrong,
                "skeletons has {0!r}, and no user has such a name",
            )
        ]

    def lacking(self) -> Chunks:
        """Usernames, those of deleted accounts too, whose look no username holds. One finding and one repair for all
        of a chunk. In the order of ids, so that of two accounts that look alike the first one gets the entry."""
        for uids in uids_in_order(self._store):
            lost = confirmed(self._store, self._lacking(uids), self._lacking, lambda uid: {f"user:{uid}"})
            what = f"the names of user {lost[0]}, and of {len(lost) - 1} more users" if lost else ""
            yield [Finding(what, partial(self._note, lost), len(lost))] if lost else []

    def _lacking(self, uids: Sequence[int]) -> list[int]:
        """Those of the users whose look nobody holds; of those that look alike, the first. Three round trips."""
        looks = {uid: skeletons(name) for uid, name in usernames_of(self._store, uids).items()}
        held = self._held({skeleton for some in looks.values() for skeleton in some})
        found = []
        for uid, some in looks.items():
            if not held.issuperset(some):
                found.append(uid)
                held.update(some)
        return found

    def _held(self, wanted: set[str]) -> set[str]:
        """Those of the skeletons that lead to a user with a name of this look. Two round trips."""
        if not wanted:
            return set()
        ordered = sorted(wanted)
        stored = zip(ordered, self._store.hmget(keys.skeletons(), ordered), strict=True)
        return wanted - {skeleton for skeleton, _ in self._wrong([(one, holder or "") for one, holder in stored])}

    def _note(self, uids: Sequence[int]) -> None:
        """Give users the looks of their names that nobody holds. Four round trips."""
        wanted = holders(usernames_of(self._store, uids))
        held = self._held(set(wanted))
        missing = {skeleton: uid for skeleton, uid in wanted.items() if skeleton not in held}
        if missing:
            self._store.hset(keys.skeletons(), missing)

    def _wrong(self, entries: Sequence[SkeletonEntry]) -> list[SkeletonEntry]:
        """Those of the entries that lead to no user with a name of this look. One round trip."""
        names = usernames_of(self._store, [uid for _, holder in entries if (uid := parse_id(holder)) is not None])
        named = [(one, names.get(parse_id(one[1]) or 0)) for one in entries]
        return [one for one, name in named if name is None or one[0] not in skeletons(name)]
