"""The families of keys: how many keys of each kind there are and what they take, from a sample.

SCAN goes through the keys in no order, so the first keys that it finds stand for all. A page looks at about A_PAGE
keys; the next page goes on where it stopped, and what both have found is added up. KEYS would stop the server for
everyone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retwis_site.exceptions import BadCursor, StoreRefused
from retwis_site.inspector.one_key import NO_KEY, ask_memory, asked_about_keys, line_of, scan
from retwis_site.store.chunks import answers
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number
from retwis_site.store.kinds import KINDS

A_PAGE = 1000  # keys that a page looks at; the last SCAN may bring a few more
AT_ONCE = 500  # keys of one SCAN, about
SCANS = 8  # at most, for one page
MEASURED = 10  # keys of a family whose memory a page asks for
EXAMPLES = 3  # keys of a family that a page names
LARGEST_CURSOR = 2**64 - 1
ALONE = "alone"  # counts the keys of all families that are one key
OTHERS = "others"  # counts what is not in the key table


def patterns() -> tuple[str, ...]:
    """What is counted: each kind of many keys, and these two."""
    return (*(pattern for pattern, kind in KINDS.items() if kind.parts), ALONE, OTHERS)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the next SCAN begins: the number of the server, and its cursor."""

    server: int = 0
    cursor: int = 0

    def __str__(self) -> str:
        return f"{self.server}.{self.cursor}"


@dataclass(slots=True)
class Tally:
    """What was found of one family."""

    found: int = 0
    measured: int = 0  # of these
    bytes: int = 0  # of the measured keys


@dataclass(frozen=True, slots=True)
class Sample:
    """What a page and those before it have found. `tallies` has all `patterns()`, and each family that is one key."""

    tallies: Mapping[str, Tally]
    examples: Mapping[str, Sequence[str]]  # some keys of each family, found by this page
    total: int  # all keys on all servers, also those of other programs
    further: Place | None  # None: all keys were looked at
    refusals: Sequence[str] = field(default=())  # what the store refused, each a sentence

    @property
    def looked_at(self) -> int:
        return sum(self.tallies[pattern].found for pattern in patterns())

    def is_estimate(self, pattern: str) -> bool:
        return self.further is not None and pattern in patterns() and self.looked_at > 0

    def number(self, pattern: str) -> int:
        """How many keys a family has; an estimate until all were looked at."""
        found = self.tallies[pattern].found
        if not self.is_estimate(pattern):
            return found
        return round(found * max(self.total, self.looked_at) / self.looked_at)

    def memory(self, pattern: str) -> int | None:
        """The bytes of a family, about; None when none of its keys was measured."""
        tally = self.tallies[pattern]
        return round(self.number(pattern) * tally.bytes / tally.measured) if tally.measured else None


class Families:
    """All keys of the store, by their families."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def look(self, place: Place, before: Mapping[str, Tally]) -> Sample:
        """Looks at about A_PAGE keys from a place on, and adds them to what was found before.

        A round trip for each server, at most SCANS more, and two (behind a Twemproxy one more for each further
        server). What the store refuses is among the `refusals`. Raises BadCursor for a place that is none, and
        StoreError.
        """
        refusals: list[str] = []
        servers = self._store.servers()
        if place.server >= len(servers):
            raise BadCursor(str(place))
        found: Mapping[str, list[str]] = {pattern: [] for pattern in patterns()}
        total, further = 0, None
        try:
            total = self._store.dbsize()
            further = self._scan(servers, place, found)
        except StoreRefused as error:
            refusals.append(str(error))
        chosen = {pattern: found[pattern][:MEASURED] for pattern in patterns() if pattern not in {ALONE, OTHERS}}
        alone = self._alone()
        try:
            memory = self._memory([key for some in (*chosen.values(), *alone.values()) for key in some])
        except StoreRefused as error:
            refusals.append(str(error))
            memory = {}
        tallies = {
            pattern: _added(before.get(pattern, Tally()), some, chosen.get(pattern, ()), memory)
            for pattern, some in found.items()
        } | {pattern: _added(Tally(), some, some, memory) for pattern, some in alone.items()}
        examples = {pattern: sorted(some[:EXAMPLES]) for pattern, some in chosen.items()} | alone
        return Sample(tallies, examples, total, further, refusals)

    def _scan(self, servers: Sequence[Store], place: Place, found: Mapping[str, list[str]]) -> Place | None:
        """Adds the keys to `found` by their pattern. Returns where the next page begins; None at the end."""
        seen: dict[str, None] = {}
        for _ in range(SCANS):
            cursor, some = scan(servers[place.server], place.cursor, AT_ONCE)
            seen |= dict.fromkeys(some)
            place = Place(place.server, cursor) if cursor else Place(place.server + 1)
            if place.server == len(servers) or len(seen) >= A_PAGE:
                break
        for key in seen:
            line = line_of(key)
            found[OTHERS if line is None else line.pattern if line.pattern in patterns() else ALONE].append(key)
        return place if place.server < len(servers) else None

    def _alone(self) -> dict[str, list[str]]:
        """The keys of the families that are one key, by pattern; an empty list without the key. One round trip."""
        names = {pattern: kind.only_key for pattern, kind in KINDS.items() if not kind.parts}
        types = answers(self._store, lambda pipe, key: pipe.type(key), names.values())
        return {pattern: [key] if types[key] != NO_KEY else [] for pattern, key in names.items()}

    def _memory(self, of: Sequence[str]) -> dict[str, int]:
        """The bytes of each of these keys that is there."""
        known: dict[str, int] = {}
        for store in asked_about_keys(self._store):
            known |= {key: size for key, size in answers(store, ask_memory, of).items() if size is not None}
        return known


def _added(earlier: Tally, found: Sequence[str], chosen: Sequence[str], memory: Mapping[str, int]) -> Tally:
    sizes = [memory[key] for key in chosen if key in memory]
    return Tally(earlier.found + len(found), earlier.measured + len(sizes), earlier.bytes + sum(sizes))


# ---- what a page gives the next one in its address


def place_in(text: str) -> Place:
    """The place `3.1024`. Raises BadCursor."""
    server, dot, cursor = text.partition(".")
    number = parse_number(server)
    if number is None or not dot or not _is_digits(cursor) or int(cursor) > LARGEST_CURSOR:
        raise BadCursor(text)
    return Place(number, int(cursor))


def packed(tallies: Mapping[str, Tally]) -> str:
    """The tallies as a text for `tallies_in`: three numbers for each of `patterns()`."""
    return "_".join(f"{one.found}.{one.measured}.{one.bytes}" for one in (tallies[pattern] for pattern in patterns()))


def tallies_in(text: str) -> Mapping[str, Tally]:
    """The tallies that `packed` has made a text of. Raises BadCursor for any other text."""
    numbers = [[parse_number(number) for number in part.split(".")] for part in text.split("_")]
    if len(numbers) != len(patterns()) or any(len(part) != 3 or None in part for part in numbers):
        raise BadCursor(text)
    return {
        pattern: Tally(*(number or 0 for number in part)) for pattern, part in zip(patterns(), numbers, strict=True)
    }


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_CURSOR))
