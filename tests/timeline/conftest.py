"""What tests of many rooms of the timeline begin with."""

import pytest

from tests.support.stored_keys import publish


@pytest.fixture
def pid(store, raw, alice, bob, carol):
    """A post of bob's."""
    return publish(raw, store, bob, "Hello")
