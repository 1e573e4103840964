"""What people go by, and what they are found by when somebody types the beginning of a name.

An entry of `users_by_name` is `<folded name>:<uid>`. All have the score 0, so that the sorted set is in the order of
its members' bytes, and the names that begin with the same letters stand together. A name may have colons in it too.
"""

import unicodedata

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe

LONGEST_DISPLAY_NAME = 50  # characters
LONGEST_BIO = 160
LONGEST_UID = 16  # digits

FIRST_STRONG_ISOLATE, POP = "\u2068", "\u2069"
# What turns the direction of writing, or ends that.
_TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_JOINERS = "\u200c\u200d"  # not seen, but Persian words and families of emoji are made with them
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # letters and signs that show nothing


def in_one_line(text: str) -> str:
    """A name or a bio as it is kept: a line break becomes a space, several spaces one, and what is not seen goes, such
    as controls and marks that turn the direction of what stands beside them. Empty where nothing of it can be seen."""
    kept = "".join(char for char in text if char in _JOINERS or char.isspace() or not _is_unseen(char))
    line = unicodedata.normalize("NFC", " ".join(kept.split()))
    return line if any(_shows(char) for char in line) else ""


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cf", "Cs"}


def _shows(char: str) -> bool:
    return unicodedata.category(char)[0] not in "CMZ" and char not in _BLANK


def isolated(person: User) -> str:
    """The shown name for a title or an attribute, where no element can stand around it: whichever way it is written,
    what stands around it is not."""
    if not person.name:
        return person.username
    return f"{FIRST_STRONG_ISOLATE}{person.name.translate(_TURNS)}{POP}"


def folded(name: str) -> str:
    """What two names must have in common to be found by the same letters: Unicode's canonical caseless match (D145),
    and a Turkish capital I has lost its dot, which nobody types in small letters.

    The beginning of a name folds to the beginning of what the whole name does. With `lower()` it would not where it
    ends with a sigma, which is another letter at a word's end, nor with composed characters for Hangul, whose syllables
    are put together as one types.
    """
    caseless = unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
    return caseless.replace("i\N{COMBINING DOT ABOVE}", "i")


def entry(name: str, uid: int) -> str:
    """What leads from a name to a user."""
    return f"{folded(name)}:{uid}"


def entries(user: User) -> list[str]:
    """All that lead to a user: one by their username, and one by the name that they go by, where it is another."""
    return list(dict.fromkeys(entry(name, user.uid) for name in (user.username, user.shown_name)))


def parse(found: str) -> tuple[str, int] | None:
    """The folded name of an entry, and the uid; None for what is none."""
    name, colon, uid = found.rpartition(":")
    if not colon or len(uid) > LONGEST_UID or not uid.isascii() or not uid.isdecimal() or uid != uid.lstrip("0"):
        return None
    return name, int(uid)


def queue_entries(pipe: Pipe, found: list[str]) -> None:
    """Write entries, at least one."""
    pipe.zadd(keys.users_by_name(), dict.fromkeys(found, 0))
