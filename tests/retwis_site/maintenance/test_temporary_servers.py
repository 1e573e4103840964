"""A backup of a server with TLS, of one that writes its snapshot to its disk first, and of another database."""

from pathlib import Path

import pytest
import redis
from django.core.management import call_command

from retwis_site.maintenance.backups import read_manifest
from retwis_site.store.client import connect
from tests.support.command_output import refuses
from tests.support.maintenance.backups import back_up, restore
from tests.support.maintenance.copied_sites import keys_to_copy, make_site_with_every_key
from tests.support.processes.processes import environment, free_port, free_ports, manage, run_site
from tests.support.stores import acl_users
from tests.support.stores.topologies import Server, Tls, running

pytestmark = [pytest.mark.real_server, pytest.mark.processes]


def test_a_server_with_tls_is_backed_up_and_filled(moved, tmp_path):
    tls = Tls(tmp_path, "127.0.0.1", "localhost")
    server = Server(tmp_path, *free_ports(1), "--repl-diskless-sync-delay", "0", users=acl_users.lines(), tls=tls)
    with running([server]):
        moved(
            f"rediss://{acl_users.credentials(acl_users.ADMIN)}127.0.0.1:{server.port}?ssl_ca_certs={tls.authority}"
            "&ssl_check_hostname=False"
        )
        make_site_with_every_key(server.client, connect())
        before = keys_to_copy(server.client)
        made = back_up(tmp_path / "backups")
        server.client.flushall()
        restore(made)
        assert keys_to_copy(server.client) == before


def test_a_server_that_writes_to_its_disk_first_is_backed_up(site, may_sync, settings, tmp_path):
    site.config_set("repl-diskless-sync", "no")
    before = keys_to_copy(site)
    try:
        made = back_up(tmp_path)
    finally:
        site.config_set("repl-diskless-sync", "yes")
        (Path(settings.STORE_DIR) / "dump.rdb").unlink(missing_ok=True)
    site.flushall()
    restore(made)
    assert keys_to_copy(site) == {key: content for key, content in before.items() if key != "celery"}


def test_the_database_of_the_address_is_restored_and_no_other(moved, raw, may_sync, settings, tmp_path):
    raw.set("schema", "of another database")
    address = acl_users.url(settings.STORE_DIR, acl_users.ADMIN)
    moved(f"{address}?db=3")
    with redis.Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
        make_site_with_every_key(client, connect())
        before = keys_to_copy(client)
        made = back_up(tmp_path)
        assert read_manifest(made).database == 3
        raw.flushall()
        refuses("has no users in database 0", "restore", str(made / "store-1.rdb"))
        call_command("restore", str(made / "store-1.rdb"), database=3, verbosity=0)
        assert keys_to_copy(client) == before
        raw.flushall()
        restore(made)
        assert keys_to_copy(client) == before
        raw.flushall()


def test_the_embedded_server_is_backed_up_while_the_site_runs(tmp_path):
    env = environment(tmp_path / "var")
    env.pop("REDIS_URL")
    with run_site(tmp_path / "var", tmp_path / "log", free_port()) as site:
        site.wait_until_it_serves()
        ended = manage("backup", str(tmp_path / "backups"), "--verify", env=env)
        assert ended.returncode == 0, ended.stderr
        assert "`doctor` finds 0 errors in it." in ended.stdout
        assert site.browser.open("/timeline/")[0] == 200
        assert site.stop() == 0  # killed, it would leave the embedded server behind
