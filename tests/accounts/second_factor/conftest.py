"""alice's authenticator app and passkeys."""

import pytest

from tests.support.second_factors import App, Authenticator


@pytest.fixture
def app(monkeypatch):
    """An app that alice has not added yet."""
    return App(monkeypatch)


@pytest.fixture
def alices_app(app, store, alice):
    app.add(store)
    return app


@pytest.fixture
def passkey(store, alice):
    """A passkey that alice has added."""
    passkey = Authenticator()
    passkey.add(store)
    return passkey
