"""The viewer of a request: checked in the same round trip that reads the page's own keys.

A request shows the secret of a session or the token of an app. The page's commands need the uid before the check is
made. So a process caches which uid a secret leads to, and which uid a name has. A cached uid is a guess: each request
checks it in the pipeline that also has the page's commands. When the guess was wrong, the replies are dropped, and the
page asks anew.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import ClassVar, NamedTuple, TypeVar

from django.conf import settings
from django.utils.crypto import constant_time_compare
from django.utils.functional import cached_property

from accounts.signing_in import tokens
from accounts.signing_in.factors import ask_has_factor
from accounts.signing_in.sessions.entities import SESSIONS, Way, present_hour
from accounts.users import entities
from accounts.users.entities import NotSignedIn, Role, Sanction, State, User, Visitor
from accounts.users.repository import IMPOSED, PERSON, TRIES, Users, ask_owner, person, role_of, sanction_of, uid_in
from retwis_site.exceptions import StoreError, StoreReadOnly
from retwis_site.features import AskNumber, ask_waiting, viewer_numbers
from retwis_site.identity import FOR_STAFF, Site, ask_site, shown_site
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Reply, Result, Store, answer, begun, rest, trip
from retwis_site.store.ids import digest_of, stored_id
from retwis_site.store.local_cache import Hints, Memory

# ---- What a request shows to prove who asks: the secret of a session in a cookie, or the token of an app.


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
        """Whose it is, as `auths` says."""
        return pipe.hget(keys.auths(), self.secret)

    def leads_to(self, uid: int | None) -> None:
        """`auths` says that it is another user's than it seemed, or nobody's."""
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

    numbers: ClassVar[Mapping[str, AskNumber]] = {}  # they are for the frame of a page

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
        return digest_of(self.secret)

    @property
    def fields(self) -> Sequence[str]:
        return tokens.TOKENS.asked(self.digest)

    def opened(self, fields: Sequence[str | None]) -> Opened | None:
        """Raises TooOften."""
        token = tokens.TOKENS.standing(self.digest, *fields)
        if token is None:
            return None
        if self._counted is None and not _stands.get(self.digest):
            _stands.put(self.digest, True)
        self.calls = calls = None if self._counted is None else self._counted.value
        if calls is not None and calls.times > tokens.CALLS.allowed:
            raise tokens.CALLS.exceeded(calls.ends - int(time.time()))
        return Opened(f"{tokens.TOKENS.second}{self.digest}", token.used, token.app, token.scopes)

    def opens_nothing(self) -> None:
        """An app must learn that its token has ended: it is not answered as a visitor."""
        raise NotSignedIn


Proof = SessionSecret | AppToken


# ---- What a page asks of the store: a reader gets the pipe, the uid of the viewer (None: a visitor), and in a page
# about a user that user's uid. Its first round trip also checks these uids. When one was wrong, the reader is not gone
# on with, and a new one is made. So code after its first `yield` knows that they are right.


T = TypeVar("T")

Reader = Callable[[Pipe, int | None], Reading[T]]
UserReader = Callable[[Pipe, int], Reading[T]]
ReaderAbout = Callable[[Pipe, int | None, int], Reading[T]]


# ---- Viewer


class Checked(NamedTuple):
    """What the check of a viewer has found."""

    user: User | Visitor
    numbers: Mapping[str, int] = {}  # the `viewer_numbers` of all features, by name; empty for a visitor
    role: Role = Role.MEMBER  # what the viewer may do
    # What waits for staff, by the list; None where it cannot be counted. Empty for all others.
    waiting: Mapping[str, int | None] = {}
    sanction: Sanction | None = None  # what staff has imposed on the viewer: FROZEN or HIDDEN
    dismissed: str | None = None  # which announcement the viewer has dismissed last; None for a visitor
    has_factor: bool = False  # a second factor; asked of staff alone
    scopes: tuple[str, ...] = ()  # what the token of an app allows; a session allows all
    app: str = ""  # whose token it is

    @property
    def is_staff(self) -> bool:
        """Whether the viewer is a moderator or an admin; a frozen moderator may not act as one."""
        return self.role is not Role.MEMBER and not self.is_frozen

    @property
    def is_frozen(self) -> bool:
        """Whether staff has frozen the viewer, who reads everything and changes nothing that others see."""
        return self.sanction is not None and self.sanction.state is State.FROZEN


VISITOR = Checked(Visitor())
# How much waits for a decision, and whether the viewer has a second factor.
OfStaff = tuple[Mapping[str, int | None], bool]

_uids_by_name: Hints[str] = Hints(1 << 16)  # 1 MB
# By secret: who was signed in with it when this process checked it last. An entry has 600 bytes, so all have 300 KB.
_last_checked: Memory[str, Checked] = Memory(size=500, seconds=300)
_staff: Memory[int, bool] = Memory(size=1000, seconds=3600)  # uids that had a role when they were read last


class Viewer:
    """The viewer of one request, `request.viewer`: a signed-in user or a visitor. `request.user` is its `user`."""

    def __init__(self, store: Store, shown: str | Proof, just_changed: Collection[int] = ()) -> None:
        """`shown`: the value of the sign-in cookie, empty when there is none, or what an app shows. `just_changed`:
        posts on which this browser has acted a moment ago."""
        self._store = store
        self.proof: Proof = SessionSecret(shown) if isinstance(shown, str) else shown
        self.secret = self.proof.secret
        self._checked = None if self.secret else VISITOR
        self.check: Callable[[User], object] = bool  # called once the viewer is known; may raise
        # Queues what the response needs of every page, in the next round trip of `ask`. Each try queues it anew.
        self.besides: Callable[[Pipe, int | None], object] = _nothing
        # Queues what the response needs of the authors of its posts, by uid, in the round trips that read the posts.
        self.about_authors: Callable[[Pipe, Collection[int]], object] | None = None
        self._site: Site | None = None
        self.way = Way.PASSWORD  # how the session was opened, once the viewer is known
        self.just_changed = just_changed
        self.asked = False  # whether the response depends on the viewer

    @property
    def checked(self) -> Checked:
        """What the check has found. No round trip without a cookie or after `ask`; else as for `ask`."""
        self.asked = True
        if self._checked is None:
            self.ask(lambda pipe, me: trip())
        assert self._checked is not None
        return self._checked

    @property
    def known(self) -> Checked | None:
        """What the check has found, or who was signed in here a while ago; None when this process knows neither. No
        round trip: for error pages."""
        return self._checked or last_checked(self.secret)

    @property
    def user(self) -> User | Visitor:
        """The signed-in user, or a Visitor. Round trips as for `checked`."""
        return self.checked.user

    @property
    def uid(self) -> int | None:
        """The uid of the signed-in user; None for a visitor. Round trips as for `checked`."""
        user = self.checked.user
        return user.uid if isinstance(user, User) else None

    @property
    def site(self) -> Site:
        """The site's own words. No round trip while they are cached or after `ask`, which asks for them; else one."""
        if self._site is None:
            self._site = answer(self._store, ask_site)
        return self._site

    @cached_property
    def shown_site(self) -> Site:
        """The same for the frame of a page, which must not fail because of them: as for `identity.shown_site`."""
        return self._site or shown_site(self._store)

    def require_user(self) -> User:
        """The signed-in user. Round trips as for `checked`. Raises NotSignedIn."""
        user = self.checked.user
        if isinstance(user, User):
            return user
        raise NotSignedIn

    @property
    def lacks_required_factor(self) -> bool:
        """Whether the viewer is staff, and the site keeps what is for staff closed until they have a second factor.
        Round trips as for `checked`."""
        checked = self.checked
        return checked.is_staff and not checked.has_factor and self.site.second_factor == FOR_STAFF

    @property
    def signed_in(self) -> bool:
        """Whether the viewer has been checked and is a user. No round trip: False while nothing was asked."""
        return self._checked is not None and isinstance(self._checked.user, User)

    def ask(self, make: Reader[T]) -> T:
        """The result of a reader. Its first round trip checks the viewer. Raises NotSignedIn for a token of an app that
        opens nothing.

        One round trip when the secret names the viewer's uid or it is cached, two when not, and those of the reader
        after its first. A wrong uid costs one more, a stale entry in `auths` too; each try makes a new reader. Once an
        hour, a session costs one more: its use is written; and for staff one more, while this process does not know
        their role. Raises StoreError.
        """
        self.asked = True
        for _ in range(TRIES):
            pipe = self._store.pipeline()
            site = ask_site(pipe)
            me = self.uid if self._checked is not None else self.proof.unchecked_uid(self._store)
            checking = begun(self._checking(pipe, me))
            self.besides(pipe, me)
            reading = begun(make(pipe, me))
            pipe.execute()
            self._site = site.value
            if rest(pipe, checking):
                self.besides = _nothing
                return rest(pipe, reading)
        raise StoreError("the account kept changing while the page was read; try again")

    def _checking(self, pipe: Pipe, me: int | None) -> Reading[bool]:
        """Whether the viewer has this uid, and so is known now. False when the proof leads to another, or to nobody."""
        if me is None and self._checked is None:
            self._take_for(None)
        if me is None or self._checked is not None:
            yield
            return True
        uid = self.proof.ask_uid(pipe)
        # PERSON and IMPOSED share two fields. They come twice, so that each is whole.
        fields = pipe.hmget(keys.user(me), [*PERSON, *IMPOSED, "role", "dismissed", *self.proof.fields])
        numbers = {name: ask_number(pipe, me) for name, ask_number in self.proof.numbers.items()}
        of_staff = ask_of_staff(pipe, me) if _staff.get(me) else None
        yield
        if uid is not None and uid.value != str(me):
            self._take_for(stored_id(keys.auths(), uid.value))
            return False
        about, more = fields.value[: len(PERSON)], fields.value[len(PERSON) :]
        imposed, (role, dismissed, *judging) = more[: len(IMPOSED)], more[len(IMPOSED) :]
        user, opened = person(me, about), self.proof.opened(judging)
        if user is None or opened is None:  # a stale entry in `auths`
            self._take_for(None)
            return False
        its_role = role_of(me, role)
        waiting, has_factor = ({}, False) if its_role is Role.MEMBER else self._of_staff(me, of_staff)
        self._checked = Checked(
            user,
            {name: number.value for name, number in numbers.items()},
            its_role,
            waiting,
            sanction_of(me, imposed),
            dismissed or "",
            has_factor,
            opened.scopes,
            opened.app,
        )
        if _last_checked.get(self.secret) != self._checked:
            _last_checked.put(self.secret, self._checked)
        self.way = opened.way
        self._note_use(me, opened)
        self.check(user)
        return True

    def _of_staff(self, me: int, asked: Result[OfStaff] | None) -> OfStaff:
        """What only the pages of staff need to know of the viewer. Nothing waits for one to whom these pages are closed
        until they have a second factor. One round trip when it was not asked yet."""
        _staff.put(me, True)
        waiting, has_factor = answer(self._store, ask_of_staff, me) if asked is None else asked.value
        is_open = has_factor or self.site.second_factor != FOR_STAFF
        return waiting if is_open else {}, has_factor

    def _note_use(self, me: int, opened: Opened) -> None:
        """Write the hour in which a session or token is used. One round trip an hour; else none. An app lives for as
        long as one of its tokens is used."""
        hour = present_hour()
        if not opened.used_in or opened.used >= hour:
            return
        with suppress(StoreReadOnly), self._store.pipeline() as pipe:  # a page is read from such a store all the same
            pipe.hset(keys.user(me), {opened.used_in: str(hour)})
            if opened.app:
                pipe.expire(keys.app(opened.app), keys.app.lives)

    def ask_as_user(self, make: UserReader[T]) -> tuple[User, T]:
        """The signed-in user, and the result of a reader for users alone. Round trips as for `ask`. Raises
        NotSignedIn."""
        found = self.ask(partial(_for_user, make))
        return self.require_user(), found

    def ask_about(self, name: str, make: ReaderAbout[T]) -> tuple[User, T]:
        """The user with this name, and the result of a reader about that user.

        Round trips as for `ask`; one more when the uid of the name is not cached. Raises NoSuchUser, AccountDeleted.
        """
        for _ in range(TRIES):
            found = self.ask(partial(_about, make, name, self._unchecked_owner(name)))
            if found is not None:
                return found
            _uids_by_name.forget(name)
        raise StoreError(f"the name {name!r} kept changing its owner while the page was read; try again")

    def find(self, name: str) -> User:
        """The user with this name. Round trips and errors as for `ask_about`."""
        user, _ = self.ask_about(name, lambda pipe, me, them: trip())
        return user

    def _take_for(self, uid: int | None) -> None:
        """Go on with the uid to which `auths` leads from the secret."""
        self.proof.leads_to(uid)
        if uid is None:
            if last_checked(self.secret) is not None:
                _last_checked.forget(self.secret)
            self.proof.opens_nothing()
            self._checked = VISITOR

    def _unchecked_owner(self, name: str) -> int:
        """The uid that the name leads to, not yet checked. At most one round trip. Raises NoSuchUser."""
        uid = _uids_by_name.get(name)
        if uid is None:
            uid = Users(self._store).find(name)
            if uid is None:
                raise entities.NoSuchUser(name)
            _uids_by_name.put(name, uid)
        return uid


