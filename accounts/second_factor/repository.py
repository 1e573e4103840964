"""The second factors of users: an authenticator app (TOTP, RFC 6238) and passkeys.

`credentials:<uid>` has a field for each; one HSETNX adds it, one HDEL removes it. `factor_uses:<uid>` has what each has
served last, as a score that only grows: ZADD with GT and CH tells one of two requests at once that it was first. That
command comes before whatever it allows. So a process that dies between them has spent a code, and opened nothing.
"""

import json
import time
from collections.abc import Mapping
from typing import NamedTuple

import pyotp
from django.utils.translation import gettext_lazy as _
from webauthn.helpers import base64url_to_bytes

from accounts.recovery.codes import codes_in
from accounts.signing_in.factors import PASSKEY, TOTP, use_of
from accounts.signing_in.sessions.repository import StoredPassword, ask_stored, ask_stored_password
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import Refused, User
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Repository, Result, trip
from retwis_site.store.ids import note_bad, parse_number

DRIFT = 1  # steps of 30 seconds by which the clock of a phone may differ
DIGITS = 6
MOST_PASSKEYS = 20  # of a user


class Totp(NamedTuple):
    """An authenticator app. `since`: unix seconds."""

    secret: str  # base32
    since: int

    @property
    def use(self) -> str:
        """Its member of `factor_uses:<uid>`."""
        return use_of(TOTP, f":{self.secret}")


class Passkey(NamedTuple):
    """A passkey. `id` and `key`, the public key, are base64url; `since`: unix seconds."""

    id: str
    name: str
    key: str
    since: int

    @property
    def use(self) -> str:
        """Its member of `factor_uses:<uid>`."""
        return use_of(f"{PASSKEY}{self.id}", "")


class Factors(NamedTuple):
    """What a user has beside the password. `is_empty` and `damaged` tell of fields that cannot be read, too: while
    there is one, the password alone opens nothing."""

    totp: Totp | None = None
    passkeys: tuple[Passkey, ...] = ()  # the oldest first
    damaged: tuple[str, ...] = ()  # the names of these fields

    @property
    def is_empty(self) -> bool:
        return self == Factors()


class AlreadyThere(Refused):
    """Another request has added it."""

    message = _("You have added this already.")


class TooManyPasskeys(Refused):
    """There are MOST_PASSKEYS."""

    message = _("You have too many passkeys. Remove one that you no longer use.")


# ---- Reading


def ask_factors(pipe: Pipe, uid: int) -> Result[Factors]:
    """The factors of a user."""
    stored = pipe.hgetall(keys.credentials(uid))
    return Result(lambda: factors_in(uid, stored.value))


def factors_in(uid: int, stored: Mapping[str, str]) -> Factors:
    """The factors, from all fields of `credentials:<uid>`."""
    totp, passkeys, damaged = None, [], []
    for field, value in stored.items():
        read = _totp(value) if field == TOTP else _passkey(field, value)
        if isinstance(read, Totp):
            totp = read
        elif read is not None:
            passkeys.append(read)
        else:
            note_bad(keys.credentials(uid), field)
            damaged.append(field)
    return Factors(totp, tuple(sorted(passkeys, key=lambda one: (one.since, one.id))), tuple(sorted(damaged)))


def _totp(value: str) -> Totp | None:
    since, _, secret = value.partition(":")
    when = parse_number(since)
    return Totp(secret, when) if when is not None and is_secret(secret) else None


def is_secret(text: str) -> bool:
    """Whether it is the secret of an app."""
    try:
        return len(pyotp.TOTP(text).byte_secret()) >= 10
    except ValueError:
        return False


def _passkey(field: str, value: str) -> Passkey | None:
    try:
        stored = json.loads(value)
        passkey = Passkey(field.removeprefix(PASSKEY), stored["name"], stored["key"], stored["since"])
        base64url_to_bytes(passkey.id)  # a browser is told of it: raises for what is no id
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    fits = isinstance(passkey.name, str) and isinstance(passkey.key, str) and type(passkey.since) is int
    return passkey if fits and field.startswith(PASSKEY) else None


def stored_passkey(passkey: Passkey) -> dict[str, str]:
    """The field of a passkey."""
    told = {"name": passkey.name, "key": passkey.key, "since": passkey.since}
    return {f"{PASSKEY}{passkey.id}": json.dumps(told, ensure_ascii=False, separators=(",", ":"))}


class Own(NamedTuple):
    """What the page of one's factors shows."""

    me: User
    factors: Factors
    codes_left: int


def own_factors(viewer: Viewer) -> Own:
    """The factors of the signed-in user. Round trips as for `Viewer.ask`. Raises NotSignedIn."""
    me, [factors, stored] = viewer.ask_as_user(lambda pipe, me: trip(ask_factors(pipe, me), ask_stored(pipe, me)))
    return Own(me, factors, len(codes_in(stored)))


