"""What has happened on the site before a session of the book, by the words above the session.

The clock stands at NOON, a minute later for each act, and what is random is the same in each run.
"""

import hashlib
import itertools
import secrets
import time
from collections.abc import Callable

from accounts.users.registration import Registration
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from tests.support.people import hashed_password
from timeline.relations.follow import Follows

NOON = 1_795_435_200  # 2026-11-23 12:00:00 UTC

ALICE, BOB, CAROL = 1, 2, 3


class Site:
    """The site of the book: its acts, each a minute after the one before."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = NOON

    def time(self) -> float:
        return float(self.now)

    def later(self) -> None:
        self.now += 60

    def registers(self, *names: str) -> None:
        for name in names:
            Registration(self.store).register(name, hashed_password())
            self.later()

    def follows(self, who: int, whom: int) -> None:
        Follows(self.store).follow(who, whom)
        self.later()


def nothing(site: Site) -> None:
    pass


def alice_registers(site: Site) -> None:
    site.registers("Alice")


SITUATIONS: dict[str, Callable[[Site], None]] = {
    "an empty server": nothing,
    "Alice has registered": alice_registers,
}


def happen(situation: str, store: Store, monkeypatch) -> None:
    """Let all of a situation happen on an empty store."""
    site = Site(store)
    numbers = itertools.count(1)

    def token_hex(length: int = 32) -> str:
        return hashlib.sha256(str(next(numbers)).encode()).hexdigest()[: 2 * length]

    with monkeypatch.context() as patched:
        patched.setattr(time, "time", site.time)
        patched.setattr(secrets, "token_hex", token_hex)
        Memory.clear_all()
        SITUATIONS[situation](site)
