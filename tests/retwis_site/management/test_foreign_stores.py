"""A store of the official Retwis, of an older or of a newer site: what commands and pages do with it."""

import json
import logging

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command

from retwis_site.store import schema
from tests.support.command_output import refuses, said
from tests.support.stored_keys import everything

COMMANDS = [("doctor",), ("doctor", "--fix"), ("cleanup",), ("upgrade",)]
WRITING = [("seed", "--flush", "--noinput"), ("deliver", "--once"), ("createuser", "dora")]


def run(command):
    """The exit code. A CommandError is 1, as on the command line."""
    try:
        call_command(*command)
    except SystemExit as exit:
        return exit.code
    except CommandError:
        return 1
    return 0


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("state", ["untouched", "adopting"])
def test_nothing_in_an_official_database_is_changed(official, command, state):
    if state == "adopting":
        official.set("schema", schema.ADOPTING)
    before = everything(official)
    assert run(command) == (0 if command == ("cleanup",) else 1)
    assert everything(official) == before


def test_doctor_counts_an_official_database_and_says_what_to_do(official, capsys):
    with pytest.raises(SystemExit):
        call_command("doctor", "--fix")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "users: 4, posts: about 30, follows: 3, jobs in the outbox: 0"
    assert lines[1].startswith("age of the newest post: ")
    assert any(line.startswith("advice: Passwords in clear text: 4.") for line in lines)
    twins = "advice: Names that differ from another one only in letter case: "
    assert any(line.startswith(twins) and "amelia" in line.lower() for line in lines)
    assert lines[-1].startswith("This store has to be adopted first: the official Retwis has written it.")
    assert lines[-1].endswith("manage.py adopt --dry-run (docs/adopting.md)")
    with pytest.raises(SystemExit):
        call_command("doctor", "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["foreign"], report["posts_are_estimated"]) == (False, True, True)


def test_cleanup_says_what_to_do(official, capsys):
    assert "manage.py adopt --dry-run" in said(capsys, "cleanup")


def test_one_readable_password_among_hundreds_is_found(raw, official, store, capsys):
    """`examine` looks at some accounts, and all of those may be hashes already."""
    hashed = make_password(None)
    for uid in range(5, 800):
        raw.hset("users", f"user{uid}", uid)
        raw.hset(f"user:{uid}", mapping={"username": f"user{uid}", "password": hashed})
    for uid in (1, 3, 4):
        raw.hset(f"user:{uid}", "password", hashed)
    before = everything(raw)
    assert run(("doctor", "--fix")) == 1
    assert run(("cleanup",)) == 0
    assert run(("upgrade",)) == 1
    assert everything(raw) == before
    assert run(("adopt",)) == 0
    assert run(("doctor",)) == 0


def test_seed_does_not_delete_an_official_database(official):
    before = everything(official)
    refuses("Nothing was deleted: the official Retwis has written this store", "seed", "--flush", "--noinput")
    assert everything(official) == before


def test_after_adopting_each_person_counts_once_and_there_is_no_advice_on_accounts(official, capsys):
    call_command("adopt", verbosity=0)
    assert {"Amelia", "amelia"} <= set(official.hkeys("users"))
    capsys.readouterr()
    call_command("doctor", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["counts"] == {"users": 4, "posts": 30, "follows": 3, "jobs": 0}
    assert not [one for one in report["advice"] if one["id"] in {"retwis.W011", "retwis.W012"}]


# ---- a newer site


@pytest.fixture
def newer(site, gated):
    site.set("schema", str(schema.VERSION + 1))
    return site


@pytest.mark.parametrize("command", COMMANDS + WRITING, ids=" ".join)
def test_a_command_refuses_the_store_of_a_newer_site(newer, typed, command):
    typed("a long password\n")
    before = everything(newer)
    refuses("install the newer version", *command)
    assert everything(newer) == before


def test_a_page_of_an_older_site_is_a_503_and_the_log_names_the_fix(newer, browser, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("retwis"), "propagate", True)
    before = everything(newer)
    for address in ("/", "/timeline/", "/readyz"):
        assert browser().get(address).status_code == 503
    assert "install the newer version" in caplog.text
    assert everything(newer) == before
