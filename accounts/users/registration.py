"""Registration: the keys of a new user, and the one command that decides who has a name."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from django.conf import settings

from accounts.users.deletion import AccountDeletion
from accounts.users.entities import Login, NameTaken, User
from accounts.users.names import entries, queue_entries, queue_skeletons
from accounts.users.repository import Users, new_secret
from retwis_site.exceptions import IdInUse
from retwis_site.jobs.outbox import Claim, Job, Outbox, job_id
from retwis_site.store import keys, schema, snowflake
from retwis_site.store.chunks import for_each
from retwis_site.store.client import Pipe, Repository, Store
from retwis_site.store.ids import nonce


class Begun(NamedTuple):
    """A registration before its commit. It has a uid, and no name yet."""

    uid: int
    username: str
    job: Job


class Registration(Repository):
    """Makes users."""

    def register(self, username: str, password: str) -> Login:
        """Make a user; `password` is a Django hash. Eight round trips. Raises NameTaken, IdInUse."""
        return self.complete(self.begin(username), password, {})

    def begin(self, username: str) -> Begun:
        """A uid for a new user. Three round trips. Raises NameTaken, IdInUse.

        Nothing comes of it before `complete`, so what must come before the commit can name the uid."""
        owner, is_empty = Users(self._store).find_in_any_store(username)
        if owner is not None:
            raise NameTaken(username)
        uid, job = self._new_uid(username, schema.mark if is_empty else lambda pipe: None)
        return Begun(uid, username, job)

    def complete(self, begun: Begun, password: str, fields: Mapping[str, str]) -> Login:
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
        return Login(User(begun.uid, begun.username), secret)

    def give_up(self, begun: Begun) -> None:
        """Make no user of a uid. Two round trips."""
        begun.job.store.unlink(keys.user(begun.uid))
        begun.job.done()

    def _new_uid(self, username: str, mark: Callable[[Pipe], object]) -> tuple[int, Job]:
        """A new uid, and the job that makes a user of it. Two round trips; one when uids are made from the time. `mark`
        is done before there is a user.

        The uid is claimed with HSETNX, so no registration is written over an account. When another process has made the
        same uid from the time, the next one is tried: two round trips more. The job of the other's uid only finishes
        that registration. Raises WrongClock, IdInUse.
        """
        jobs: list[Job] = []

        def claim(uid: int) -> bool:
            job, pipe = Outbox(self._store).queue_add(f"user:{uid}:{nonce()}")
            is_mine = pipe.hsetnx(keys.user(uid), "username", username)
            mark(pipe)
            pipe.execute()
            if not is_mine.value:
                job.done()
            jobs.append(job)
            return bool(is_mine.value)

        if settings.POST_IDS != "incr":
            return snowflake.claimed(claim), jobs[-1]
        uid = self._store.incr(keys.next_user_id())
        if not claim(uid):
            raise IdInUse(keys.next_user_id(), uid)
        return uid, jobs[-1]

    def settle(self, uid: int) -> bool:
        """Bring a registration to its end in place of a process that died, from the fields of the hash. Returns whether
        the user has the name; also True for a deleted account. Up to five round trips."""
        username, secret, deleted = self._store.hmget(keys.user(uid), ["username", "auth", "deleted"])
        if username is None or (secret is None and deleted is None):
            return False
        if deleted is not None:  # the user was signed in before, so the name is theirs
            for_each(self._store, queue_skeletons, [User(uid, username)])
            AccountDeletion(self._store).unlist(User(uid, username))
            return True
        if not self._commit(uid, username):
            return False
        self._list(uid, username, secret or "")
        return True

    def _commit(self, uid: int, username: str) -> bool:
        """One round trip; two when another user has the name.

        The commit is HSETNX on the lower-cased name: it decides between people who want the name at once. HGET asks
        again, since only its answer is the same after a retry. Both are for one key, so they stay in order everywhere.
        """
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.users(), username.lower(), str(uid))
        owner = pipe.hget(keys.users(), username.lower())
        pipe.execute()
        if owner.value == str(uid):
            return True
        self._store.unlink(keys.user(uid))
        return False

    def _list(self, uid: int, username: str, secret: str) -> None:
        """What follows the commit. Two round trips; one more when the account is deleted by now."""
        pipe = self._store.pipeline()
        pipe.hset(keys.auths(), {secret: str(uid)})
        pipe.zadd_nx(keys.users_by_time(), {username: int(time.time())})
        queue_entries(pipe, entries(User(uid, username)))
        queue_skeletons(pipe, User(uid, username))
        pipe.execute()
        if self._store.hget(keys.user(uid), "deleted") is not None:  # read after the write
            AccountDeletion(self._store).unlist(User(uid, username))


def finish_user(store: Store, claim: Claim) -> None:
    """The job `user:<uid>` or `user:<uid>:<nonce>`: finish a registration. Up to five round trips."""
    Registration(store).settle(job_id(claim.name, 1))
