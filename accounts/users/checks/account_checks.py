"""Damage to accounts: names, uids and secrets that do not lead to each other.

`users`, `user:<uid>` and what a user owns vouch for one another, so that each can be put right from the others. A
`user:` hash alone proves nothing: a registration that died before its commit leaves one.
"""

import time
from collections.abc import Sequence
from functools import partial

from django.contrib.auth.hashers import make_password

from accounts.users.repository import chosen, new_secret, person, queue_person
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import keys, snowflake
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce

NEIGHBOURS = 20  # uids below a user's, whose registrations tell about when theirs was

Named = tuple[str, str]  # a field of `users`: the name, and the uid that it leads to


class AccountChecks:
    """Searches over accounts, in an order in which repairs build on each other."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        def names() -> int:
            return self._store.hlen(keys.users())

        return [
            Check("names that lead to nobody or to somebody else", self.wrong_names, names),
            Check("users to whom no name leads", self.nameless, self._store.dbsize),
            Check("users whose secret is not in auths", self.secrets, names),
            Check("users who are not in users_by_time", self.unlisted, names),
            Check("strangers in users_by_time", self.strangers, lambda: self._store.zcard(keys.users_by_time())),
        ]

    # ---- names and uids

    def wrong_names(self) -> Chunks:
        """Fields of `users` against the username of whom they lead to."""
        for batch in self._store.hash_fields(keys.users(), AT_ONCE):
            yield [
                Finding(f"{name!r} leads to user {uid}, who has another name or none", partial(self._mend, name, uid))
                for name, uid in confirmed(self._store, self._wrong(batch), _registration, self._wrong)
            ]

    def _wrong(self, batch: Sequence[Named]) -> list[Named]:
        usernames = self._usernames([_uid(number) for _, number in batch])
        return [
            (name, number)
            for (name, number), username in zip(batch, usernames, strict=True)
            if username is None or name not in {username, username.lower()}
        ]

    def _mend(self, name: str, number: str) -> None:
        uid = _uid(number)
        [username] = self._usernames([uid])
        if username is None:
            self._restore(uid, name)
        elif self._leads_to(username) == uid:  # the name is a second one; `nameless` finds whose it was
            self._store.hdel(keys.users(), name)
        else:
            self._store.hset(keys.user(uid), {"username": name})

    def _restore(self, uid: int, name: str) -> None:
        """Give what is left of a user their name back, and a password that only `changepassword` can replace; to a
        deleted account the name alone; or take the name away where nothing is left."""
        if not self._owns_anything(uid) and not self._store.hlen(keys.user(uid)):
            self._store.hdel(keys.users(), name)
            return
        fields = {"username": name}
        if self._store.hget(keys.user(uid), "deleted") is None:
            fields |= {"password": make_password(None), "auth": new_secret()}
        for field, value in fields.items():
            self._store.hsetnx(keys.user(uid), field, value)

    def nameless(self) -> Chunks:
        """`user:` hashes that `users` does not lead to, of users who have signed in, posted, followed or left."""
        for batch in ids_of(self._store, "user:*"):
            suspects = [uid for uid in self.without_name(batch) if self.was_registered(uid)]
            yield [
                Finding(f"no name leads to user {uid}", partial(self._name, uid))
                for uid in confirmed(self._store, suspects, lambda uid: {f"user:{uid}"}, self.without_name)
            ]

    def without_name(self, uids: Sequence[int]) -> list[int]:
        """Those to whom `users` does not lead by the name that they have. Two round trips."""
        pipe = self._store.pipeline()
        usernames = [username or "" for username in self._usernames(uids)]
        for username in usernames:
            pipe.hmget(keys.users(), [username, username.lower()])
        return [
            uid
            for uid, found in zip(uids, pipe.execute(), strict=True)
            if uid not in {_uid(number) for number in found if number}
        ]

    def was_registered(self, uid: int) -> bool:
        """Whether a registration got past its commit: the user has a session, owns something, or has deleted their
        account, whose name stays taken. Three round trips at most."""
        username, secret, deleted = self._store.hmget(keys.user(uid), ["username", "auth", "deleted"])
        if username is not None and deleted is not None:
            return True
        if secret is not None and self._store.hget(keys.auths(), secret) == str(uid):
            return True
        return self._owns_anything(uid)

    def _name(self, uid: int) -> None:
        """Lead their name to a user; or, where it is somebody else's by now, another one like it."""
        [username] = self._usernames([uid])
        name = username or f"user_{uid}"
        # Names have at most 30 characters, uids at most 16.
        for free in (name, f"{name[:13]}_{uid}", f"{uid}_{nonce()}"):
            if self._store.hsetnx(keys.users(), free.lower(), str(uid)):
                self._store.hset(keys.user(uid), {"username": free})
                return

    def _owns_anything(self, uid: int) -> bool:
        pipe = self._store.pipeline()
        pipe.zcard(keys.updates(uid))
        pipe.zcard(keys.following(uid))
        pipe.zcard(keys.followers(uid))
        return any(pipe.execute())

    def _leads_to(self, username: str) -> int | None:
        return chosen(self._store.hmget(keys.users(), [username, username.lower()]))

    def _usernames(self, uids: Sequence[int]) -> list[str | None]:
        pipe = self._store.pipeline()
        for uid in uids:
            pipe.hget(keys.user(uid), "username")
        return pipe.execute()

    # ---- secrets

    def secrets(self) -> Chunks:
        """The users' own secrets, the truth, against `auths`, without which their cookies open nothing."""
        for batch in self._store.hash_fields(keys.users(), AT_ONCE):
            uids = sorted({_uid(number) for _, number in batch})
            lost = confirmed(
                self._store, self._locked_out(uids), lambda uid: {f"auth:{uid}", f"user:{uid}"}, self._locked_out
            )
            yield [Finding(f"auths does not know the secret of user {uid}", partial(self._let_in, uid)) for uid in lost]

    def _locked_out(self, uids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        for uid in uids:
            pipe.hmget(keys.user(uid), ["auth", "deleted"])
        stored = zip(uids, pipe.execute(), strict=True)
        have = [(uid, secret) for uid, (secret, deleted) in stored if secret and deleted is None]
        for _, secret in have:
            pipe.hget(keys.auths(), secret)
        return [uid for (uid, _), found in zip(have, pipe.execute(), strict=True) if found != str(uid)]

    def _let_in(self, uid: int) -> None:
        secret = self._store.hget(keys.user(uid), "auth")
        if not secret:  # they have left since it was found
            return
        other = self._store.hget(keys.auths(), secret)
        if other is not None and self._store.hget(keys.user(_uid(other)), "auth") == secret:  # two users, one secret
            secret = new_secret()
            self._store.hset(keys.user(uid), {"auth": secret})
        self._store.hset(keys.auths(), {secret: str(uid)})

    # ---- the list of newest users

    def unlisted(self) -> Chunks:
        """Users whose name is missing from `users_by_time`."""
        for batch in self._store.hash_fields(keys.users(), AT_ONCE):
            uids = sorted({_uid(number) for _, number in batch})
            missing = confirmed(self._store, self._unlisted(uids), lambda uid: {f"user:{uid}"}, self._unlisted)
            yield [Finding(f"user {uid} is not in users_by_time", partial(self._list, uid)) for uid in missing]

    def _unlisted(self, uids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        for uid in uids:
            queue_person(pipe, uid)
        users = [user for uid, reply in zip(uids, pipe.execute(), strict=True) if (user := person(uid, reply))]
        named = [(user.uid, user.username) for user in users]
        times = self._registered([name for _, name in named])
        return [uid for (uid, _), when in zip(named, times, strict=True) if when is None]

    def _registered(self, names: Sequence[str]) -> list[float | None]:
        pipe = self._store.pipeline()
        for name in names:
            pipe.zscore(keys.users_by_time(), name)
        return pipe.execute()

    def _list(self, uid: int) -> None:
        [name] = self._usernames([uid])
        if name is not None:
            self._store.zadd_nx(keys.users_by_time(), {name: snowflake.made_at(uid) or self._about_when(uid)})

    def _about_when(self, uid: int) -> int:
        """When somebody registered, in unix seconds. Counted uids are given out in order: soon after the one before."""
        neighbours = [other for other in self._usernames(range(max(uid - NEIGHBOURS, 1), uid)) if other is not None]
        known = [int(when) for when in self._registered(neighbours) if when is not None]
        return max(known, default=int(time.time()))

    def strangers(self) -> Chunks:
        """Members of `users_by_time` that are nobody's name, or not as they typed it."""
        for names in self._store.zset_members(keys.users_by_time(), AT_ONCE):
            yield [
                Finding(f"nobody is called {name!r}", partial(self._store.zrem, keys.users_by_time(), name))
                for name in confirmed(self._store, self._strangers(names), lambda name: set(), self._strangers)
            ]

    def _strangers(self, names: Sequence[str]) -> list[str]:
        pipe = self._store.pipeline()
        for name in names:
            pipe.hmget(keys.users(), [name, name.lower()])
        uids = [chosen(found) for found in pipe.execute()]
        usernames = self._usernames([uid or 0 for uid in uids])
        return [name for name, username in zip(names, usernames, strict=True) if username != name]


def _uid(text: str) -> int:
    """The number in a field; 0, which no user has, for what is none."""
    return int(text) if text.isdecimal() else 0


def _registration(named: Named) -> set[str]:
    return {f"user:{named[1]}"}
