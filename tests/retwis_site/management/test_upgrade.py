"""`manage.py db upgrade`, and what `serve`, `seed` and `doctor` do with the key `schema`."""

import pytest
from django.core.management import call_command

from retwis_site.management.commands.serve import Command as Serve
from retwis_site.store import schema
from tests.support.command_output import doctor, refuses, said
from tests.support.stored_keys import everything


def make_older(raw):
    """As the first version wrote a store: without `schema`, without the index of names, without the ranking."""
    raw.delete("schema", "users_by_name", "users_by_followers")


def test_it_repairs_a_store_of_an_older_site_and_marks_it(site, capsys):
    index, ranking = site.zrange("users_by_name", 0, -1), site.zrange("users_by_followers", 0, -1)
    make_older(site)
    out = said(capsys, "upgrade")
    assert "names that users_by_name lacks: " in out
    assert out.endswith("The store has schema 1.\n")
    assert site.get("schema") == "1"
    assert set(site.zrange("users_by_name", 0, -1)) == set(index)
    assert site.zrange("users_by_followers", 0, -1) == ranking
    assert doctor(capsys) == (0, {}, {})


def test_a_second_run_changes_nothing(site, capsys):
    call_command("upgrade", verbosity=0)
    before = everything(site)
    assert said(capsys, "upgrade") == "The store has schema 1.\n"
    assert everything(site) == before


def test_a_store_of_a_commit_with_the_same_number_is_repaired_too(site, capsys):
    """Between two releases the number stays, and a later commit may write what an earlier one did not."""
    call_command("upgrade", verbosity=0)
    index = site.zrange("users_by_name", 0, -1)
    site.delete("users_by_name")
    assert "names that users_by_name lacks: " in said(capsys, "upgrade")
    assert set(site.zrange("users_by_name", 0, -1)) == set(index)
    assert doctor(capsys) == (0, {}, {})


def test_after_a_crash_it_can_run_again(site, monkeypatch, capsys):
    make_older(site)
    with monkeypatch.context() as crash:
        crash.setattr(schema, "mark", lambda store: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(SystemExit):
            call_command("upgrade", verbosity=0)
    assert not site.exists("schema")
    call_command("upgrade", verbosity=0)
    assert site.get("schema") == "1"
    assert doctor(capsys) == (0, {}, {})


@pytest.mark.parametrize("key", ["users", "user:2", "users_by_name"])
def test_a_key_of_the_wrong_type_does_not_stop_the_repair(site, gated, key, capsys):
    kind = site.type(key)
    make_older(site)
    site.delete(key)
    site.rpush(key, "x")
    call_command("upgrade", verbosity=0)
    assert site.type(key) == kind
    assert site.get("schema") == "1"
    assert doctor(capsys)[:2] == (0, {})


def test_an_empty_store_is_only_marked(raw):
    call_command("upgrade", verbosity=0)
    assert everything(raw) == {"schema": "1"}


@pytest.mark.real_server
@pytest.mark.one_server
def test_a_repair_that_is_refused_leaves_the_store_unmarked(site, rights):
    make_older(site)
    rights("-zadd")
    refuses("The upgrade is not finished: names that users_by_name lacks", "upgrade", verbosity=0)
    assert not site.exists("schema")


# ---- serve and seed


def welcomed(store, capsys):
    """What `serve` prints about the store when it starts."""
    command = Serve()
    command.verbosity = 1
    capsys.readouterr()
    command._welcome(store)
    return capsys.readouterr().out


def test_serve_marks_an_empty_store(raw, store, capsys):
    assert welcomed(store, capsys) == ""
    assert everything(raw) == {"schema": "1"}


def test_serve_says_nothing_about_its_own_store(site, store, capsys):
    site.set("schema", "1")
    before = everything(site)
    assert welcomed(store, capsys) == ""
    assert everything(site) == before


def test_serve_says_when_an_upgrade_is_needed_and_changes_nothing(site, store, capsys):
    make_older(site)
    before = everything(site)
    assert "Stop the site and run: manage.py db upgrade" in welcomed(store, capsys)
    assert everything(site) == before


def test_serve_says_when_a_store_has_to_be_adopted(official, store, capsys):
    before = everything(official)
    assert "manage.py adopt --dry-run" in welcomed(store, capsys)
    assert everything(official) == before


def test_serve_refuses_the_store_of_a_newer_site(site, store, gated, capsys):
    site.set("schema", "2")
    with pytest.raises(schema.NewerSchema):
        welcomed(store, capsys)


def test_a_seeded_store_is_marked(raw):
    call_command("seed", "--users=3", "--posts=2", "--follows=1", verbosity=0)
    assert raw.get("schema") == "1"
