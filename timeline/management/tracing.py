"""What `manage.py trace` prints: round trips with their commands, and keys before and after."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from retwis_site.inspector.changes import SentCommand, recorded_steps
from retwis_site.inspector.one_key import ChangedKey
from retwis_site.store.connection.recorder import Watch

WIDEST = 72  # characters of a command, in its column
MOST_LINES = 8  # of what has changed in a key
# What a key of each type has.
UNITS = {
    "hash": ("field", "fields"),
    "zset": ("member", "members"),
    "list": ("entry", "entries"),
    "string": ("byte", "bytes"),
}
ALIKE = 3  # commands, or keys, that are alike and shown; the others are counted


def lines_of(title: str, watch: Watch) -> Iterator[str]:
    """A title with the numbers, and a line for each command: the number of its round trip, the command, its complexity
    and who asked for it."""
    steps = list(recorded_steps(watch))
    sent = sum(len(step.commands) for step in steps) + sum(watch.left_out.values())
    yield f"{title}: {_number(len(steps), 'round trip', 'round trips')}, {_number(sent, 'command', 'commands')}"
    shown = [list(_shown(step.commands)) for step in steps]
    widths = [min(WIDEST, max((len(row[place]) for rows in shown for row in rows), default=0)) for place in (0, 1)]
    for number, rows in enumerate(shown, start=1):
        for place, (command, complexity, asker) in enumerate(rows):
            begin = f"{number:>4}" if place == 0 else "    "
            yield f"{begin}  {_cut(command):{widths[0]}}  {complexity:{widths[1]}}  {asker}".rstrip()
    for name, left_out in watch.left_out.items():
        yield f"      … and {left_out} more {name}"


def lines_of_changes(changed: Sequence[ChangedKey], same: Sequence[str]) -> Iterator[str]:
    """A title, the keys that have changed with what is new in each, and the names of the others that were written."""
    yield "The keys before and after"
    for (type_, lines), some in groupby(sorted(changed, key=_kind), key=lambda one: (one.type, tuple(one.lines))):
        alike = list(some)
        for change in alike[:ALIKE]:
            yield f"      {change.key}  {type_}, {_lengths(change)}"
        if len(alike) > ALIKE:
            yield f"      … and {len(alike) - ALIKE} more"
        yield from (f"        {line}" for line in lines[:MOST_LINES])
        if len(lines) > MOST_LINES:
            yield f"        … and {len(lines) - MOST_LINES} more"
    if not changed:
        yield "      No key was changed."
    if same:
        yield f"      As before: {', '.join(_families(same))}"


def _shown(commands: Sequence[SentCommand]) -> Iterator[tuple[str, str, str]]:
    """Of commands in a row that are alike only the first are shown."""
    for (name, _, asker), some in groupby(commands, key=lambda one: (one.name, one.key.partition(":")[0], one.asker)):
        alike = list(some)
        yield from ((str(command), command.complexity, asker) for command in alike[:ALIKE])
        if len(alike) > ALIKE:
            yield f"… and {len(alike) - ALIKE} more {name}", "", ""


def _kind(change: ChangedKey) -> tuple[str, Iterable[str], str]:
    return change.key.partition(":")[0], tuple(change.lines), change.key


def _families(names: Sequence[str]) -> Iterator[str]:
    """The names of keys, in order; of several of a kind the first, and how many more there are."""
    for _, some in groupby(sorted(set(names)), key=lambda name: name.partition(":")[0]):
        first, *others = some
        yield f"{first} and {len(others)} more" if others else first


def _lengths(change: ChangedKey) -> str:
    one, several = UNITS[change.type]
    if change.after is None:
        return f"gone: it had {_number(change.before or 0, one, several)}"
    after = _number(change.after, one, several)
    hidden = "" if change.lines else " (not shown)"
    return f"new: {after}{hidden}" if change.before is None else f"{change.before} → {after}{hidden}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _number(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
