"""docs/operating.md: its commands of the site and of Redis run in their order, on one site, and what it says of full
memory is true. test_system_commands.py looks at the other commands."""

import io
import sys

import pytest
from django.core.management import call_command

from tests.support.http.page_text import page_of
from tests.support.maintenance.copied_sites import keys_to_copy
from tests.support.maintenance.healthy_site import make_healthy_site
from tests.support.people import register
from tests.support.stored_keys import publish
from tests.support.texts import guides

pytestmark = [pytest.mark.real_server, pytest.mark.one_server]

GUIDE = "operating"
BACKUPS = "/var/backups/retwis"
EMPTIES = "mv /var/lib/redis/appendonlydir"  # a server without its append-only file is empty


@pytest.fixture
def settings_of_server(raw):
    """The settings that the guide changes have their values again after the test."""
    kept = raw.config_get("maxmemory", "latency-monitor-threshold")
    yield
    for name, value in kept.items():
        raw.config_set(name, value)


@pytest.mark.usefixtures("settings_of_server")
def test_the_commands_run_in_their_order(raw, store, rights, monkeypatch, tmp_path, capsys):
    raw.config_set("repl-diskless-sync-delay", 0)
    eve = register(store, "eve")
    for number in range(4):
        publish(raw, store, eve, f"Buy {number}")
    said, folder = {}, tmp_path
    for number, command in enumerate(guides.commands(GUIDE)):
        if "retwis db backup" in command or command.startswith(EMPTIES):
            folder = tmp_path / str(number)  # two backups of one second have the same name
        program, *arguments = guides.words(command.replace(BACKUPS, str(folder)))
        if program == "redis-cli":
            raw.execute_command(*arguments)
        elif program == "retwis":
            rights("+sync", "+replconf")  # for `backup`; ACL LOAD takes them away
            monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse battery\n"))
            call_command(*arguments)
            said[command] = capsys.readouterr().out
        if command.startswith(EMPTIES):
            call_command("backup", folder)
        if command.startswith(EMPTIES) or ("--verify" not in arguments and arguments[:2] == ["db", "backup"]):
            before = keys_to_copy(raw)
            raw.flushall()
        if arguments[:2] == ["db", "restore"]:
            assert keys_to_copy(raw) == before
    assert "The store has schema 1." in said["retwis db upgrade"]
    assert "/reset/" in said["retwis user resetlink alice"]
    assert raw.hget("staff", "2") == "admin"
    assert raw.hget("site", "registration") == "approval"
    assert raw.hget("post:4", "deleted").endswith(":staff")


def test_the_store_does_not_know_the_domain(raw, store, member, settings):
    settings.ALLOWED_HOSTS = ["retwis.example", "club.example"]
    old, new = ({"HTTP_HOST": host} for host in settings.ALLOWED_HOSTS)
    member.post("/post/", {"body": "Kept", "token": "1-abcdefgh"}, **old)
    assert member.post("/settings/", {"name": "Al", "bio": "Also kept"}, **old).status_code == 302
    everything = str(keys_to_copy(raw))
    assert "Kept" in everything
    assert "Also kept" in everything
    assert "retwis.example" not in everything
    assert "Kept" in member.get("/", **new).content.decode()  # the browser has its cookie here, and lost it there
    assert "http://club.example/@Alice/1/</guid>" in member.get("/@Alice/rss/", **new).content.decode()


def test_a_replica_can_be_read_and_takes_no_changes_until_it_is_the_primary(raw, member, capsys):
    form = {"body": "Typed", "token": "1-abcdefgh"}
    [promote] = [command for command in guides.commands(GUIDE) if "REPLICAOF" in command]
    raw.replicaof("127.0.0.1", 1)
    try:
        assert member.get("/").status_code == 200
        assert "The site can only be read right now, and takes no changes." in page_of(member.post("/post/", form), 503)
        assert raw.info("replication")["role"] == "slave"
    finally:
        raw.execute_command(*guides.words(promote)[1:])
    assert member.post("/post/", form).status_code == 302


def test_a_full_memory_refuses_changes_and_pages_can_be_read(raw, store, alice, bob, carol, browser):
    make_healthy_site(raw, store, alice, bob, carol)
    signed_in = browser(alice)
    form = {"body": "Typed", "token": "1-abcdefgh"}
    limit = raw.config_get("maxmemory")["maxmemory"]
    raw.config_set("maxmemory", 1)
    try:
        assert signed_in.get("/").status_code == 200
        assert browser().get("/@Alice/").status_code == 200
        for path, fields, who in (
            ("/post/", form, signed_in),
            ("/login/", {"username": "alice", "password": "x"}, browser()),
        ):
            assert "The site can only be read right now, and takes no changes." in page_of(who.post(path, fields), 503)
    finally:
        raw.config_set("maxmemory", limit)
