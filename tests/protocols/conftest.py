"""Fixtures of the protocols: `cleanup` does not wait. What it waits for is over: each owner has ended or was killed."""

import time
from types import SimpleNamespace

import pytest

from tests.support.protocols.community import StaffActs
from timeline.posts import checks as post_orphans


@pytest.fixture(autouse=True)
def cleanup_waits_for_nobody(monkeypatch):
    monkeypatch.setattr(post_orphans, "time", SimpleNamespace(time=time.time, sleep=lambda seconds: None))


@pytest.fixture
def acts(store):
    """What people and staff do on the small site."""
    return StaffActs(store)
