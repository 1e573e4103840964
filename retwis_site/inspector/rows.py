"""Commands as rows of HTML.

A page sends some thirty commands, and its inspector must take little of the page's time. So a row is made once for each
pattern: the same command for the same kind of key, asked for by the same method. Only the id differs. The rows of whole
round trips are kept too.
"""

import secrets
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from retwis_site.inspector.steps import SentCommand, sent_command
from retwis_site.rendering.fragments import EITHER, Fragment
from retwis_site.store.connection.recorder import Command
from retwis_site.telemetry.redaction import HIDDEN

COMMAND = Fragment(
    "retwis_site/inspector/_command.html",
    slots=("name", "address", "key", "arguments", "asker", "complexity"),
    shape={"linked": EITHER},
)
MOST_PATTERNS = 4000  # 5 MB
MOST_ROUND_TRIPS = 500  # at most 10 MB, and mostly 3 MB
LONGEST_ROUND_TRIP = 60  # commands; one with more is made each time
LONGEST_PATTERN = 60  # parts of a command; one with more is made each time

_ID = f"id{secrets.token_hex(16)}"  # stands for the id. Nobody can guess it, so no text of a command has it


class _Pattern(NamedTuple):
    """The pieces of a row around the id in its address and the id in its key. `asker`: the code whose id is a part of
    the pattern's key, so it must stay."""

    before: bytes
    between: bytes
    after: bytes
    asker: object


_round_trips: dict[tuple[object, ...], bytes] = {}
_patterns: dict[tuple[object, ...], _Pattern] = {}


def rows(commands: tuple[Command, ...]) -> bytes:
    """The rows of the commands of a round trip. A viewer's next page often sends the same ones."""
    identity = (commands, tuple([id(getattr(command, "code", None)) for command in commands]))
    kept = _round_trips.get(identity)
    if kept is None:
        kept = _made(commands)
        if len(commands) <= LONGEST_ROUND_TRIP:
            if len(_round_trips) >= MOST_ROUND_TRIPS:
                _round_trips.clear()
            _round_trips[identity] = kept
    return kept


def _made(commands: Iterable[Command]) -> bytes:
    made: list[bytes] = []
    for command in commands:
        key = str(command[1]) if len(command) > 1 else ""
        kind, _, number = key.rpartition(":")
        if not (number.isdecimal() and number.isascii()):
            kind, number = key, ""
        code = getattr(command, "code", None)
        identity = (command[0], kind, command[2:], id(code))
        pattern = _patterns.get(identity)
        if pattern is None:
            pattern = _pattern(command, kind, number)
            if len(command) <= LONGEST_PATTERN:
                _keep(identity, pattern)
        before, between, after, _ = pattern
        digits = number.encode() if between else b""
        made += (before, digits, between, digits, after)
    return b"".join(made)


def kept_rows(commands: Iterable[SentCommand]) -> bytes:
    """The rows of commands that another process has sent."""
    return b"".join(map(_row, commands))


def _row(command: SentCommand) -> bytes:
    linked = command.key != "" and HIDDEN not in command.key
    return COMMAND.fill_as_sent(
        "en",  # it has no words
        linked=linked,
        name=command.name,
        key=command.key,
        address=quote(command.key, safe=":") if linked else "",
        arguments=" ".join(command.arguments),
        asker=command.asker,
        complexity=command.complexity,
    )


def _pattern(command: Command, kind: str, number: str) -> _Pattern:
    shown = sent_command(command)
    if number and shown.key == f"{kind}:{number}":
        shown = shown._replace(key=f"{kind}:{_ID}")
    *around, after = _row(shown).split(_ID.encode())
    before, between = around or (b"", b"")
    return _Pattern(before, between, after, getattr(command, "code", None))


def _keep(identity: tuple[object, ...], pattern: _Pattern) -> None:
    if len(_patterns) >= MOST_PATTERNS:
        _patterns.clear()
    _patterns[identity] = pattern
