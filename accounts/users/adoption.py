"""What `adopt` changes in the accounts of an official database: names that differ only in letter case, lower-case forms
of names, and readable passwords. `docs/adopting.md` has the rules."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b
from math import inf

from django.contrib.auth.hashers import make_password

from accounts.users.checks import OwnedName, owned_names, usernames_of
from retwis_site.maintenance.checks import Check, Chunks, Finding, Searcher, ids
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Pipe, Reply, Store, answers, connect_exactly, for_each
from retwis_site.store.ids import NOT_UTF_8, integer
from retwis_site.store.schema import is_hash

HASHED_AT_ONCE = 50  # passwords; each takes some 20 ms of a core
BEGINNING = 13  # characters of a name that stay before `_<uid>`: names have at most 30, uids at most 16


class AccountAdoption(Searcher):
    """Searches the accounts of an official database."""

    def checks(self) -> list[Check]:
        """In this order: a new name must not be the lower-case form of another one."""
        return [
            Check("usernames without their lower-case form", (keys.users,), self.without_lower_case),
            # All are told: nothing else says who has another name now.
            Check("usernames that differ only in letter case", at_end=self.clashing, most_told=inf),
            Check("readable passwords", (keys.user,), self.readable_passwords),
        ]

    # ---- names

    def without_lower_case(self, names: list[str]) -> Chunks:
        """Names that are only in `users` as they were typed. This site compares names in lower case."""
        for chunk in owned_names(self._store, names):
            typed = [one for one in chunk if one.name != one.name.lower()]
            owners = answers(self._store, lambda pipe, one: pipe.hget(keys.users(), one.name.lower()), typed)
            lacking = [one for one, owner in owners.items() if owner is None]
            if lacking:
                what = f"{lacking[0].name!r}, and {len(lacking) - 1} more names"
                yield [Finding(what, partial(self._add_lower_case, lacking), len(lacking))]
            else:
                yield []

    def _add_lower_case(self, names: Sequence[OwnedName]) -> None:
        for_each(self._store, lambda pipe, one: pipe.hsetnx(keys.users(), one.name.lower(), str(one.uid)), names)

    def clashing(self) -> Chunks:
        """Accounts whose name another account has in other letters. The one that registered first keeps it. The new
        names are the same before and after other repairs, and after a crash: they may be told before they are given."""
        owners, clashing = clashing_names(self._store)
        for wanted in clashing.values():
            first, *others = self._by_registration(wanted)
            renamed = [(other, _new_name(other, owners)) for other in others]
            yield [
                Finding(
                    f"{other.name!r} (user {other.uid}) becomes {name!r}: "
                    f"{first.name!r} (user {first.uid}) registered first",
                    partial(self._give_way, other, name, first),
                )
                for other, name in renamed
            ]

    def _by_registration(self, wanted: Sequence[OwnedName]) -> list[OwnedName]:
        """The first registration first; those without a date last, by uid."""
        dates = answers(self._store, lambda pipe, one: pipe.zscore(keys.users_by_time(), one.name), wanted)
        return sorted(wanted, key=lambda one: (inf if (date := dates[one]) is None else date, one.uid))

    def _give_way(self, other: OwnedName, name: str, first: OwnedName) -> None:
        """Rename an account. Each step can run again; until the last one but one, the names still clash."""
        lower = first.name.lower()
        self._store.hsetnx(keys.users(), name.lower(), str(other.uid))
        registered = self._store.zscore(keys.users_by_time(), other.name)
        if registered is not None:
            self._store.zadd_nx(keys.users_by_time(), {name: integer(registered)})
        self._store.hset(keys.user(other.uid), {"username": name})
        self._store.hset(keys.users(), {lower: str(first.uid)})
        if other.name != lower:
            self._store.hdel(keys.users(), other.name)
        self._store.zrem(keys.users_by_time(), other.name)

    # ---- passwords

    def readable_passwords(self, names: list[str]) -> Chunks:
        """Passwords as they were typed. The repair hashes them, so people keep theirs."""
        for uids in ids(self._store, names):
            stored = answers(self._store, _ask_password, uids)
            readable = {uid: text for uid, text in stored.items() if text and not is_hash(text)}
            yield [
                Finding(f"of user {min(some)}, and {len(some) - 1} more users", partial(self._hash, some), len(some))
                for some in map(dict, batches(readable.items(), HASHED_AT_ONCE))
            ]

    def _hash(self, passwords: Mapping[int, str]) -> None:
        """Hash passwords, by uid, on all cores. It takes seconds: where another run has hashed one meanwhile, its owner
        may have set a new one since."""
        exact = connect_exactly()
        unread = [uid for uid, text in passwords.items() if NOT_UTF_8 in text]
        texts = answers(exact, _ask_password, unread)
        passwords = dict(passwords) | {uid: as_typed(text or "") for uid, text in texts.items()}
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            hashes = list(threads.map(hash_of_official, passwords.values()))
        hashed = dict(zip(passwords, hashes, strict=True))
        now = answers(self._store, _ask_password, hashed)
        same = [uid for uid in hashed if not is_hash(now[uid] or "")]
        for_each(self._store, lambda pipe, uid: pipe.hset(keys.user(uid), {"password": hashed[uid]}), same)


def _ask_password(pipe: Pipe, uid: int) -> Reply[str | None]:
    return pipe.hget(keys.user(uid), "password")


def hash_of_official(password: str) -> str:
    """The hash of a password that the official Retwis has in clear text."""
    return make_password(password, hasher="argon2trimmed")


def as_typed(text: str) -> str:
    """A password of which bytes that are not UTF-8 were read as surrogates: then all of it is read as Latin-1, the
    encoding of most older pages."""
    raw = text.encode(errors="surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def clashing_names(store: Store) -> tuple[dict[str, int], dict[str, list[OwnedName]]]:
    """By lower-case name, one account that has it, and the fields of `users` that two or more accounts have. It reads
    all names, and keeps some 150 bytes of each meanwhile."""
    owners: dict[str, int] = {}
    clashing: dict[str, list[OwnedName]] = {}
    for chunk in owned_names(store, [keys.users()]):
        for one in chunk:
            if owners.setdefault(one.name.lower(), one.uid) != one.uid:
                clashing[one.name.lower()] = []
    if not clashing:
        return owners, {}
    for chunk in owned_names(store, [keys.users()]):
        for one in chunk:
            if one.name.lower() in clashing and one not in clashing[one.name.lower()]:
                clashing[one.name.lower()].append(one)
    return owners, {lower: _one_each(store, wanted) for lower, wanted in clashing.items()}


def _new_name(account: OwnedName, owners: dict[str, int]) -> str:
    """A name that no other account has; it is noted in `owners`."""
    ending = str(account.uid)
    while owners.setdefault((name := f"{account.name[:BEGINNING]}_{ending}").lower(), account.uid) != account.uid:
        ending = blake2b(ending.encode(), digest_size=6).hexdigest()
    return name


def _one_each(store: Store, wanted: Sequence[OwnedName]) -> list[OwnedName]:
    """One field for each account: the one with its present username, if it has one. One round trip."""
    usernames = usernames_of(store, {one.uid for one in wanted})
    chosen: dict[int, OwnedName] = {}
    for one in wanted:
        if one.uid not in chosen or one.name == usernames.get(one.uid):
            chosen[one.uid] = one
    return list(chosen.values())
