"""The words in which `keys.py` tells of keys: what a kind of key holds, who sees it, how it grows and how it ends.

A kind is known as soon as it is declared, also that of a site's own feature. All that the site does with every key
(`doctor`, `copy`, the key browser, what a log may show) reads it here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import ClassVar
from zlib import crc32

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import Promise, cached_property
from django.utils.translation import gettext_lazy as _

from retwis_site.store.ids import parse_id, parse_number

PREFIX: str = settings.REDIS_KEY_PREFIX


class Shown(IntEnum):
    """Who reads what a key or a field holds. What says nothing about it is hidden."""

    NOBODY = auto()
    OWNER = auto()  # the user whose key it is, in the key browser
    COMMANDS = auto()  # also who reads the commands of a page or of a log: the operator and staff
    EVERYONE = auto()


class About(IntEnum):
    """Whose life a key shares."""

    PEOPLE = auto()
    SITE = auto()  # it may be there before the first user
    PROCESSES = auto()  # the same, and no copy of the site has it


NOBODY, OWNER, COMMANDS, EVERYONE = Shown
PEOPLE, SITE, PROCESSES = About


# ---- What it holds


class What(Enum):
    """How the key browser shows it."""

    TEXT = auto()
    USER = auto()  # a uid, or several with spaces between
    POST = auto()  # a pid, or several
    TIME = auto()  # unix seconds


@dataclass(frozen=True, slots=True)
class Value:
    """One member, entry, field, string or score. `check`: what `doctor` requires of it, but of the fields of a map: of
    a score "seconds", "until", or "member" for the id itself; empty: nothing, or a feature has a check of its own."""

    check: str = ""
    what: What = What.TEXT
    of_job: bool = False  # the name of a job: all but its ids may be secret
    outlasts: bool = False  # it still counts when what it names is gone


# The grounds of a picture of initials, as the stylesheet has them: `.g0` is the first.
COLOURS = (
    *("red", "brown", "gold", "olive", "green", "teal"),
    *("cyan", "blue", "indigo", "violet", "magenta", "pink"),
)

ANY, TEXT, NUMBER, ID, VERSION = Value(), Value("text"), Value("number"), Value("id"), Value("version")
USER, POST, TIME = Value("id", What.USER), Value("id", What.POST), Value("number", What.TIME)
USERS, POSTS, OWN_TIME = Value("", What.USER), Value("", What.POST), Value("", What.TIME)  # a feature checks them
THREAD = Value("id", What.POST, outlasts=True)  # by its first post: a thread stays when that one is deleted
ENTRY = Value("entry", What.POST)  # an id, or a mark of a cached list
DELETION = Value("deletion", What.TIME)  # a time, or one with `:staff` behind it
JOB = Value("text", of_job=True)
COLOUR, PICTURE = Value("colour"), Value("digest")  # PICTURE: empty when staff has removed it
JSON = Value("json")  # or empty; whether it says what its reader expects, `doctor` does not ask
SECONDS, UNTIL = Value("seconds", What.TIME), Value("until", What.TIME)  # scores: unix seconds; UNTIL may be +inf
ITSELF, REPOST, OTHER = Value("member"), Value("", What.POST), Value()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a hash. With a `<part>` in its name there are many such fields."""

    name: str
    holds: Value = ANY
    says: str = ""
    shown: Shown = NOBODY
    line: str = ""  # as for a kind: its type, then what it calls the user, the part of the name, and the value


@dataclass(frozen=True, slots=True)
class String:
    value: Value = ANY


@dataclass(frozen=True, slots=True)
class Hash:
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """A hash that maps one thing to another."""

    field: Value
    value: Value


@dataclass(frozen=True, slots=True)
class Entries:
    """A list. It is a cache: no copy of the site has it."""

    entry: Value


@dataclass(frozen=True, slots=True)
class ZSet:
    member: Value
    score: Value


@dataclass(frozen=True, slots=True)
class Anything:
    """Of any type."""


Holds = String | Hash | Map | Entries | ZSet | Anything
TYPES = {String: "string", Hash: "hash", Map: "hash", Entries: "list", ZSet: "zset", Anything: "any"}

# ---- A kind

IDS = {"uid", "pid", "rid", "year", "id"}  # parts of names that are ids
NUMBERS = {"first", "bucket", "group"}  # and those that are numbers