def ask_of_staff(pipe: Pipe, me: int) -> Result[OfStaff]:
    waiting, has_factor = ask_waiting(pipe), ask_has_factor(pipe, me)
    return Result(lambda: (waiting.value, has_factor.value))


def last_checked(secret: str) -> Checked | None:
    """Who was signed in with this secret when this process checked it last, at most five minutes ago. Without numbers
    and sanctions: these change, and what is shown must be true. No round trip."""
    checked = _last_checked.get(secret)
    return checked and Checked(checked.user, role=checked.role, dismissed=checked.dismissed)


def _nothing(pipe: Pipe, me: int | None) -> None:
    """Asks nothing besides."""


def _for_user(make: UserReader[T], pipe: Pipe, me: int | None) -> Reading[T]:
    """The reader for a user. Raises NotSignedIn for a visitor, who is known to be one by now."""
    if me is None:
        raise NotSignedIn
    return make(pipe, me)


def _about(make: ReaderAbout[T], name: str, them: int, pipe: Pipe, me: int | None) -> Reading[tuple[User, T] | None]:
    """The user `them` and the result of the reader; None when the name is not theirs. Raises NoSuchUser,
    AccountDeleted, AccountSuspended."""
    owner, fields = ask_owner(pipe, name), pipe.hmget(keys.user(them), PERSON)
    reading = begun(make(pipe, me, them))
    yield
    if owner.value != them:
        return None
    return _user(them, name, fields.value), (yield from reading)


def _user(uid: int, name: str, fields: list[str | None]) -> User:
    user = person(uid, fields)
    if user is not None:
        return user
    username, _, deleted, *_ = fields
    if username is None:
        raise entities.NoSuchUser(name)
    raise entities.AccountSuspended(name) if deleted is None else entities.AccountDeleted(name)
