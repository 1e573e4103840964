"""How tests hash passwords, and the queue in which passwords wait while others have its places."""

import threading
from contextlib import contextmanager

from accounts.signing_in.passwords import HASHING, LeanArgon2PasswordHasher


class QuickArgon2PasswordHasher(LeanArgon2PasswordHasher):
    """Argon2 with the cheapest parameters, for fast tests."""

    time_cost = 1
    memory_cost = 8


@contextmanager
def busy(*addresses, times=1):
    """During the block others have asked: first for all that is hashed at once, then `times` for each address."""
    places = [HASHING.enter("198.51.100.1") for _ in range(HASHING.at_once)]
    places += [HASHING.enter(address) for address in addresses for _ in range(times)]

    def leave():
        for place in places:
            HASHING.leave(place)

    hanging = threading.Timer(20, leave)  # a test must fail rather than hang
    hanging.start()
    try:
        yield places
    finally:
        hanging.cancel()
        leave()
