"""Which names nobody may register: words of the site, and words that staff has blocked; also what looks like them."""

import time
from fnmatch import fnmatchcase

from django.urls import get_resolver

from accounts.joining.refusals import NameRefused
from accounts.users.names import skeletons
from retwis_site.store import keys
from retwis_site.store.client import Store

WORDS = (
    *("admin", "administrator", "moderator", "mod", "root", "support", "help", "staff", "team", "official", "operator"),
    *("system", "security", "abuse", "info", "contact", "webmaster", "postmaster", "everyone", "nobody", "me", "you"),
)
MOST_BLOCKED = 1000


def is_reserved(name: str) -> bool:
    """Whether the name is, or looks like, a word of the site or the beginning of one of its addresses."""
    firsts = {str(pattern.pattern).partition("/")[0] for pattern in get_resolver().url_patterns}
    taken = {skeleton for word in (*WORDS, *firsts) if word.isalnum() for skeleton in skeletons(word)}
    return not taken.isdisjoint(skeletons(name))


class BlockedNames:
    """Names that staff has blocked: a word stands for itself and what looks like it, and `*` for any letters."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, word: str) -> None:
        """Block a word; existing accounts stay. One round trip."""
        self._store.hset(keys.blocked_names(), {word.lower(): str(int(time.time()))})

    def remove(self, word: str) -> None:
        """One round trip."""
        self._store.hdel(keys.blocked_names(), word.lower())

    def all(self) -> list[str]:
        """One round trip."""
        return sorted(self._store.hgetall(keys.blocked_names()))

    def has(self, name: str) -> bool:
        """Whether a word blocks this name. One round trip."""
        shapes = {name.lower(), *skeletons(name)}
        patterns = {shape for word in self.all() for shape in (word, *skeletons(word))}
        return any(fnmatchcase(shape, pattern) for shape in shapes for pattern in patterns)


def check_name(store: Store, name: str) -> None:
    """Two round trips. Raises NameRefused for a name that is reserved, blocked, or looks like an account's."""
    similar = store.hmget(keys.skeletons(), skeletons(name))
    if any(similar) or is_reserved(name) or BlockedNames(store).has(name):
        raise NameRefused
