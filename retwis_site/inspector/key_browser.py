"""The key browser: one key, with its line of the key table, what the server says about it, and its first members; and
the families of all keys."""

import re
from collections.abc import Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from django.conf import settings
from django.urls import reverse

from retwis_site.exceptions import BadCursor, StoreRefused
from retwis_site.rendering.dates import Moment, moment
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import Handle, Pipe, Reply, Repository, Result, Store, answers
from retwis_site.store.commands import FACTS
from retwis_site.store.connection.recorder import MOST_KEPT, Command, Recording, RoundTrip, keys_of
from retwis_site.store.ids import parse_id, parse_number
from retwis_site.store.keys import damaged
from retwis_site.store.kinds import EVERYONE, KINDS, OWNER, Kind, Shown, What, id_in, is_ours, kind_of
from retwis_site.telemetry.redaction import cut, shown_field, shown_job, shown_key

LONGEST = 200  # characters of one value
A_PAGE = 50  # members of a key; a small hash comes as a whole
NO_KEY = "none"  # the type of a key that is not there


def line_of(key: str) -> Kind | None:
    """The line of a key; None for a key that is not in the table."""
    return kind_of(key) or (damaged if is_ours(key) else None)


def address_of(key: str) -> str:
    """The address of a key in the key browser."""
    return f"{reverse('inspect')}{quote(key, safe=':')}"


def spans(text: str) -> list[tuple[bool, str]]:
    """The parts of a text with backquotes: whether each is code, and the part."""
    return [(number % 2 == 1, part) for number, part in enumerate(text.split("`")) if part]


# ---- What of a key is shown to whom, as `shown` in the key table says. `redaction.py` hides what is secret; this hides
# what is private. Of all else only the size is shown.


def _shown_to(kind: Kind, key: str, viewer: int | None) -> Shown:
    """Who must be allowed to read a key, so that the user with the uid `viewer` may. Of one's own, its owner."""
    return OWNER if kind.of_users and viewer is not None and id_in(key) == viewer else EVERYONE


def _shown_member(kind: Kind, member: str) -> str:
    """A member of a sorted set, an entry of a list, or a string, of a key of this kind that the viewer may read."""
    return cut(shown_job(member) if kind.named.of_job else member, LONGEST)


def _shown_field(kind: Kind, field: str) -> str:
    """The name of a field of a hash of this kind that the viewer may read."""
    return _shown_member(kind, shown_field(kind, field) if kind.fields else field)


# ---- The commands that only the key browser sends: they ask a server about its keys. All of them read.
#
# A Twemproxy forwards none of them, and a Redis user may lack the right: then they raise StoreRefused.


def scan(server: Store, cursor: int, count: int) -> tuple[int, list[str]]:
    """The next cursor (0: the end) and about `count` keys of this one server, in no order. One round trip."""
    found: tuple[int, list[str]] = server.send("SCAN", cursor, "COUNT", count)
    return found


def ask_memory(pipe: Pipe, key: str) -> Reply[int | None]:
    """The bytes that a key takes, with its name, about; None without the key. Of a large key the server looks at five
    members."""
    return pipe.send("MEMORY", "USAGE", key)


def ask_encoding(pipe: Pipe, key: str) -> Reply[str | None]:
    """How the server stores a key, such as `listpack`; None without the key."""
    return pipe.send("OBJECT", "ENCODING", key)


def ask_length(pipe: Pipe, type_: str, key: str) -> Handle[int]:
    """The number of members, fields, entries or bytes of a key of this type; 0 for a type that the site never writes,
    such as a set: each has a command of its own, which a Redis user may not send."""
    match type_:
        case "hash":
            return pipe.hlen(key)
        case "zset":
            return pipe.zcard(key)
        case "list":
            return pipe.send("LLEN", key)
        case "string":
            return pipe.send("STRLEN", key)
        case _:
            return Result(lambda: 0)


def asked_about_keys(store: Store) -> list[Store]:
    """The stores that together know all keys, for MEMORY and OBJECT. A Twemproxy does not forward them, so there it is
    each server behind it; a server replies with nothing about a key that it does not have."""
    return store.servers() if settings.REDIS_TOPOLOGY == "twemproxy" else [store]


