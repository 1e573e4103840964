"""Servers with passwords behind a Twemproxy. It signs in as the user `default`; the site scans as another user."""

import pytest
from django.core.management import call_command

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.store.client import connect
from tests.support.people import register
from tests.support.stores import acl_users, topologies

pytestmark = pytest.mark.twemproxy


@pytest.fixture
def guarded(moved, settings, tmp_path):
    """Two servers with the documented users behind a proxy, used by the site."""
    port, *ports = topologies.free_ports(3)
    servers = [topologies.Server(tmp_path, number, users=acl_users.proxied_lines(), admin="admin") for number in ports]
    password = acl_users.PASSWORDS[acl_users.SITE]
    with topologies.running(servers), topologies.proxy(tmp_path, port, servers, password):
        settings.REDIS_NODES = [f"redis://{acl_users.credentials()}127.0.0.1:{number}" for number in ports]
        moved(f"redis://{acl_users.credentials().removeprefix(acl_users.SITE)}127.0.0.1:{port}")
        yield port, servers


def test_the_site_works_and_no_command_is_refused(guarded, use_the_site):
    _, servers = guarded
    for server in servers:
        server.refused()
    use_the_site()
    for command in ("doctor", "cleanup"):
        call_command(command, verbosity=0)
    assert sum(connect().info()[number]["db0"]["keys"] for number in (0, 1)) == connect().dbsize() > 5
    assert [entry for server in servers for entry in server.refused()] == []


def test_the_user_that_scans_has_no_other_rights(guarded):
    register(connect(), "alice")
    for server in connect().servers():
        for command in (server.get, server.unlink):
            with pytest.raises(StoreRefused, match="permission"):
                command("users")


def test_a_wrong_password_is_an_error_that_names_the_fix(guarded, moved):
    port, _ = guarded
    moved(f"redis://:wrong@127.0.0.1:{port}")
    with pytest.raises(StoreError) as caught:
        connect().get("health")
    assert "Give REDIS_URL a user and password" in str(caught.value)
    assert "wrong" not in str(caught.value)
