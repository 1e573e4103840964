"""What a request shows to prove who asks: the secret of a session in a cookie, or the token of an app.

The viewer asks for what judges it in the round trip that reads the page's own keys.
"""

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from django.conf import settings
from django.utils.crypto import constant_time_compare

from accounts.signing_in import tokens
from accounts.signing_in.sessions.entities import SESSIONS, Way
from accounts.users.entities import NotSignedIn
from accounts.users.repository import uid_in
from retwis_site.exceptions import TooOften
from retwis_site.features import AskNumber, viewer_numbers
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_id
from retwis_site.store.local_cache import Hints, Memory
from retwis_site.store.replies import Reply, Result

_uids_by_secret: Hints[str] = Hints(1 << 17)  # 2 MB
_stands: Memory[str, bool] = Memory(size=5000, seconds=300)  # by the digest of a token
LONGEST_SECRET = 200  # characters; a secret of this site has 32 and a uid, but a request may hold anything


class Opened(NamedTuple):
    """What a proof has opened, and where the hour of its use stands: a field of the user."""

    used_in: str = ""  # empty: nowhere
    used: int = 0  # the hour that stands there, unix seconds
    app: str = ""  # whose token it is; empty for a session
    scopes: tuple[str, ...] = ()  # of the token
    way: Way = Way.PASSWORD  # how the session was opened


class SessionSecret:
    """The cookie of a browser. `auths[secret]` leads to a uid. Only when `user:<uid>` has a session with this secret,
    or has it as `auth`, does it open anything: an old entry in `auths` does not.

    A process caches which uid a secret leads to. That is a guess: each request checks it."""

    def __init__(self, secret: str) -> None:
        self.secret = secret if len(secret) <= LONGEST_SECRET else ""  # empty for none
        self.calls: tokens.Calls | None = None  # a browser's pages are not counted

    def unchecked_uid(self, store: Store) -> int | None:
        """Whose it seems to be; None when it opens nothing. At most one round trip; none for a secret that ends with a
        uid, or that was seen before."""
        guess = _uids_by_secret.get(self.secret) or uid_in(self.secret)
        if guess is None:
            guess = stored_id(keys.auths(), store.hget(keys.auths(), self.secret))
            self.leads_to(guess)
        return guess

    def ask_uid(self, pipe: Pipe) -> Reply[str | None]:
        """Whose it is, where a key of its own says that."""
        return pipe.hget(keys.auths(), self.secret)

    def leads_to(self, uid: int | None) -> None:
        """Such a key says that it is another user's than it seemed, or nobody's."""
        if uid is not None:
            _uids_by_secret.put(self.secret, uid)

    @property
    def fields(self) -> Sequence[str]:
        """The fields of the user that judge it."""
        return ("auth", *SESSIONS.asked(self.secret))

    @property
    def numbers(self) -> Mapping[str, AskNumber]:
        """The numbers about the viewer that the answer shows, by name."""
        return viewer_numbers()

    def opened(self, fields: Sequence[str | None]) -> Opened | None:
        """What it opens, from these; None for nothing."""
        auth, *pair = fields
        session = SESSIONS.standing(self.secret, *pair)
        if session is not None:
            return Opened(f"{SESSIONS.second}{self.secret}", session.used, way=session.way)
        return Opened() if auth is not None and constant_time_compare(auth, self.secret) else None

    def opens_nothing(self) -> None:
        """The request goes on as a visitor's."""


class AppToken:
    """The bearer of an app, with the same methods. The user's hash alone judges it.

    Calls are counted once this process has found that the token stands: what a stranger makes up leaves no key."""

    def __init__(self, token: str) -> None:
        self.secret = token[:LONGEST_SECRET]
        self.calls: tokens.Calls | None = None
        self._counted: Result[tokens.Calls] | None = None

    def unchecked_uid(self, store: Store) -> int | None:
        return uid_in(self.secret)

    def ask_uid(self, pipe: Pipe) -> Reply[str | None] | None:
        """No key leads to it. The call is counted in the same round trip."""
        if settings.THROTTLE and _stands.get(self.digest):
            self._counted = tokens.ask_count(pipe, self.digest)
        return None

    def leads_to(self, uid: int | None) -> None:
        """No key says so."""

    @cached_property
    def digest(self) -> str:
        return tokens.digest_of(self.secret)

    @property
    def fields(self) -> Sequence[str]:
        return tokens.TOKENS.asked(self.digest)

    @property
    def numbers(self) -> Mapping[str, AskNumber]:
        """None: they are for the frame of a page."""
        return {}

    def opened(self, fields: Sequence[str | None]) -> Opened | None:
        """Raises TooOften."""
        token = tokens.TOKENS.standing(self.digest, *fields)
        if token is None:
            return None
        if not _stands.get(self.digest):
            _stands.put(self.digest, True)
        self.calls = calls = None if self._counted is None else self._counted.value
        if calls is not None and calls.times > tokens.CALLS.allowed:
            limit = tokens.CALLS
            raise TooOften(f"{limit.allowed} {limit.what}", limit.refusal(), max(calls.ends - int(time.time()), 1))
        return Opened(f"{tokens.TOKENS.second}{self.digest}", token.used, token.app, token.scopes)

    def opens_nothing(self) -> None:
        """An app must learn that its token has ended: it is not answered as a visitor."""
        raise NotSignedIn


Proof = SessionSecret | AppToken
