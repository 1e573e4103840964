"""Registration: the keys of a new user, and the one command that decides who has a name."""

import time

from django.conf import settings

from accounts.users.deletion import AccountDeletion
from accounts.users.entities import Login, NameTaken, User
from accounts.users.names import entries, queue_entries, queue_skeletons
from accounts.users.repository import Users, new_secret
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys, snowflake
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce


class Registration:
    """Makes users."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def register(self, username: str, password: str, invited_by: int | None = None) -> Login:
        """Make a user; `password` is a Django hash. The secret is the official one, which no browser gets here. Eight
        round trips. Raises NameTaken."""
        if Users(self._store).find(username) is not None:
            raise NameTaken(username)
        uid, job = self._new_uid(username)
        secret = new_secret()
        invited = {} if invited_by is None else {"invited_by": str(invited_by)}
        self._store.hset(keys.user(uid), {"username": username, "password": password, "auth": secret, **invited})
        if not self.finish(job, uid, username, secret):
            raise NameTaken(username)
        return Login(User(uid, username), secret)

    def _new_uid(self, username: str) -> tuple[int, str]:
        """A new uid, and the name of the job that makes a user of it. Two round trips.

        A uid made from the time is claimed with HSETNX. Its job comes first, since it says what the claim is for. When
        another process has made the same uid, the next one is tried: three round trips more. Raises WrongClock.
        """
        if settings.POST_IDS == "incr":
            uid = self._store.incr(keys.next_user_id())
            self._outbox.add(f"user:{uid}")
            return uid, f"user:{uid}"
        job = ""

        def claim(uid: int) -> bool:
            nonlocal job
            job = self._outbox.add(f"user:{uid}:{nonce()}").name
            if self._store.hsetnx(keys.user(uid), "username", username):
                return True
            self._outbox.done(job)
            return False

        return snowflake.claimed(claim), job

    def finish(self, job: str, uid: int, username: str, secret: str) -> bool:
        """The commit and what follows it. Returns whether the user has the name. Four round trips; one more when the
        account is deleted by now.

        The commit is HSETNX on the lower-cased name: it decides between people who want the name at once. HGET asks
        again, since only its answer is the same after a retry. Both are for one key, so they stay in order everywhere.
        """
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.users(), username.lower(), str(uid))
        owner = pipe.hget(keys.users(), username.lower())
        pipe.execute()
        won = owner.value == str(uid)
        if won:
            pipe.hset(keys.auths(), {secret: str(uid)})
            pipe.zadd_nx(keys.users_by_time(), {username: int(time.time())})
            queue_entries(pipe, entries(User(uid, username)))
            queue_skeletons(pipe, User(uid, username))
        else:
            pipe.unlink(keys.user(uid))
        pipe.execute()
        if won and self._store.hget(keys.user(uid), "deleted") is not None:  # read after the write
            AccountDeletion(self._store).unlist(User(uid, username))
        self._outbox.done(job)
        return won


def finish_user(store: Store, claim: Claim) -> None:
    """The job `user:<uid>` or `user:<uid>:<nonce>`: finish a registration. Up to six round trips."""
    uid = job_id(claim.name, 1)
    username, secret, deleted = store.hmget(keys.user(uid), ["username", "auth", "deleted"])
    if username is not None and deleted is not None:  # the user was signed in before this job was finished
        AccountDeletion(store).unlist(User(uid, username))
    if username is None or secret is None or deleted is not None:
        claim.outbox.done(claim.name)
        return
    Registration(store).finish(claim.name, uid, username, secret)
