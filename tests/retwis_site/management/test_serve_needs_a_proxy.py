"""`serve` says at its start that a proxy belongs in front of an address that other machines may reach."""

import io
import os
import re
from unittest import mock

import pytest
from django.core.management import call_command

from retwis_site.management.commands import serve
from tests.support.processes.processes import free_port


@pytest.fixture
def said(monkeypatch, store, settings):
    """What `serve` prints with this host. No server starts."""
    settings.REDIS_URL = settings.REDIS_URL or "redis://fake.invalid"
    monkeypatch.setattr(serve.os, "environ", {**os.environ})
    for name in ("_serve", "call_command", "_require_free_port"):  # this machine may have no IPv6
        monkeypatch.setattr(serve, name, mock.Mock())

    def run(host):
        output = io.StringIO()
        call_command("serve", f"--host={host}", f"--port={free_port()}", stdout=output, stderr=io.StringIO())
        return output.getvalue()

    return run


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "retwis.example"])  # noqa: S104
def test_on_an_address_for_others_it_says_what_only_a_proxy_can_do(said, host):
    text = said(host)
    assert "Put a reverse proxy in front of it" in text
    for work in ("TLS", "slow clients", "too many requests", "too many addresses"):
        assert work in text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_on_loopback_it_does_not(said, host):
    assert "Retwis is at" in said(host)
    assert "proxy" not in said(host)


def test_the_printed_address_is_one_that_a_browser_opens(said, settings):
    settings.SCRIPT_NAME = "/social"
    assert re.search(r"Retwis is at http://\[::1\]:[0-9]+/social   ", said("::1"))
