"""Passwords are hashed at a lower priority than that of pages, and at a still lower one when others wait."""

import os
import sys
import threading

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from accounts.signing_in.passwords import NICENESS, NICENESS_IN_A_CROWD, LeanArgon2PasswordHasher
from tests.support.hashers import busy

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")


def priority():
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.fixture
def priorities(monkeypatch):
    """The priority at which each hash was made or compared."""
    seen = []
    for name in ("encode", "verify"):
        real = getattr(Argon2PasswordHasher, name)

        def noted(self, *arguments, real=real):
            seen.append(priority())
            return real(self, *arguments)

        monkeypatch.setattr(Argon2PasswordHasher, name, noted)
    return seen


def test_a_hash_is_made_and_compared_at_a_lower_priority(priorities):
    before = priority()
    hasher = LeanArgon2PasswordHasher()
    encoded = hasher.encode("correct horse", hasher.salt())
    assert hasher.verify("correct horse", encoded)
    assert not hasher.verify("wrong horse", encoded)
    assert priorities == [max(before, NICENESS)] * 3
    assert priority() == before


def test_while_other_passwords_wait_a_hash_makes_way_still_more(priorities):
    before = priority()
    hasher = LeanArgon2PasswordHasher()
    with busy("192.0.2.1"):
        hasher.encode("correct horse", hasher.salt())
    hasher.encode("correct horse", hasher.salt())
    assert priorities == [max(before, NICENESS_IN_A_CROWD), max(before, NICENESS)]


def test_an_error_of_the_hash_reaches_the_caller():
    with pytest.raises(ValueError, match="not enough values"):
        LeanArgon2PasswordHasher().verify("correct horse", "no hash")
