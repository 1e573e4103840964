"""A view that fails, for the tests of what is answered and logged then, and a site for `doctor`."""

import pytest

from tests.support.maintenance.healthy_site import make_healthy_site
from timeline.timelines.profile import Profiles


@pytest.fixture
def failing(monkeypatch, browser, alice):
    """`failing(error)`: the answer to alice when the view of a profile raises this error."""

    def fail(error, query=""):
        def page(*args):
            raise error

        monkeypatch.setattr(Profiles, "page", page)
        client = browser(alice)
        client.raise_request_exception = False
        return client.get(f"/@Alice/{query}")

    return fail


@pytest.fixture
def site(raw, store, alice, bob, carol):
    """A healthy site; see `make_healthy_site`."""
    make_healthy_site(raw, store, alice, bob, carol)
    return raw
