"""What people are found by when somebody types the beginning of a name: the entries of `users_by_name`.

An entry is `<folded name>:<uid>`. All have the score 0, so that the sorted set is in the order of its members' bytes,
and the names that begin with the same letters stand together. Names from elsewhere may have colons in them too.
"""

import unicodedata

from accounts.entities import User
from retwis_site import keys
from retwis_site.store import Pipe


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
    if not colon or not uid.isascii() or not uid.isdecimal() or uid != uid.lstrip("0"):
        return None
    return name, int(uid)


def queue_entries(pipe: Pipe, found: list[str]) -> None:
    """Write entries, at least one."""
    pipe.zadd(keys.users_by_name(), dict.fromkeys(found, 0))
