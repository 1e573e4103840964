"""`manage.py import_retwis`: what it refuses, a dry run, and a second run after a crash."""

import pytest
from django.core.management import CommandError, call_command

from retwis_site.maintenance.filling import Filling
from retwis_site.store.client import connect
from tests.support.command_output import said
from tests.support.other_retwises.imported import contents, posts
from tests.support.other_retwises.php import PhpRetwis
from tests.support.people import LONG_AGO
from tests.support.stores.indexed_posts import posts_under
from tests.support.stores.seam import Killed, killed_before_round_trip
from timeline.other_retwises.entities import CannotImport
from timeline.other_retwises.source import connect_to

WRITES = [("SET", "x", "1"), ("DEL", "x"), ("FLUSHDB",), ("LPUSH", "x", "1"), ("EXPIRE", "x", "1"), ("set", "x", "1")]


@pytest.fixture
def site(source):
    site = PhpRetwis(source.raw)
    for name in ("Alice", "bob"):
        site.register(name, f"the password of {name}")
    site.follow(1, 2)
    for number in range(3):
        site.post(2, f"number {number}", LONG_AGO + number)
    return site


def test_a_dry_run_tells_the_same_and_writes_nothing(raw, site, importing):
    dry = importing("--dry-run").splitlines()
    assert raw.keys() == []
    real = importing().splitlines()
    assert dry[:-1] == real[:-1]
    assert dry[-1] == "Nothing was written: this was a dry run."
    assert real[-1] == "Imported."


def test_the_site_works_after_an_import_and_doctor_finds_nothing(site, importing, browser, capsys):
    importing()
    assert "No errors" in said(capsys, "doctor")
    client = browser()
    assert client.post("/login/", {"username": "alice", "password": "the password of Alice"}).status_code == 302
    page = client.get("/").content.decode()
    assert all(f"number {number}" in page for number in range(3))
    assert client.post("/post/", {"body": "from here", "token": "new"}).status_code == 302
    assert "from here" in client.get("/timeline/").content.decode()


def test_a_store_with_people_is_refused(raw, site, importing, alice):
    before = contents(raw)
    with pytest.raises(CommandError, match="Name an empty one"):
        importing()
    assert contents(raw) == before


def test_after_a_crash_the_next_run_starts_from_the_beginning(raw, site, importing, source):
    def run():
        call_command("import_retwis", f"--from={source.url}", verbosity=0)

    for step in range(5, 60, 6):
        for key in raw.keys():  # noqa: SIM118  a client, not a dict
            raw.delete(key)
        site_before = contents(source.raw)
        if not killed_before_round_trip(step, run):
            break
        if raw.get("next_user_id") not in {None, "copying"}:  # only the search does not know all posts yet
            raw.delete("lease:reindex")  # a minute later
            call_command("reindex", verbosity=0)
            assert posts_under(connect(), "from:2") == {1, 2, 3}
            continue
        source.raw.delete("post:1")  # what was read from it must not stay
        run()
        assert list(posts(raw)) == [2, 3]
        source.raw.set("post:1", f"2|{LONG_AGO}|number 0")
        assert contents(source.raw) == site_before
    assert step > 20


def test_the_source_can_be_read_from_standard_input(raw, site, source, typed, capsys):
    typed(f"{source.url}\n")
    said(capsys, "import_retwis", "--from=-", verbosity=0)
    assert raw.hlen("users") == 2


@pytest.mark.parametrize("address", ["", " , "])
def test_no_address_is_an_error_that_shows_one(address):
    with pytest.raises(CommandError, match="--from names no server"):
        call_command("import_retwis", f"--from={address}")


def test_several_servers_that_are_no_cluster_are_refused(source):
    with pytest.raises(CommandError, match="several servers that are no cluster"):
        call_command("import_retwis", f"--from={source.url},{source.url}")


@pytest.mark.real_server
@pytest.mark.usefixtures("raw")
def test_a_source_that_does_not_answer_is_named():
    with pytest.raises(CommandError, match="--from does not answer"):
        call_command("import_retwis", "--from=redis://127.0.0.1:1")


@pytest.mark.parametrize("command", WRITES)
def test_a_command_that_is_no_read_is_not_sent_to_the_source(source, site, command):
    before = contents(source.raw)
    guarded = connect_to([source.url])
    pipe = guarded.pipeline()
    pipe.send(*command)
    for send in (lambda: guarded.send(*command), pipe.execute, lambda: guarded.servers()[0].send(*command)):
        with pytest.raises(CannotImport, match="only reads"):
            send()
    assert contents(source.raw) == before


def test_an_import_sends_only_reads_to_the_source(site, source, importing, sent):
    importing("--dry-run")
    assert {command[0] for command in sent.commands} <= {"GET", "INFO", "DBSIZE", "SCAN", "SSCAN", "TYPE"}


def test_a_killed_filling_leaves_no_site_that_takes_posts(raw, site, source, monkeypatch):
    def die(self, largest):
        raise Killed

    monkeypatch.setattr(Filling, "finish", die)
    with pytest.raises(Killed):
        call_command("import_retwis", f"--from={source.url}", verbosity=0)
    assert [raw.get(key) for key in ("next_user_id", "next_post_id")] == ["copying", "copying"]
