"""What may be shown of a command and of a key: of kinds and fields that are shown in commands, as the table says.

Hidden are secrets (passwords, sessions, codes, links), and what the keys hold that only some people may read (reports,
the log of staff, `blocked:`). Of jobs the kind and the ids are shown.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from retwis_site.store.commands import FACTS, Arguments
from retwis_site.store.connection.recorder import KEY_IS_SECOND, KEYLESS, Command, Recording, RoundTrip
from retwis_site.store.ids import parse_id
from retwis_site.store.keys import damaged, staff
from retwis_site.store.kinds import COMMANDS, Kind, is_ours, kind_of, unprefixed

HIDDEN = "•••"
LONGEST = 60  # characters of one argument
MOST_ARGUMENTS = 30

_EACH = {Arguments.FIELDS: 1, Arguments.PAIRS: 2}  # which of the arguments are names of fields: all, or each second one
_FLAGS = {"NX", "XX", "GT", "LT", "CH", "INCR"}  # of ZADD, before the first score

_PLAIN_FIELD = re.compile(r"[a-z_]{1,20}")
# Numbers, and words by which commands are told how: no secret looks like that. Secrets of digits alone are longer.
_HARMLESS = re.compile(
    r"[-+(]?(?:\d{1,20}|inf)(?:\.\d+)?|NX|XX|EX|PX|LIMIT|COUNT|MATCH|WITHSCORES|REPLACE|AFTER|BEFORE|GET|USAGE|ENCODING"
)


def shown_key(key: str) -> str:
    """The key, with what is secret in it hidden, as its kind says: the token of a form, the hash of a link, code or
    token, the name of a job, and the address of a client. Of `damaged:` ones the end is the name of another key."""
    kind = kind_of(key)
    if kind is None:
        return damaged(HIDDEN) if is_ours(key) else HIDDEN
    if not kind.hides:
        return key
    secret = unprefixed(key).removeprefix(kind.start).split(":", kind.parts.index(kind.hides))[-1]
    is_shown = kind.hides == "who" and parse_id(secret) is not None
    shown = shown_job(secret) if kind.hides == "job" else secret if is_shown else HIDDEN
    return f"{key.removesuffix(secret)}{shown}"


def shown_job(name: str) -> str:
    """The name of a job with its kind and ids. Its other parts may be secrets: that of a logout ends with one."""
    kind, *rest = name.split(":")
    return ":".join([kind, *(part if parse_id(part) is not None else HIDDEN for part in rest)])


class ShownCommand(NamedTuple):
    """A command as it may be shown."""

    name: str  # such as `GET` or `MEMORY USAGE`
    key: str  # empty for a command without a key; a key with a secret in it has HIDDEN there
    arguments: tuple[str, ...]  # those after the key; what is secret is HIDDEN
    asker: str  # the method that asked for it, such as `Homes.page`; empty when nobody has watched

    @property
    def complexity(self) -> str:
        """As Redis documents it, such as `O(log(N))`."""
        facts = FACTS.get(self.name.partition(" ")[0])
        return facts.complexity if facts else ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.key, *self.arguments)))


def shown_command(command: Command) -> ShownCommand:
    """A command of this process as it may be shown."""
    name, asker = str(command[0]), getattr(command, "asker", "")
    if name in KEY_IS_SECOND:
        return ShownCommand(f"{name} {command[1]}", shown_key(str(command[2])), (), asker)
    return ShownCommand(name, "" if name in KEYLESS else shown_key(str(command[1])), shown_arguments(command), asker)


def shown_round_trips(recorded: Recording) -> list[RoundTrip[ShownCommand]]:
    """The round trips of a recording, in order. Those of `watching()` have askers and bytes."""
    return [
        RoundTrip(tuple(map(shown_command, one.commands)), one.number, one.seconds, one.sent, one.received)
        for one in recorded.round_trips
    ]


def logged_command(command: Command) -> str:
    """The command for the log, which has less than a page: of keys the kind and ids, of arguments numbers, and names of
    fields. No text that anybody has typed."""
    name, key, arguments, _ = shown_command(command)
    kind = kind_of(key)
    step = _EACH.get(_named_in(name), 0) if kind and kind.fields and kind.shown >= COMMANDS else 0
    logged = [
        text if _HARMLESS.fullmatch(text) or (step and place % step == 0) else HIDDEN
        for place, text in enumerate(arguments)
    ]
    return " ".join(filter(None, (name, shown_job(unprefixed(key)), *logged)))


def shown_arguments(command: Command) -> tuple[str, ...]:
    """What may be shown of the arguments after the key."""
    name, arguments = str(command[0]), command[1:] if command[0] in KEYLESS else command[2:]
    kind = kind_of(str(command[1])) if len(command) > 1 and name not in KEYLESS else None
    shown = tuple(cut(argument, LONGEST) for argument in _shown(name, kind, arguments[: MOST_ARGUMENTS + 1]))
    return (*shown[:MOST_ARGUMENTS], "…") if len(shown) > MOST_ARGUMENTS else shown


def shown_field(kind: Kind | None, name: str) -> str:
    """The name of a field of a hash of this kind. Those of sessions and codes have a secret after a colon."""
    if _is_open(kind):
        return name
    if kind is None or not kind.fields or kind.shown < COMMANDS:
        return name if kind is staff and name.isdigit() else HIDDEN
    first, colon, _ = name.partition(":")
    return f"{first}:{HIDDEN}" if colon else name if _PLAIN_FIELD.fullmatch(name) else HIDDEN


def _is_open(kind: Kind | None) -> bool:
    """Whether all that a command on it says is shown."""
    return kind is not None and kind.shown >= COMMANDS and not kind.fields


def _shown(name: str, kind: Kind | None, arguments: Sequence[object]) -> Iterator[str]:
    texts = [_text(argument) for argument in arguments]
    step = _EACH.get(_named_in(name))
    if kind is not None and kind.named.of_job:
        return (text if _HARMLESS.fullmatch(text) else shown_job(text) for text in texts)
    if _is_open(kind):
        return iter(texts)
    if step is None or kind is None:
        return (
            text if _HARMLESS.fullmatch(text) and not _is_member(name, kind, place, texts) else HIDDEN
            for place, text in enumerate(texts)
        )
    return (
        (text if kind.shows_field(texts[place - 1], COMMANDS) else HIDDEN) if place % step else shown_field(kind, text)
        for place, text in enumerate(texts)
    )


def _is_member(name: str, kind: Kind | None, place: int, texts: Sequence[str]) -> bool:
    """Whether an argument is a member of a sorted set that is hidden, such as the id of somebody who is blocked, or a
    score that is the member."""
    named = _named_in(name)
    if kind is None or kind.type != "zset" or named is Arguments.RANKS:
        return False
    if kind.score.check == "member":
        return texts[place][-1].isdigit()
    if name != "ZADD":
        return named is Arguments.MEMBERS  # of the others, numbers are ranks, limits and scores
    flags = sum(text in _FLAGS for text in texts[:6])
    return place >= flags and (place - flags) % 2 == 1


def _named_in(command: str) -> Arguments:
    return FACTS[command].names if command in FACTS else Arguments.OTHER


def _text(argument: object) -> str:
    return argument if isinstance(argument, str) else HIDDEN if isinstance(argument, bytes) else str(argument)


def cut(text: str, longest: int) -> str:
    """The text, at most so many characters of it."""
    return text if len(text) <= longest else f"{text[:longest]}…"
