"""The app of the tests."""

import pytest

from tests.support.apps import App


@pytest.fixture
def app(alice):
    """It acts for alice, with every scope."""
    return App(alice)
