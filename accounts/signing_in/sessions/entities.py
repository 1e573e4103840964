"""The sessions of a user, as fields of the user's hash.

`session:<secret>` is `<since>:<generation>:<browser>:<system>`. It stands while its generation is the user's own, the
field `generation`: so one HSET, which changes that field, ends all sessions. `used:<secret>` is the hour of the last
use. It says nothing about whether a session stands: so a page that writes it late brings no ended session back.

How a session was opened stands behind the system, `Linux/passkey`: an older version of the site takes it for a part of
the system's name.
"""

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from accounts.users.entities import Verified
from retwis_site.store.ids import parse_number

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


SESSION, USED = "session:", "used:"  # what the names of the fields begin with
MOST_SESSIONS = 30  # of a user; a login after that ends the one that was used least recently
AN_HOUR = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Session:
    """One login on one device. Times are unix seconds."""

    secret: str = field(repr=False)
    since: int
    used: int  # to the hour
    device: Device
    way: Way = Way.PASSWORD

    @property
    def number(self) -> str:
        """Names the session on pages, which must not have its secret: 16 hex digits."""
        return hashlib.sha256(self.secret.encode(errors="replace")).hexdigest()[:16]


def new_value(verified: Verified, device: Device) -> str:
    """The field of a session that begins."""
    since = int(time.time()) if verified.since is None else verified.since
    way = verified.way and f"/{verified.way}"
    return f"{since}:{verified.generation}:{device.browser}:{device.system}{way}"


def present_hour() -> int:
    return int(time.time()) // AN_HOUR * AN_HOUR


def asked_fields(secret: str) -> Sequence[str]:
    """The fields of a user that say whether this secret opens a session."""
    return ("auth", "generation", f"{SESSION}{secret}", f"{USED}{secret}")


_WAYS = {way.value: way for way in Way}


def standing(secret: str, value: str | None, used: str | None, generation: str | None) -> Session | None:
    """A session from its two fields; None when it has ended, or when the value is none of this site's."""
    parts = (value or "").split(":")
    if len(parts) != 4:
        return None
    since, made_in, browser, last_part = parts
    system, _, way = last_part.partition("/")
    began = parse_number(since)
    if began is None or made_in != (generation or ""):
        return None
    last = max(began // AN_HOUR * AN_HOUR, parse_number(used or "") or 0)
    return Session(secret, began, last, Device(browser, system), _WAYS.get(way, Way.PASSWORD))


def sessions_in(fields: Mapping[str, str]) -> list[Session]:
    """The sessions that stand, from all fields of a user: the most recently used first. None of a deleted account."""
    if "deleted" in fields:
        return []
    generation = fields.get("generation")
    found = [
        session
        for name, value in fields.items()
        if name.startswith(SESSION)
        for secret in [name.removeprefix(SESSION)]
        if (session := standing(secret, value, fields.get(f"{USED}{secret}"), generation)) is not None
    ]
    return sorted(found, key=lambda session: (session.used, session.since, session.secret), reverse=True)


def ended_in(fields: Mapping[str, str]) -> set[str]:
    """The secrets of the sessions that have ended and still have fields."""
    secrets = {name.partition(":")[2] for name in fields if name.startswith((SESSION, USED))}
    return secrets - {session.secret for session in sessions_in(fields)}


def too_many_in(fields: Mapping[str, str], kept: Collection[str] = ()) -> list[str]:
    """The secrets of the sessions beyond MOST_SESSIONS, those used least recently. `kept`: secrets that stay."""
    sessions = sessions_in(fields)
    others = [session.secret for session in sessions if session.secret not in kept]
    return others[max(MOST_SESSIONS - (len(sessions) - len(others)), 0) :]
