"""`seed --flush` asks before it deletes, whatever its standard input is."""

from contextlib import nullcontext as nothing

import pytest
from django.core.management import CommandError

from retwis_site.store.connection import topology
from tests.support.demo_community import seed
from tests.support.stored_keys import everything, publish


@pytest.fixture
def site(raw, store, alice, bob):
    """A site with two users and one post."""
    publish(raw, store, alice, "Hello")
    return raw


@pytest.fixture
def embedded(settings):
    """The store counts as the embedded one."""
    settings.REDIS_URL = ""


@pytest.mark.parametrize("answer", ["", "\n", "y\n", "yes\n", "3\n", "no\n2\n"])
def test_only_the_number_of_users_deletes_a_store_at_redis_url(site, typed, answer):
    before = everything(site)
    typed(answer)
    with pytest.raises(CommandError, match="Nothing was deleted"):
        seed("--flush")
    assert everything(site) == before


@pytest.mark.parametrize("answer", ["2\n", "2", " 2 \n"])
def test_the_number_of_users_deletes_it(site, typed, answer):
    typed(answer)
    seed("--flush")
    assert site.hlen("users") == 60
    assert "alice" not in site.hgetall("users")


@pytest.mark.parametrize(("answer", "deletes"), [("yes\n", True), ("2\n", False), ("y\n", False), ("", False)])
def test_yes_deletes_the_embedded_store(site, embedded, monkeypatch, typed, answer, deletes):
    """The command stays on the store of the test: without REDIS_URL it would start a server."""
    monkeypatch.setattr("retwis_site.store.embedded.running", nothing)
    typed(answer)
    if deletes:
        seed("--flush")
    else:
        with pytest.raises(CommandError, match="Nothing was deleted"):
            seed("--flush")
    assert ("alice" not in site.hgetall("users")) is deletes


def test_the_question_names_the_store_and_the_numbers(site, typed, capsys):
    typed("2\n")
    seed("--flush")
    question = capsys.readouterr().out
    assert f"This deletes the whole site ({topology.described()}; users: 2, posts: 1)." in question
    assert "Type the number of users to continue: " in question


def test_the_end_of_input_names_the_option(site, typed):
    typed("")
    with pytest.raises(CommandError, match="--noinput"):
        seed("--flush")


def test_noinput_asks_nothing(site, typed, capsys):
    typed("")
    seed("--flush", "--noinput")
    assert capsys.readouterr().out == ""
    assert site.hlen("users") == 60


def test_an_empty_store_asks_nothing(raw, typed):
    typed("")
    seed("--flush")
    assert raw.hlen("users") == 60
