"""The log of the site, for tests of the worker."""

import logging

import pytest


@pytest.fixture
def log(caplog, monkeypatch):
    """The log of the site, captured and not printed."""
    logger = logging.getLogger("retwis")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "handlers", [])
    return caplog