# ---- The key


RowsAndNext = tuple[list["TableRow"], int]

NOTHING_SHOWN: Result[RowsAndNext] = Result(lambda: ([], 0))


@dataclass(frozen=True, slots=True)
class Link:
    """An id in a cell."""

    number: int
    key: str  # the address of its key in the key browser
    page: str = ""  # the address of its page; empty for what no page shows
    user: str = ""  # the name of the user, or of the author of the post


@dataclass(frozen=True, slots=True)
class Cell:
    """A member, a field, a score or a value, as the viewer may see it."""

    text: str | None  # None: only its size is shown
    what: What = What.TEXT
    size: int = 0  # bytes
    links: Sequence[Link] = ()  # where its ids lead to, when a page has asked for it

    @property
    def ids(self) -> list[int]:
        """The ids of the people or posts in it."""
        if self.what not in {What.USER, What.POST}:
            return []
        return [number for part in (self.text or "").split() if (number := parse_id(part)) is not None]

    @property
    def time(self) -> Moment | None:
        """The time in it, in the active language."""
        is_time = self.what is What.TIME and (self.text or "").isdecimal()
        return moment(int(self.text or ""), active_language()) if is_time else None


class TableRow(NamedTuple):
    name: Cell  # a member, an entry, or the name of a field
    value: Cell | None = None  # the score of the member, or the value of the field


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key as it is now."""

    type: str  # NO_KEY without the key
    ttl: int | None  # seconds until it expires; None: it stays
    length: int = 0  # members, fields, entries or bytes
    encoding: str | None = None  # None: the server does not say
    memory: int | None = None  # bytes; None: the server does not say
    rows: Sequence[TableRow] = ()
    further: int | None = None  # where the next page begins; None at the end
    refusal: str = ""  # why `encoding` and `memory` are missing
    is_shown: bool = False  # whether the viewer may see more than sizes


class OneKey:
    """Reads one key of the key table."""

    def __init__(self, store: Store, key: str, line: Kind) -> None:
        self._store = store
        self._key = key
        self._line = line

    def look(self, begin: int, viewer: int | None) -> FoundKey:
        """The key, with A_PAGE of its members from `begin` on: a rank, an index, or the cursor of a hash. Members and
        values that the user `viewer` may not see are not read, or have no text.

        Three round trips; one without the key, two where only sizes are shown and for a key of another type than the
        table says. Behind a Twemproxy one more for each server but the first. Raises StoreError.
        """
        with self._store.pipeline() as pipe:
            type_, ttl = pipe.type(self._key), pipe.ttl(self._key)
        if type_.value == NO_KEY:
            return FoundKey(NO_KEY, None)
        encoding, memory, refusal = self._about()
        least = _shown_to(self._line, self._key, viewer)
        is_shown = type_.value == self._line.type and self._line.shown >= least
        with self._store.pipeline() as pipe:
            length = ask_length(pipe, type_.value, self._key)
            page = self._ask_page(pipe, type_.value, begin, least) if is_shown else NOTHING_SHOWN
        rows, further = page.value
        return FoundKey(
            type_.value,
            ttl.value if ttl.value >= 0 else None,
            length.value,
            encoding,
            memory,
            rows,
            further if further > 0 and (type_.value == "hash" or further < length.value) else None,
            refusal,
            is_shown,
        )

    def _about(self) -> tuple[str | None, int | None, str]:
        """The encoding and the memory, or why the store does not say them."""
        encoding, memory = None, None
        try:
            for store in asked_about_keys(self._store):
                with store.pipeline() as pipe:
                    asked = ask_encoding(pipe, self._key), ask_memory(pipe, self._key)
                encoding, memory = encoding or asked[0].value, memory or asked[1].value
        except StoreRefused as error:
            return None, None, str(error)
        return encoding, memory, ""

    def _ask_page(self, pipe: Pipe, type_: str, begin: int, least: Shown) -> Result[RowsAndNext]:
        """A page of rows, and where the next one would begin: for a hash its cursor, which is 0 at the end."""
        last = begin + A_PAGE - 1
        match type_:
            case "hash":
                scanned = pipe.hscan(self._key, begin, A_PAGE)
                return Result(lambda: (self._fields(scanned.value[1], least), scanned.value[0]))
            case "zset":
                scored = pipe.zrevrange_withscores(self._key, begin, last)
                return Result(lambda: ([self._scored(*pair) for pair in scored.value], begin + len(scored.value)))
            case "list":
                entries = pipe.lrange(self._key, begin, last)
                return Result(
                    lambda: ([TableRow(self._member(one)) for one in entries.value], begin + len(entries.value))
                )
            case _:
                text = pipe.get(self._key)
                return Result(lambda: ([TableRow(self._value(cut(text.value or "", LONGEST)))], 0))

    def _fields(self, fields: Mapping[str, str], least: Shown) -> list[TableRow]:
        """All fields. Those that `least` may not read have the size of their value alone."""
        return [
            TableRow(
                Cell(_shown_field(self._line, field), self._line.named.what),
                Cell(cut(value, LONGEST), self._line.what_of(field))
                if self._line.shows_field(field, least)
                else Cell(None, size=len(value.encode())),
            )
            for field, value in sorted(fields.items())
        ]

    def _scored(self, member: str, score: float) -> TableRow:
        return TableRow(self._member(member), self._value(f"{score:.17g}"))

    def _member(self, member: str) -> Cell:
        return Cell(_shown_member(self._line, member), self._line.named.what)

    def _value(self, text: str) -> Cell:
        return Cell(text, self._line.what_of(""))


def beginning(text: str | None) -> int:
    """Where a page of members begins, from an address. Raises BadCursor."""
    number = 0 if text is None else parse_number(text)
    if number is None:
        raise BadCursor(text)
    return number


# ---- What keys hold before and after some commands.


@dataclass(frozen=True)
class ChangedKey:
    """A key that is not as it was. In `lines`, `+` is what was added, `-` what was removed; a value that was replaced
    is `name: before → after`. What is gone has no lines, and what the viewer may not see."""

    key: str  # as it may be shown
    type: str
    before: int | None  # members, fields, entries or bytes; None: there was no such key
    after: int | None
    lines: Sequence[str]


class WatchedKeys(Recording):
    """The keys that a block writes, with what each held before. A recording learns of commands before they are sent: so
    it looks at each key before the first command that may write it. Its own commands are not recorded."""

    def __init__(self, store: Store, viewer: int) -> None:
        """`viewer`: the uid of the user who may see what is private."""
        super().__init__(MOST_KEPT)
        self._store = Store(store.transport)
        self._viewer = viewer
        self._before: dict[str, FoundKey] = {}

    def add(self, commands: Sequence[Command]) -> RoundTrip[Command]:
        """Three round trips for each new key."""
        for command in commands:
            facts = FACTS.get(str(command[0]))  # none of a command that a site's own feature sends alone
            for key in keys_of(command) if facts and not facts.reads else ():
                if key not in self._before and (found := self._look(key)) is not None:
                    self._before[key] = found
        return super().add(commands)

    def changes(self) -> tuple[list[ChangedKey], list[str]]:
        """The keys that are not as they were, and the names of those that are as before. Three round trips a key."""
        changed, same = [], []
        for key, before in self._before.items():
            after = self._look(key)
            if after is None or (after.length == before.length and after.rows == before.rows):
                same.append(shown_key(key))
            else:
                changed.append(_change(key, before, after))
        return changed, same

    def _look(self, key: str) -> FoundKey | None:
        """None for a key that is not in the key table. In a context of its own no recording sees the commands."""
        line = line_of(key)
        return Context().run(OneKey(self._store, key, line).look, 0, self._viewer) if line else None


def _change(key: str, before: FoundKey, after: FoundKey) -> ChangedKey:
    was, now = _values(before.rows), _values(after.rows)
    replaced = [f"{name}: {was[name]} → {now[name]}" for name in now if name in was and was[name] != now[name]]
    added = [_line("+", name, now[name]) for name in now if name not in was]
    # Only a page of the key was read: what has left that page is removed only when the key has become shorter by it.
    number_removed = max(before.length + len(added) - after.length, 0)
    removed = [_line("-", name, was[name]) for name in was if name not in now][:number_removed]
    type_ = before.type if after.type == NO_KEY else after.type
    lines = [] if after.type == NO_KEY else [*removed, *added, *replaced]
    return ChangedKey(shown_key(key), type_, _length(before), _length(after), lines)


def _values(rows: Sequence[TableRow]) -> dict[str, str | None]:
    """The values by their names: fields of a hash, members with scores; entries and strings have none."""
    return {
        row.name.text or "": None if row.value is None else row.value.text or f"({row.value.size} bytes)"
        for row in rows
    }


def _line(sign: str, name: str, value: str | None) -> str:
    return f"{sign} {name}" if value is None or value == name else f"{sign} {name}: {value}"


def _length(found: FoundKey) -> int | None:
    return None if found.type == NO_KEY else found.length


# ---- The families of keys: how many keys of each kind there are and what they take, from a sample.
#
# SCAN goes through the keys in no order, so the first keys that it finds stand for all. A page looks at about
# KEYS_A_PAGE keys; the next page goes on where it stopped, and what both have found is added up. KEYS would stop the
# server for everyone.


KEYS_A_PAGE = 1000  # keys that a page looks at; the last SCAN may bring a few more
AT_ONCE = 500  # keys of one SCAN, about
SCANS = 8  # at most, for one page
MEASURED = 10  # keys of a family whose memory a page asks for
EXAMPLES = 3  # keys of a family that a page names
LARGEST_CURSOR = 2**64 - 1
_as_place = re.compile("([0-9]+)[.]([0-9]{1,20})").fullmatch
ALONE = "alone"  # counts the keys of all families that are one key
OTHERS = "others"  # counts what is not in the key table


def patterns() -> tuple[str, ...]:
    """What is counted: each kind of many keys, and these two."""
    return (*(kind.pattern for kind in KINDS.values() if kind.parts), ALONE, OTHERS)


@dataclass(frozen=True, slots=True)
class ScanPlace:
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
    further: ScanPlace | None  # None: all keys were looked at
    refusals: Sequence[str] = ()  # what the store refused, each a sentence

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


class Families(Repository):
    """All keys of the store, by their families."""

    def look(self, place: ScanPlace, before: Mapping[str, Tally]) -> Sample:
        """Looks at about KEYS_A_PAGE keys from a place on, and adds them to what was found before.

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

    def _scan(self, servers: Sequence[Store], place: ScanPlace, found: Mapping[str, list[str]]) -> ScanPlace | None:
        """Adds the keys to `found` by their pattern. Returns where the next page begins; None at the end."""
        seen: dict[str, None] = {}
        for _ in range(SCANS):
            cursor, some = scan(servers[place.server], place.cursor, AT_ONCE)
            seen |= dict.fromkeys(some)
            place = ScanPlace(place.server, cursor) if cursor else ScanPlace(place.server + 1)
            if place.server == len(servers) or len(seen) >= KEYS_A_PAGE:
                break
        for key in seen:
            line = line_of(key)
            found[OTHERS if line is None else line.pattern if line.pattern in patterns() else ALONE].append(key)
        return place if place.server < len(servers) else None

    def _alone(self) -> dict[str, list[str]]:
        """The keys of the families that are one key, by pattern; an empty list without the key. One round trip."""
        names = {kind.pattern: kind.only_key for kind in KINDS.values() if not kind.parts}
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


def place_in(text: str) -> ScanPlace:
    """The place `3.1024`. Raises BadCursor."""
    found = _as_place(text)
    server = parse_number(found[1]) if found else None
    if found is None or server is None or int(found[2]) > LARGEST_CURSOR:
        raise BadCursor(text)
    return ScanPlace(server, int(found[2]))


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
