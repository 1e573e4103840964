"""The sessions of a user, as fields of the user's hash. The tokens of apps are kept in the same way.

`session:<secret>` is `<since>:<generation>:<browser>:<system>`. It stands while its generation is the user's own, the
field `generation`: so one HSET, which changes that field, ends all sessions. `used:<secret>` is the hour of the last
use. It says nothing about whether a session stands: so a page that writes it late brings no ended session back.

How a session was opened stands behind the system, `Linux/passkey`: an older version of the site takes it for a part of
the system's name.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeVar

from django.utils.translation import gettext as _

from accounts.users.entities import Verified
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Result
from retwis_site.store.ids import digest_of, parse_number

# ---- What a login was made with, from the User-Agent header: "Firefox on Linux".
#
# Only names of these tables are stored, so a hostile header can bring nothing into the store.


LONGEST_READ = 500  # characters of a header
# Parts of the header, with what they stand for. The first that is found wins: most browsers also name older ones.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Vivaldi/": "Vivaldi",
    "YaBrowser/": "Yandex Browser",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Chromium/": "Chrome",
    "Safari/": "Safari",
    "Lynx/": "Lynx",
    "w3m/": "w3m",
    "curl/": "curl",
}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Macintosh": "macOS",
    "FreeBSD": "FreeBSD",
    "OpenBSD": "OpenBSD",
    "Linux": "Linux",
}


class Device(NamedTuple):
    """A browser and its system by name; empty where they are not known."""

    browser: str = ""
    system: str = ""

    def in_words(self) -> str:
        """Such as "Firefox on Linux"; empty where nothing is known."""
        if self.browser and self.system:
            return _("%(browser)s on %(system)s") % self._asdict()
        return self.browser or self.system


def device_of(user_agent: str) -> Device:
    read = user_agent[:LONGEST_READ]
    return Device(_first(BROWSERS, read), _first(SYSTEMS, read))


def _first(names: dict[str, str], text: str) -> str:
    return next((name for part, name in names.items() if part in text), "")


# ---- Sessions


class Way(StrEnum):
    """How a session was opened."""

    PASSWORD = ""
    PASSKEY = "passkey"
    WITH_CODE = "password+code"
    WITH_PASSKEY = "password+passkey"
    WITH_RECOVERY_CODE = "password+recovery"


_WAYS = {way.value: way for way in Way}

MOST_SESSIONS = 30  # of a user; a login after that ends the one that was used least recently
AN_HOUR = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Session:
    """One login on one device. Times are unix seconds."""

    secret: str = field(repr=False)
    since: int
    used: int  # to the hour
    browser: str
    opened_on: str  # the system; behind it `/<way>`, when it was not opened by a password alone

    @property
    def device(self) -> Device:
        return Device(self.browser, self.opened_on.partition("/")[0])

    @property
    def way(self) -> Way:
        return _WAYS.get(self.opened_on.partition("/")[2], Way.PASSWORD)

    @property
    def number(self) -> str:
        """Names the session on pages, which must not have its secret: 16 hex digits."""
        return digest_of(self.secret)[:16]


def new_value(verified: Verified, device: Device) -> str:
    """The field of a session that begins."""
    since = int(time.time()) if verified.since is None else verified.since
    way = verified.way and f"/{verified.way}"
    return f"{since}:{verified.generation}:{device.browser}:{device.system}{way}"


def present_hour() -> int:
    return int(time.time()) // AN_HOUR * AN_HOUR


# ---- Sessions and tokens alike: two fields of a user's hash for each.


class Used(Protocol):
    """A session or a token."""

    @property
    def since(self) -> int: ...
    @property
    def used(self) -> int: ...


T = TypeVar("T", bound=Used)


@dataclass(frozen=True)
class FieldPairs(Generic[T]):
    """The first field of a pair says what it is: `<since>:<generation>:` and two texts. The second one is the hour of
    its last use. Behind the beginning of their names, both have the name of the pair: a secret or a digest."""

    first: str  # what the names of the fields begin with
    second: str
    most: int  # of a user
    # From the name, since when, the hour of the last use, and the texts; None when it has ended by its age.
    read: Callable[[str, int, int, str, str], T | None]

    def asked(self, name: str) -> tuple[str, str, str]:
        """The fields of a user that say whether a pair stands."""
        return "generation", f"{self.first}{name}", f"{self.second}{name}"

    def field(self, name: str) -> str:
        """The first field of a pair, without which it does not stand."""
        return self.asked(name)[1]

    def standing(self, name: str, generation: str | None, value: str | None, used: str | None) -> T | None:
        """From these fields; None when it has ended, or when the value is none of this site's."""
        parts = (value or "").split(":", 3)
        if len(parts) != 4:
            return None
        since, made_in, one, other = parts
        began = parse_number(since)
        if began is None or made_in != (generation or ""):
            return None
        last = max(began // AN_HOUR * AN_HOUR, parse_number(used or "") or 0)
        return self.read(name, began, last, one, other)

    def standing_in(self, fields: Mapping[str, str]) -> dict[str, T]:
        """Those that stand, by name, from all fields of a user: the most recently used first. None of a deleted
        account."""
        if "deleted" in fields:
            return {}
        names = [field.removeprefix(self.first) for field in fields if field.startswith(self.first)]
        asked = {name: self.standing(name, *map(fields.get, self.asked(name))) for name in names}
        found = [(one.used, one.since, name, one) for name, one in asked.items() if one is not None]
        return {name: one for *_, name, one in sorted(found, reverse=True)}

    def ended_in(self, fields: Mapping[str, str]) -> set[str]:
        """The names of those that have ended and still have fields."""
        names = {field.partition(":")[2] for field in fields if field.startswith((self.first, self.second))}
        return names - self.standing_in(fields).keys()

    def too_many_in(self, fields: Mapping[str, str], kept: str = "") -> list[str]:
        """The names of those beyond the most that a user may have, used least recently. `kept`: one that stays."""
        standing = self.standing_in(fields)
        return [name for name in standing if name != kept][self.most - (kept in standing) :]

    def ask_ended(self, pipe: Pipe, uid: int) -> Result[bool]:
        """Whether a user has fields of those that have ended. `AccountChecks` finds the fields of deleted accounts."""
        fields = pipe.hgetall(keys.user(uid))
        return Result(lambda: "deleted" not in fields.value and bool(self.ended_in(fields.value)))


SESSIONS = FieldPairs("session:", "used:", MOST_SESSIONS, Session)
