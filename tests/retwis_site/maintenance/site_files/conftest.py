"""A site that has all that a file can hold."""

import pytest

from tests.support.maintenance.site_files import make_full_site


@pytest.fixture
def full_site(raw, store):
    """See `make_full_site`."""
    make_full_site(raw, store)
    return raw