# ---- Using and changing


class SecondFactors(Repository):
    """The factors of all users."""

    def account(self, uid: int) -> tuple[StoredPassword | None, Factors]:
        """What an account has for a login, as `ask_stored_password`, and its factors. One round trip."""
        with self._store.pipeline() as pipe:
            password, factors = ask_stored_password(pipe, uid), ask_factors(pipe, uid)
        return password.value, factors.value

    def take_code(self, uid: int, totp: Totp, typed: str) -> bool:
        """Take the code that an app shows now; False for a wrong one, and for one of the same or an earlier step than
        the last that was taken. At most two round trips; three for an account that is deleted meanwhile: False."""
        return self._take(uid, totp, typed) and self._is_kept(uid)

    def add_totp(self, uid: int, secret: str, typed: str) -> bool:
        """Let an app count from now on, when the code is the one that it shows; False for a wrong code. Three round
        trips, five for an account that is deleted meanwhile. Raises AlreadyThere, when the user has one: of a form that
        comes twice the code is spent, and to call it wrong would be no help.

        The commit is HSETNX. The code is taken before it, and serves for nothing else.
        """
        totp = Totp(secret, int(time.time()))
        if not self._take(uid, totp, typed):
            if self._store.hget(keys.credentials(uid), TOTP) is not None:
                raise AlreadyThere
            return False
        self._add(uid, {TOTP: f"{totp.since}:{secret}"})
        return True

    def remove_totp(self, uid: int) -> None:
        """Remove the app; its codes open nothing any more. One round trip. What it has served last stays, as in
        `remove_factors`."""
        self._store.hdel(keys.credentials(uid), TOTP)

    def add_passkey(self, uid: int, passkey: Passkey, counter: int) -> None:
        """Add a passkey, whose counter is as it was told with it. Four round trips, six for an account that is deleted
        meanwhile. Raises AlreadyThere, TooManyPasskeys."""
        if self._store.hlen(keys.credentials(uid)) > MOST_PASSKEYS:  # and the app
            raise TooManyPasskeys
        if counter:
            self._store.zadd_gt(keys.factor_uses(uid), passkey.use, counter)
        self._add(uid, stored_passkey(passkey))

    def remove_passkey(self, uid: int, passkey: str) -> None:
        """Remove a passkey, by its id. As for `remove_totp`."""
        self._store.hdel(keys.credentials(uid), f"{PASSKEY}{passkey}")

    def take_passkey(self, uid: int, passkey: Passkey, challenge: str, counter: int) -> bool:
        """Take a verified answer of a passkey to a challenge. False when the challenge was answered before, or when the
        passkey counts and its counter has not grown: it was copied. At most two round trips, four for an account that
        is deleted meanwhile: False.

        Both commands must say yes, in any order. A process that dies between them has spent the challenge.
        """
        uses = keys.factor_uses(uid)
        with self._store.pipeline() as pipe:
            is_first = pipe.set_nx_ex(keys.challenge(challenge), str(uid), keys.challenge.lives)
            used = pipe.zadd_gt(uses, passkey.use, counter) if counter else pipe.zscore(uses, passkey.use)
        has_grown = bool(used.value) if counter else used.value is None  # one without a counter never had one
        return bool(is_first.value) and has_grown and self._is_kept(uid)

    def _take(self, uid: int, totp: Totp, typed: str) -> bool:
        step = step_of(totp.secret, typed)
        return step is not None and bool(self._store.zadd_gt(keys.factor_uses(uid), totp.use, step))

    def _add(self, uid: int, field: Mapping[str, str]) -> None:
        [(name, value)] = field.items()
        if not self._store.hsetnx(keys.credentials(uid), name, value):
            raise AlreadyThere
        self._is_kept(uid)

    def _is_kept(self, uid: int) -> bool:
        return Users(self._store).keeps(uid, keys.credentials(uid), keys.factor_uses(uid))


def step_of(secret: str, typed: str) -> int | None:
    """The time step whose code was typed, near the present one; None for a wrong code. The digits of any script count,
    with or without spaces."""
    if not is_code(typed):
        return None
    digits = "".join(str(int(char)) for char in typed if char.isdecimal())
    try:
        return pyotp.TOTP(secret).verify_and_get_timecode(digits, for_time=time.time(), valid_window=DRIFT)
    except pyotp.OTPVerificationError:
        return None


def is_code(typed: str) -> bool:
    """Whether it looks like the code of an app: six digits, and spaces."""
    return len(typed) <= 4 * DIGITS and sum(map(str.isdecimal, typed)) == DIGITS == len("".join(typed.split()))
