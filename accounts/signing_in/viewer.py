"""Who is asking, found out in the same round trip as what they ask for.

The cookie's secret is signed in when `auths[secret]` names a user and that user's own `auth` is the secret. The first
only finds the user; the second is the truth. A process remembers which secret led where, and which name, as hints: the
next request asks both checks and the page's own keys at once, and starts over when a hint was wrong.
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

LONGEST_SECRET = 200  # characters; ours have 32, and a cookie may hold anything

Questions = Callable[[Pipe, int | None], None]  # queues a page's commands, for the viewer's uid or None for a visitor
QuestionsAbout = Callable[[Pipe, int | None, int], None]  # the same for a page about a user: their uid is the third


class Viewer:
    """One request's viewer. `request.visit`; `request.user` is its `user`."""

    def __init__(self, store: Store, secret: str) -> None:
        self._store = store
        self.secret = secret if len(secret) <= LONGEST_SECRET else ""
        self._viewer: User | Visitor | None = None if self.secret else Visitor()
        self.asked = False  # whether anything depended on who it is

    @property
    def user(self) -> User | Visitor:
        """Who it is. No round trip once something was asked; else one, or two while no hint is remembered."""
        self.asked = True
        if self._viewer is None:
            self.ask(lambda pipe, me: None)
        assert self._viewer is not None
        return self._viewer

    @property
    def signed_in(self) -> bool:
        """Whether a user is known to be behind it. No round trip, and so False while nothing was asked."""
        return isinstance(self._viewer, User)

    def ask(self, questions: Questions) -> list[Any]:
        """The replies to a page's own commands, asked beside who the viewer is.

        One round trip with a good hint; one more to find the viewer without; and once over when the hint was wrong.
        `questions` may therefore run more than once. Raises StoreError.
        """
        self.asked = True
        for _ in range(TRIES):
            pipe = self._store.pipeline()
            if self._viewer is not None:
                questions(pipe, self._viewer.uid if isinstance(self._viewer, User) else None)
                return pipe.execute()
            me = self._hint()
            if me is None:
                self._viewer = Visitor()
                continue
            pipe.hget(keys.auths(), self.secret)
            pipe.hmget(keys.user(me), [*PERSON, "auth"])
            questions(pipe, me)
            found, (*stored, auth), *replies = pipe.execute()
            if found != str(me):
                _uids_by_secret.forget(self.secret)
                continue
            user = person(me, stored)
            if user is not None and auth is not None and constant_time_compare(auth, self.secret):
                self._viewer = user
                return replies
            self._viewer = Visitor()  # a stale entry in `auths`
        raise StoreError("the account kept changing while the page was read; try again")

    def ask_as_user(self, questions: Callable[[Pipe, int], None]) -> tuple[User, list[Any]]:
        """The same for a page that only users have. Raises NotSignedIn."""

        def if_signed_in(pipe: Pipe, me: int | None) -> None:
            if me is not None:
                questions(pipe, me)

        replies = self.ask(if_signed_in)
        return self.require_user(), replies

    def ask_about(self, name: str, questions: QuestionsAbout) -> tuple[User, list[Any]]:
        """Who `name` is, and the replies to a page's commands about them. Raises NoSuchUser, AccountDeleted.

        As many round trips as `ask`, and one more while the name is not remembered.
        """
        for _ in range(TRIES):
            them = _uids_by_name.get(name)
            if them is None:
                them = chosen(self._store.hmget(keys.users(), [name, name.lower()]))
                if them is None:
                    raise NoSuchUser(name)
                _uids_by_name.put(name, them)
            about: int = them

            def both(pipe: Pipe, me: int | None, about: int = about) -> None:
                pipe.hmget(keys.users(), [name, name.lower()])
                queue_person(pipe, about)
                questions(pipe, me, about)

            found, stored, *replies = self.ask(both)
            if chosen(found) == about:
                user = person(about, stored)
                if user is not None:
                    return user, replies
                username, *_ = stored
                raise NoSuchUser(name) if username is None else AccountDeleted(name)
            _uids_by_name.forget(name)
        raise StoreError(f"the name {name!r} kept changing hands while the page was read; try again")

    def find(self, name: str) -> User:
        """The user of this name. Round trips and errors as for `ask_about`."""
        person, _ = self.ask_about(name, lambda pipe, me, them: None)
        return person

    @property
    def uid(self) -> int | None:
        """The uid of the signed-in user; None for a visitor. Round trips as for `user`."""
        return self.user.uid if isinstance(self.user, User) else None

    def require_user(self) -> User:
        """The signed-in user. Round trips as for `user`. Raises NotSignedIn."""
        if isinstance(self.user, User):
            return self.user
        raise NotSignedIn

    def _hint(self) -> int | None:
        me = _uids_by_secret.get(self.secret)
        if me is not None:
            return me
        found = self._store.hget(keys.auths(), self.secret)
        if found is None or not (found.isascii() and found.isdigit()):
            return None
        _uids_by_secret.put(self.secret, int(found))
        return int(found)
