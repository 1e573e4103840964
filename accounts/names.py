"""What people go by, and what they are found by when somebody types the beginning of a name.

An entry of `users_by_name` is `<folded name>:<uid>`. All have the score 0, so that the sorted set is in the order of
its members' bytes, and the names that begin with the same letters stand together. A name may have colons in it too.
"""

import unicodedata

from accounts.entities import User
from retwis_site import keys
from retwis_site.store import Pipe

LONGEST_DISPLAY_NAME = 50  # characters
LONGEST_BIO = 160
LONGEST_UID = 16  # digits

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


def folded(name: str) -> str:
    """What two names must have in common to be found by the same letters."""
    return unicodedata.normalize("NFC", name).lower()


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
