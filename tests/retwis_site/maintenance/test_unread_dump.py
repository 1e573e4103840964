"""The trap: a server with `appendonly yes` does not read a dump.rdb, and the site is empty. It is found."""

from pathlib import Path

import pytest
import redis
from django.core.management import call_command

from retwis_site.maintenance import server_advice
from retwis_site.maintenance.server_advice import advice
from retwis_site.store import embedded
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer
from tests.support.command_output import refuses, said
from tests.support.maintenance.backups import restore, saved
from tests.support.processes.processes import embedded_client
from tests.support.stores.acl_users import advice_only

pytestmark = pytest.mark.real_server


@pytest.fixture
def appends(raw):
    """The server keeps an append-only file."""
    raw.config_set("appendonly", "yes")
    yield raw
    raw.config_set("appendonly", "no")


@pytest.fixture
def dump(settings):
    """A dump.rdb in the server's folder."""
    path = Path(settings.STORE_DIR) / "dump.rdb"
    path.write_bytes(b"REDIS0009")
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def may_ask(rights):
    """The site's user may send CONFIG GET."""
    rights(*(f"+{command}" for command in advice_only()))


def unread(store):
    return [piece for piece in advice(store) if piece.id == "retwis.W013"]


@pytest.mark.usefixtures("may_ask")
def test_an_unread_dump_is_named_with_the_way_out(store, appends, dump, capsys):
    (piece,) = unread(store)
    assert str(dump) in piece.text
    assert "`manage.py db restore FILE.rdb`" in piece.hint
    assert f"has not read {dump}" in said(capsys, "doctor")


@pytest.mark.usefixtures("may_ask")
def test_a_folder_that_may_not_be_entered_is_the_general_advice(store, appends, dump, monkeypatch, capsys):
    """As Debian's /var/lib/redis, with mode 0750. root may enter every folder, so the refusal is played."""
    look = Path.stat

    def refuse(path, **options):
        if path.name == dump.name:
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    (piece,) = unread(store)
    assert piece.text.startswith("The store has no users. If its server was given a dump.rdb")
    assert "If its server was given a dump.rdb" in said(capsys, "doctor")


@pytest.mark.usefixtures("may_ask")
def test_a_dump_of_this_machine_says_nothing_about_another(store, appends, dump, monkeypatch):
    monkeypatch.setattr(server_advice, "is_on_this_machine", lambda server: False)
    (piece,) = unread(store)
    assert piece.text.startswith("The store has no users. If its server was given a dump.rdb")


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("unix:///run/redis.sock", True),
        ("redis://localhost:6379", True),
        ("redis://127.0.0.1:6379", True),
        ("redis://[::1]:6379", True),
        ("redis://10.0.0.7:6379", False),
        ("redis://redis:6379", False),
    ],
)
def test_only_a_socket_and_the_loopback_device_are_this_machine(url, here):
    assert server_advice.is_on_this_machine(Store(OneServer(redis.Redis.from_url(url)))) is here


@pytest.mark.usefixtures("may_ask")
@pytest.mark.parametrize(
    "has",
    [["appends"], ["appends", "dump", "alice"], ["dump"]],
    ids=["an empty store without a dump", "users", "a server without an append-only file"],
)
def test_there_is_no_advice_where_no_dump_was_left_out(store, raw, request, has):
    for name in has:
        request.getfixturevalue(name)
    assert unread(store) == []


@pytest.mark.usefixtures("may_ask")
def test_an_empty_file_is_no_dump(store, appends, dump):
    dump.write_bytes(b"")
    assert unread(store) == []


def test_a_user_who_may_not_ask_for_the_folder_is_told_what_to_look_for(store, appends, dump):
    (piece,) = unread(store)
    assert piece.text == (
        "The store has no users. If its server was given a dump.rdb, it has not read it (appendonly yes)."
    )
    assert piece.hint.startswith("For a new site, do nothing. Else: Move that file out")


def test_the_embedded_server_refuses_a_dump_that_it_would_not_read(embedded_site, raw, tmp_path, store):
    raw.hset("users", "alice", 1)
    raw.hset("user:1", mapping={"username": "alice", "password": "!"})
    raw.set("next_user_id", 1)
    store_folder = embedded_site / "store"
    store_folder.mkdir(parents=True)
    dump = saved(raw, store_folder)
    refuses(rf"not read {dump}: move that file .*`manage\.py db restore FILE\.rdb`", "doctor")
    moved_away = dump.rename(tmp_path / "dump.rdb")
    restore(moved_away)
    with embedded.running(), embedded_client() as client:
        assert client.hgetall("users") == {"alice": "1"}


def test_the_embedded_server_refuses_a_dump_beside_its_append_only_files(embedded_site, capsys):
    call_command("seed", "--users=3", "--posts=5", "--follows=1", "--noinput", verbosity=0)
    dump = embedded_site / "store" / "dump.rdb"
    dump.write_bytes(b"REDIS0009")
    refuses(r"not read .*dump\.rdb.* move that file .*`manage\.py db restore FILE\.rdb`", "doctor")
    dump.unlink()
    assert "No errors." in said(capsys, "doctor")
