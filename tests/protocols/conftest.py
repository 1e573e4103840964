"""Fixtures of the protocols: `cleanup` does not wait. What it waits for is over: each owner has ended or was killed."""

import time
from types import SimpleNamespace

import pytest

from retwis_site.jobs import outbox
from tests.support.protocols.small_site import Acts
from timeline.posts import checks as post_orphans


@pytest.fixture(autouse=True)
def cleanup_waits_for_nobody(monkeypatch):
    monkeypatch.setattr(post_orphans, "time", SimpleNamespace(time=time.time, sleep=lambda seconds: None))


@pytest.fixture(autouse=True)
def nobody_waits_for_what_is_paused(monkeypatch):
    """A process looks once whether another one has ended that is paused. In a `Schedule` each look is a turn."""
    monkeypatch.setattr(outbox, "LOOKS", 1)
    monkeypatch.setattr(outbox, "LOOKS_EVERY", 0)


@pytest.fixture
def acts(store):
    """What people do on the small site."""
    return Acts(store)
