"""The viewer of a request: checked in the same round trip that reads the page's own keys.

The sign-in cookie holds a secret. `auths[secret]` leads to a uid, and `user:<uid>` has the user's present secret as
`auth`. Only when the two secrets are equal is the user signed in: an old entry in `auths` opens nothing.

The page's commands need the uid before the check is made. So a process caches which uid a secret leads to, and which
uid a name has. A cached uid is a guess: each request checks it in the pipeline that also has the page's commands. When
the guess was wrong, the replies are dropped, and the request asks again.
"""

from collections.abc import Callable
from typing import Any

from django.utils.crypto import constant_time_compare

from accounts.users.entities import AccountDeleted, NoSuchUser, NotSignedIn, User, Visitor
from accounts.users.repository import PERSON, TRIES, chosen, person, queue_person
from retwis_site.exceptions import StoreError
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import Memory

_uids_by_secret: Memory[str, int] = Memory(size=20_000, seconds=3600)
_uids_by_name: Memory[str, int] = Memory(size=20_000, seconds=3600)

LONGEST_SECRET = 200  # characters; a secret of this site has 32, but a cookie may hold anything

# Queues the commands of a page. The second argument is the viewer's uid, or None for a visitor.
Questions = Callable[[Pipe, int | None], None]
# Queues the commands of a page about a user, such as a profile. The third argument is that user's uid.
QuestionsAbout = Callable[[Pipe, int | None, int], None]


class Viewer:
    """The viewer of one request, `request.viewer`: a signed-in user or a visitor. `request.user` is its `user`."""

    def __init__(self, store: Store, secret: str) -> None:
        """`secret`: the value of the sign-in cookie, empty when there is none."""
        self._store = store
        self.secret = secret if len(secret) <= LONGEST_SECRET else ""
        self._user: User | Visitor | None = None if self.secret else Visitor()  # None until it is checked
        self.asked = False  # whether the response depends on the viewer

    @property
    def user(self) -> User | Visitor:
        """The signed-in user, or a Visitor. No round trip without a cookie or after `ask`; else as for `ask`."""
        self.asked = True
        if self._user is None:
            self.ask(lambda pipe, me: None)
        assert self._user is not None
        return self._user

    @property
    def uid(self) -> int | None:
        """The uid of the signed-in user; None for a visitor. Round trips as for `user`."""
        return self.user.uid if isinstance(self.user, User) else None

    def require_user(self) -> User:
        """The signed-in user. Round trips as for `user`. Raises NotSignedIn."""
        if isinstance(self.user, User):
            return self.user
        raise NotSignedIn

    @property
    def signed_in(self) -> bool:
        """Whether the viewer has been checked and is a user. No round trip: False while nothing was asked."""
        return isinstance(self._user, User)

    def ask(self, questions: Questions) -> list[Any]:
        """The replies to the page's commands. The same round trip checks the viewer.

        One round trip when the viewer's uid is cached, two when it is not. A wrong cached uid costs two more, a stale
        entry in `auths` one more: `questions` may therefore run more than once. Raises StoreError.
        """
        self.asked = True
        for _ in range(TRIES):
            pipe = self._store.pipeline()
            if self._user is not None:
                questions(pipe, self._user.uid if isinstance(self._user, User) else None)
                return pipe.execute()
            me = self._unchecked_uid()
            if me is None:
                self._user = Visitor()
                continue
            pipe.hget(keys.auths(), self.secret)
            pipe.hmget(keys.user(me), [*PERSON, "auth"])
            questions(pipe, me)
            uid, (*stored, auth), *replies = pipe.execute()
            if uid != str(me):
                _uids_by_secret.forget(self.secret)
                continue
            user = person(me, stored)
            if user is not None and auth is not None and constant_time_compare(auth, self.secret):
                self._user = user
                return replies
            self._user = Visitor()  # a stale entry in `auths`
        raise StoreError("the account kept changing while the page was read; try again")

    def ask_as_user(self, questions: Callable[[Pipe, int], None]) -> tuple[User, list[Any]]:
        """The signed-in user, and the replies to the commands of a page for users alone. Raises NotSignedIn.

        Round trips as for `ask`.
        """

        def if_signed_in(pipe: Pipe, me: int | None) -> None:
            if me is not None:
                questions(pipe, me)

        replies = self.ask(if_signed_in)
        return self.require_user(), replies

    def ask_about(self, name: str, questions: QuestionsAbout) -> tuple[User, list[Any]]:
        """The user with this name, and the replies to the commands of a page about that user.

        Round trips as for `ask`; one more when the uid of the name is not cached. Raises NoSuchUser, AccountDeleted.
        """
        for _ in range(TRIES):
            cached = _uids_by_name.get(name)
            if cached is None:
                cached = chosen(self._store.hmget(keys.users(), [name, name.lower()]))
                if cached is None:
                    raise NoSuchUser(name)
                _uids_by_name.put(name, cached)
            them: int = cached

            def check_and_ask(pipe: Pipe, me: int | None, them: int = them) -> None:
                pipe.hmget(keys.users(), [name, name.lower()])
                queue_person(pipe, them)
                questions(pipe, me, them)

            uids, stored, *replies = self.ask(check_and_ask)
            if chosen(uids) == them:
                user = person(them, stored)
                if user is not None:
                    return user, replies
                username, *_ = stored
                raise NoSuchUser(name) if username is None else AccountDeleted(name)
            _uids_by_name.forget(name)
        raise StoreError(f"the name {name!r} kept changing its owner while the page was read; try again")

    def find(self, name: str) -> User:
        """The user with this name. Round trips and errors as for `ask_about`."""
        user, _ = self.ask_about(name, lambda pipe, me, them: None)
        return user

    def _unchecked_uid(self) -> int | None:
        """The uid that the secret leads to, not yet checked; None when `auths` has no such secret. At most one round
        trip."""
        cached = _uids_by_secret.get(self.secret)
        if cached is not None:
            return cached
        uid = self._store.hget(keys.auths(), self.secret)
        if uid is None or not (uid.isascii() and uid.isdigit()):
            return None
        _uids_by_secret.put(self.secret, int(uid))
        return int(uid)