ONE = _("One key")
NOT_KNOWN = _("Not known")
EACH_SHARD = _("A fixed number of keys, which a setting chooses")
EACH = {
    "uid": _("At most one key for each user"),
    "pid": _("At most one key for each post"),
    "id": NOT_KNOWN,
}
EACH_ACTION = _("One key for each recent action; it expires")

DAMAGED = "damaged"  # the word of keys that a repair has moved away
KINDS: dict[str, "Kind"] = {}  # in their order, by what the names of their keys begin with: `users`, `likes:`


@dataclass(frozen=True, eq=False)
class Kind:
    """`name`: such as `likes:<uid>`, one key for each user."""

    name: str
    holds: Holds
    says: str = ""  # what a reader of the table should know, with backquotes around what is code
    grows: str | Promise = NOT_KNOWN  # what makes one key longer
    truth: bool = False  # cannot be rebuilt
    official: bool = False  # as in the Retwis of Redis's documentation
    shown: Shown = NOBODY
    # The secret part of its names, such as `digest`: no page and no log shows it and what follows it. Of a `job` the
    # kind and the ids are shown, of a `who` an id.
    hides: str = ""
    mirrors: "Kind | None" = None  # the truth that it is rebuilt from
    counted: str = ""  # the field of `post:<pid>` that has the number of its members
    # The beginnings of the names of the jobs that may be at work on a member, with spaces between; a mirror has those
    # of its truth. Where no member is named, it is the id in the key. A feature says more in its `account_sets`.
    jobs: str = ""
    # Of a key of each user: under which label `doctor` reports those of users that do not exist. A sorted set has one
    # without this word; of other types, only a kind that has it is looked at, and then also when the user is deleted.
    of_unknown: str = ""
    # Of its lines in the file of a whole site, with spaces between: their type, then what they call the user, the
    # member or field, and the score or value. Empty: it has no lines, or a feature has code for them.
    line: str = ""
    # Of a key of a user that stays small: it is removed with the account, in one command. The features remove others.
    goes: bool = False
    lives: int = 0  # seconds until it expires; 0: it stays
    each: str | Promise = ""  # how many keys there are, where the name does not say it
    also: str = ""  # an end of the name that is no id
    about: About = PEOPLE

    do_not_call_in_templates: ClassVar = True  # a template asks what it is, not for a key

    def __post_init__(self) -> None:
        known = KINDS.get(self.start)
        if known is not None and not isinstance(known, TypeAlone):
            raise ImproperlyConfigured(f"The kinds of keys {known.name} and {self.name} begin alike: rename one.")
        if self.hides and self.hides not in self.parts:
            raise ImproperlyConfigured(f"The names of {self.name} have no part <{self.hides}>.")
        KINDS[self.start] = self

    @cached_property
    def word(self) -> str:
        """`likes`."""
        return self.name.partition(":")[0]

    @property
    def start(self) -> str:
        """What the names of its keys begin with, after the prefix: `likes:`."""
        return f"{self.word}:" if self.parts else self.word

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """`("uid",)`."""
        return tuple(re.findall("<(.*?)>", self.name))

    @property
    def pattern(self) -> str:
        """For SCAN and for an ACL, without the prefix: `likes:*`."""
        return f"{self.word}:*" if self.parts else self.word

    @property
    def only_key(self) -> str:
        """Of a kind that is one key."""
        return f"{PREFIX}{self.word}"

    @property
    def type(self) -> str:
        return TYPES[type(self.holds)]

    @property
    def number(self) -> str | Promise:
        """How many keys of it there are."""
        return self.each or (EACH.get(self.parts[-1], EACH_ACTION) if self.parts else ONE)

    @property
    def words(self) -> str:
        """Such as "official, truth"; empty for what stays and can be rebuilt."""
        is_cache = isinstance(self.holds, Entries)
        told = {"official": self.official, "truth": self.truth, "cache": is_cache, "expires": self.lives > 0}
        return ", ".join(word for word, holds in told.items() if holds)

    @property
    def text(self) -> str:
        """What it holds, with backquotes around what is code: a cell of docs/keys.md."""
        of_mirror = f"the mirror of `{self.mirrors.word}:`" if self.mirrors else ""
        fields = ", ".join(f"`{f.name}` ({f.says})" if f.says else f"`{f.name}`" for f in self.fields.values())
        return ": ".join(filter(None, (of_mirror, self.says, fields)))

    @property
    def of_users(self) -> bool:
        """Whether each user has one key of it."""
        return self.parts == ("uid",)

    @property
    def of_posts(self) -> bool:
        """Whether each post has one key of it."""
        return self.parts == ("pid",)

    @property
    def is_copied(self) -> bool:
        """Whether a copy of the site has it: no caches, and nothing that belongs to processes of the old site."""
        return self.about is not PROCESSES and not isinstance(self.holds, Entries | Anything)

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The fields of a hash with fields, by name; none for a map."""
        return {field.name: field for field in self.holds.fields} if isinstance(self.holds, Hash) else {}

    @cached_property
    def main(self) -> Value:
        """What each member, entry, value of a map, or string is."""
        match self.holds:
            case String(value) | Map(_, value) | Entries(value) | ZSet(value, _):
                return value
            case _:
                return ANY

    @cached_property
    def named(self) -> Value:
        """What each member, entry or field of a map is."""
        return self.holds.field if isinstance(self.holds, Map) else self.main

    @cached_property
    def checked_fields(self) -> dict[str, str]:
        """The fields that `doctor` looks at, with what it requires of them."""
        return {name: field.holds.check for name, field in self.fields.items() if field.holds.check}

    @property
    def score(self) -> Value:
        return self.holds.score if isinstance(self.holds, ZSet) else OTHER

    def what_of(self, field: str) -> What:
        """How a score, a string, or the value of this field is shown."""
        if self.fields:
            return self.fields[field].holds.what if field in self.fields else What.TEXT
        if isinstance(self.holds, ZSet):
            return self.main.what if self.score.check == "member" else self.score.what
        return self.main.what

    def shows_field(self, field: str, least: Shown) -> bool:
        """Whether a field of a hash is shown to those who see at least that much."""
        if not self.fields:
            return self.shown >= least
        return field in self.fields and self.fields[field].shown >= least

    def jobs_on(self, owner: object, member: str) -> set[str]:
        """The beginnings of the names of the jobs that may be at work on this member of a key."""
        if self.mirrors is not None:
            return self.mirrors.jobs_on(member, str(owner))
        return {job.format(owner=owner, member=member) for job in self.jobs.split()}

    def explained_by(self, owner: object, member: str) -> set[str]:
        """`jobs_on`, with the jobs that remove a deleted user or post and all that is theirs."""
        removing = {
            "uid": f"gone:{owner}",
            "pid": f"del:{owner}",
            What.USER: f"gone:{member}",
            What.POST: f"del:{member}",
        }
        return self.jobs_on(owner, member).union(
            removing[one] for one in (*self.parts, self.main.what) if one in removing
        )


class One(Kind):
    """A single key: `users()`."""

    def __call__(self) -> str:
        return PREFIX + self.word


class OfId(Kind):
    """A key for each user, post, report or year: `likes(uid)`."""

    def __call__(self, number: int) -> str:
        return f"{PREFIX}{self.word}:{number}"

    def of_member(self, member: str) -> str:
        """The key of an id, as a set has it."""
        return self(int(member))

    def of_each(self, numbers: Iterable[int]) -> list[str]:
        """The keys of many."""
        beginning = f"{PREFIX}{self.word}:"
        return [f"{beginning}{number}" for number in numbers]


class OfText(Kind):
    """A key for each text: `tag("redis")`."""

    def __call__(self, text: str) -> str:
        return f"{PREFIX}{self.word}:{text}"

    of_member = __call__


class OfKey(Kind):
    """`damaged("post:7")`, of a key with its prefix."""

    def __call__(self, key: str) -> str:
        return f"{PREFIX}{self.word}:{unprefixed(key)}"


class OfTwo(Kind):
    """`idem(uid, token)`."""

    def __call__(self, first: int | str, second: int | str) -> str:
        return f"{PREFIX}{self.word}:{first}:{second}"


class Shard(Kind):
    """The parts of a split key: `timeline:3`."""

    @property
    def pattern(self) -> str:
        return f"{self.word}:[0-9]*"

    def has(self, end: str) -> bool:
        """Whether a name may end so, with any number of shards."""
        number = parse_number(end)
        return number is not None and number < settings.MOST_SHARDS


@dataclass(frozen=True, eq=False)
class Split(Kind):
    """One key, or several where a setting says so."""

    setting: str = ""
    parts_say: str = ""  # which of what it holds one of several has

    def __post_init__(self) -> None:
        super().__post_init__()
        says = f"with `{self.setting}` above 1, instead of `{self.word}`{self.parts_say}"
        Shard(
            *(f"{self.word}:<n>", self.holds, says),
            grows=self.grows,
            truth=self.truth,
            shown=self.shown,
            each=EACH_SHARD,
            about=self.about,
        )

    @property
    def kinds(self) -> "tuple[Kind, Kind]":
        """That of the one key, and that of its parts."""
        return self, KINDS[f"{self.word}:"]

    def of_number(self, number: int) -> str:
        shards: int = getattr(settings, self.setting)
        return self.only_key if shards == 1 else f"{PREFIX}{self.word}:{number % shards}"

    def all(self) -> list[str]:
        return [self.of_number(number) for number in range(getattr(settings, self.setting))]

    def whatever_shards(self) -> list[str]:
        """Every name that it has with any number of shards."""
        return [self.only_key, *(f"{PREFIX}{self.word}:{number}" for number in range(settings.MOST_SHARDS))]


class SplitByPost(Split):
    """`timeline(pid)`."""

    def __call__(self, pid: int) -> str:
        return self.of_number(pid)


class SplitByJob(Split):
    """`outbox(job)`: all jobs about the same id are in the same key."""

    def __call__(self, job: str) -> str:
        about = job.partition(":")[2].partition(":")[0]
        return self.of_number(crc32(about.encode()))


# ---- From a key to its kind


def unprefixed(key: str) -> str:
    return key.removeprefix(PREFIX)


def mirror_of(truth: Kind) -> OfId | OfText | None:
    """The kind that is rebuilt from this one; None when there is none."""
    return next((kind for kind in KINDS.values() if kind.mirrors is truth and isinstance(kind, OfId | OfText)), None)


def kind_of(key: str) -> Kind | None:
    """The kind of a key. None for a key that is not the site's, such as `user:settings`, and for `damaged:` ones, which
    have the name of another key in theirs."""
    kind = may_be(key)
    if kind is None or isinstance(kind.holds, Anything) or not key.startswith(PREFIX):
        return None
    rest = unprefixed(key).removeprefix(kind.start)
    return kind if not kind.parts or _fits(kind.parts, rest) or rest == kind.also != "" else None


def _fits(parts: tuple[str, ...], rest: str) -> bool:
    """Whether the end of a name has what its kind says: an id, two numbers, or any text."""
    if not IDS.union(NUMBERS).issuperset(parts):
        return True
    given = rest.split(":")
    parse = [parse_number if part in NUMBERS else parse_id for part in parts]
    return len(given) == len(parts) and all(read(text) is not None for read, text in zip(parse, given, strict=True))


def is_ours(key: str) -> bool:
    """Whether the key table has a key, or a repair has moved it away."""
    return kind_of(key) is not None or key.startswith(f"{PREFIX}{DAMAGED}:")


def may_be(key: str) -> Kind | None:
    """The kind of a key that the site, or another Retwis, may have written: the first word of its name is enough.
    `kind_of` is stricter, since a program may have keys such as `user:settings` beside those of the site."""
    word, colon, rest = unprefixed(key).partition(":")
    kind = KINDS.get(f"{word}{colon}")
    return None if isinstance(kind, Shard) and not kind.has(rest) else kind


def id_in(key: str) -> int | None:
    """The id in a key such as `post:12`; None for other keys, such as `post:12:likes` or `user:settings`."""
    return parse_id(unprefixed(key).partition(":")[2])


def matching(pattern: str) -> str:
    """The SCAN pattern of a kind, with the prefix; glob characters in the prefix are escaped."""
    escaped = "".join(f"\\{char}" if char in r"*?[]^\\" else char for char in PREFIX)
    return f"{escaped}{pattern}"


# ---- Of a site's own features: settings.KEY_KINDS, by SCAN pattern


class TypeAlone(Kind):
    """A kind of which only the type is known. A feature may declare it anew, and say more."""


_OF_TYPE: dict[str, Holds] = {
    "string": String(),
    "hash": Map(ANY, ANY),
    "list": Entries(ANY),
    "zset": ZSet(ANY, OTHER),
}


def declare(key_kinds: dict[str, str]) -> None:
    """Declare kinds of which only the type is known."""
    for pattern, type_ in key_kinds.items():
        TypeAlone(pattern.replace("*", "<id>"), _OF_TYPE[type_], "what a feature of this site alone keeps")
