"""Demo communities for tests that only read them: each is made once, and written again for the next test."""

import pytest

from tests.support.demo_community import seed
from tests.support.stored_keys import everything, write_all


@pytest.fixture(scope="module")
def made():
    """`made(raw, posts=2000)`: the empty store gets the community of `seed` with these numbers."""
    stored = {}

    def make(raw, **numbers):
        one = tuple(numbers.items())
        if one in stored:
            write_all(raw, stored[one])
        else:
            seed(**numbers)
            stored[one] = everything(raw)

    return make


@pytest.fixture
def seeded(raw, made):
    """Sixty users and three hundred posts."""
    made(raw)


@pytest.fixture
def talkative(raw, made):
    """Two hundred users and two thousand posts."""
    made(raw, users=200, posts=2000)
