"""The sites of the tests of commands."""

import pytest

from retwis_site.store.client import without_gate
from retwis_site.store.schema import Gate
from tests.support.maintenance.official_database import make_official_database


@pytest.fixture
def official(raw):
    """A database of the official Retwis; see `make_official_database`."""
    make_official_database(raw)
    return raw


@pytest.fixture
def gated(store):
    """The store has the gate that it has in every process of the site; the other tests run without it."""
    store.gate = Gate(without_gate())
