"""A view that fails, for the tests of what is answered and logged then."""

import pytest

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
