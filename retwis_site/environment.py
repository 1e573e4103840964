"""How settings are read from the environment: each by its kind, which refuses a text that it does not know."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured
from dotenv.parser import parse_stream

T = TypeVar("T")
Parse = Callable[[str], T]  # makes the value of a text; raises ValueError, whose text says what to set

TOO_LATE = {"PYTHONPATH", "DJANGO_SETTINGS_MODULE"}  # what Python and Django read before settings.py
ENDS_GUNICORN = 4  # exit code: gunicorn ends too, and does not start such a worker again and again
_HOST = r"(\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])"

_NOT_KEPT = re.compile(r"""[\s\\"']""")  # of a value, by one program or the other that reads the file

SETTINGS: dict[str, str] = {}  # name -> default, of all that were read

# ---- The kinds


def switch(value: str) -> bool:
    if value.lower() not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise ValueError("Set 1 or 0.")
    return value.lower() in {"1", "true", "yes", "on"}


def number(lowest: int, highest: int = 999_999_999) -> Parse[int]:
    def read(value: str) -> int:
        if not (re.fullmatch("[0-9]{1,9}", value) and lowest <= int(value) <= highest):
            raise ValueError(f"Set a whole number from {lowest} to {highest}.")
        return int(value)

    return read


def memory(value: str) -> int:
    """Bytes, as Redis's own `maxmemory` is written: `512mb`."""
    found = re.fullmatch("([0-9]{1,9})(|kb|mb|gb)", value.lower())
    if found is None:
        raise ValueError("Set a number of bytes, such as 512mb or 2gb.")
    return int(found[1]) << 10 * ["", "kb", "mb", "gb"].index(found[2])


def one_of(*known: str) -> Parse[str]:
    def read(value: str) -> str:
        if value not in known:
            raise ValueError(f"Set one of: {', '.join(known)}.")
        return value

    return read


def matching(pattern: str, such: str) -> Parse[str]:
    """Texts of a form, in any letter case; an empty one too."""

    def read(value: str) -> str:
        if value and not re.fullmatch(pattern, value, re.IGNORECASE | re.ASCII):
            raise ValueError(f"Set {such}.")
        return value

    return read


host = matching(_HOST, "names of hosts, such as retwis.example,www.retwis.example")
origin = matching(rf"https?://\*?{_HOST}(:[0-9]+)?", "origins, such as https://retwis.example")


def network(value: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(value)
    except ValueError as error:
        raise ValueError(f"{error}. Set networks, such as 10.0.0.0/8,fd00::/8.") from error


def list_of(kind: Parse[T]) -> Parse[list[T]]:
    """Values with commas between them."""
    return lambda value: [kind(part) for part in map(str.strip, value.split(",")) if part]


# ---- Reading


def env(name: str, kind: Parse[T], default: str = "") -> T:
    """The setting of this name; an empty variable counts as none. Raises ImproperlyConfigured."""
    SETTINGS[name] = default
    return _read(name, kind, os.environ.get(name, "").strip() or default)


def env_family(prefix: str, kind: Parse[T]) -> dict[str, T]:
    """By the rest of their names, all settings whose names begin so. Raises ImproperlyConfigured."""
    given = {name: value for name in os.environ if name.startswith(prefix) and (value := os.environ[name].strip())}
    SETTINGS.update(dict.fromkeys(given, ""))
    return {name.removeprefix(prefix).lower(): _read(name, kind, value) for name, value in given.items()}


def _read(name: str, kind: Parse[T], value: str) -> T:
    try:
        return kind(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={value!r} is not valid. {error}") from error


def read_env_file(path: str) -> set[str]:
    """Add the variables of a file in dotenv form to the environment; a variable that is set already keeps its value.
    Returns their names.

    Values are taken as they are written: `${...}` is not replaced. Raises ImproperlyConfigured for a file that cannot
    be read, for a line that is no setting (python-dotenv would leave it out, and the site would run without it), for a
    name that an earlier line has (the last one counts for systemd), for a value of which systemd has made another one,
    and for a variable that comes TOO_LATE, unless the environment has it too."""
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            lines = list(parse_stream(file))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ImproperlyConfigured(f"RETWIS_ENV_FILE={path!r} cannot be read: {reason}.") from error
    first: dict[str, int] = {}  # name -> the number of its line
    for line in lines:
        where = f"RETWIS_ENV_FILE={path!r}, line {line.original.line}"
        if line.error or (line.key is not None and line.value is None) or "\0" in line.original.string:
            raise ImproperlyConfigured(f"{where}: write NAME=value.")
        if line.key is None or line.value is None:
            continue
        if line.key in first:
            raise ImproperlyConfigured(f"{where}: line {first[line.key]} has set {line.key}. Remove one of the two.")
        first[line.key] = line.original.line
        if _is_read_differently(line.original.string, line.value, os.environ.get(line.key)):
            raise ImproperlyConfigured(
                f"{where}: systemd takes another value of {line.key} from it. Write a comment into a line of its own, "
                "and the value without backslashes."
            )
        if line.key in TOO_LATE and os.environ.get(line.key) != line.value:
            raise ImproperlyConfigured(
                f"RETWIS_ENV_FILE={path!r} has {line.key}, and is read too late for it. Set it in the environment."
            )
    for line in lines:
        if line.key is not None and line.value is not None:
            os.environ.setdefault(line.key, line.value)
    return set(first)


def _is_read_differently(line: str, value: str, given: str | None) -> bool:
    """Whether the environment has another value, of the same characters: that of a unit's EnvironmentFile=, which
    takes a comment behind a value for a part of it. The site's web processes would differ from its commands."""
    if given is None or "".join(given.split()) == "".join(value.split()):
        return False
    written = line.partition("=")[2]
    return _NOT_KEPT.sub("", given) == _NOT_KEPT.sub("", written)


def refuse_misspelt(names: set[str]) -> None:
    """Refuse a name that is nearly that of a setting; others may be for other programs. Raises ImproperlyConfigured."""
    for name in sorted(names - SETTINGS.keys() - TOO_LATE):
        for meant in get_close_matches(name.upper(), SETTINGS, n=1, cutoff=0.85):
            raise ImproperlyConfigured(f"{name} is no setting of the site. Is {meant} meant?")


@contextmanager
def ending_in_one_line() -> Iterator[None]:
    """Where a setting is wrong, end the process with a line that says so, and no traceback."""
    try:
        yield
    except ImproperlyConfigured as error:
        sys.stderr.write(f"Retwis cannot start: {error}\n")
        sys.exit(ENDS_GUNICORN)
