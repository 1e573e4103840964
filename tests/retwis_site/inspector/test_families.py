"""Families of keys: counted from a sample, with a bounded number of commands."""

import pytest

from retwis_site.exceptions import BadCursor
from retwis_site.inspector import key_browser
from retwis_site.inspector.key_browser import OTHERS, Families, ScanPlace, Tally, packed, patterns, place_in, tallies_in
from tests.support.stored_posts import write_posts


@pytest.fixture
def site(raw, store, alice, bob):
    write_posts(raw, 1, range(1, 41))
    raw.set("another-program", "x")
    return Families(store)


def test_all_keys_of_a_small_site_are_counted(store, site):
    sample = site.look(ScanPlace(), {})
    assert sample.further is None
    assert sample.looked_at == sample.total == store.dbsize()
    assert sample.number("user:*") == 2
    assert sample.number("post:*") == 40
    assert sample.number("users") == 1
    assert sample.number("likes:*") == 0
    assert sample.number("timeline:[0-9]*") == 0
    assert sample.number(OTHERS) == 1
    assert not sample.is_estimate("post:*")


def test_some_keys_of_each_family_are_named(site):
    examples = site.look(ScanPlace(), {}).examples
    assert examples["user:*"] == ["user:1", "user:2"]
    assert len(examples["post:*"]) == key_browser.EXAMPLES
    assert examples["users"] == ["users"]
    assert examples["likes:*"] == []
    assert "another-program" not in str(examples)


def test_it_sends_no_keys_and_a_bounded_number_of_scans(raw, site, round_trips, monkeypatch):
    monkeypatch.setattr(key_browser, "AT_ONCE", 2)
    monkeypatch.setattr(key_browser, "SCANS", 3)
    sent = [command[0] for command in round_trips(lambda: site.look(ScanPlace(), {})).commands]
    assert sent.count("SCAN") <= 3
    assert set(sent) <= {"SCAN", "DBSIZE", "TYPE", "MEMORY"}


@pytest.mark.one_server
def test_the_memory_of_only_some_keys_of_a_family_is_asked_for(site, round_trips):
    sent = round_trips(lambda: site.look(ScanPlace(), {})).commands
    asked = [command[2] for command in sent if command[0] == "MEMORY"]
    assert len([key for key in asked if key.startswith("post:")]) <= key_browser.MEASURED


@pytest.mark.one_server
def test_the_next_page_goes_on_and_adds_up(raw, site, monkeypatch):
    monkeypatch.setattr(key_browser, "AT_ONCE", 5)
    monkeypatch.setattr(key_browser, "SCANS", 1)
    sample = site.look(ScanPlace(), {})
    assert sample.further is not None
    assert sample.is_estimate("post:*")
    while sample.further is not None:
        earlier = sample.looked_at
        sample = site.look(place_in(str(sample.further)), tallies_in(packed(sample.tallies)))
        assert sample.looked_at >= earlier
    assert sample.looked_at == raw.dbsize()
    assert sample.number("post:*") == 40


@pytest.mark.one_server
def test_the_number_of_all_is_estimated_from_some(raw, site, monkeypatch):
    monkeypatch.setattr(key_browser, "AT_ONCE", 5)
    monkeypatch.setattr(key_browser, "SCANS", 1)
    sample = site.look(ScanPlace(), {})
    found = sample.tallies["post:*"].found
    assert sample.number("post:*") == round(found * raw.dbsize() / sample.looked_at)
    assert sample.number("users") == 1


@pytest.mark.real_server
def test_the_memory_is_that_of_the_server(raw, site):
    sample = site.look(ScanPlace(), {})
    assert sample.refusals == []
    assert sample.memory("users") == raw.memory_usage("users")
    measured = sum(raw.memory_usage(f"user:{uid}") for uid in (1, 2))
    assert sample.memory("user:*") == measured
    assert sample.memory("likes:*") is None


@pytest.mark.real_server
@pytest.mark.parametrize(("right", "refused"), [("-scan", "SCAN"), ("-dbsize", "DBSIZE"), ("-memory|usage", "MEMORY")])
@pytest.mark.one_server
def test_what_the_server_refuses_is_said(site, rights, right, refused):
    rights(right)
    sample = site.look(ScanPlace(), {})
    [refusal] = sample.refusals
    assert refusal.startswith(f"the store refused {refused}")
    assert "docs/redis.md" in refusal
    assert sample.number("users") == 1


@pytest.mark.cluster
@pytest.mark.twemproxy
def test_all_servers_of_a_cluster_and_behind_a_proxy_are_scanned(raw, store, alice, bob, settings):
    write_posts(raw, 1, range(1, 41))
    sample = Families(store).look(ScanPlace(), {})
    while sample.further is not None:
        sample = Families(store).look(sample.further, sample.tallies)
    assert sample.number("post:*") == 40
    assert settings.REDIS_TOPOLOGY == "twemproxy" or sample.memory("post:*") > 0


@pytest.mark.parametrize("text", ["", "0", "0.", ".0", "0.x", "0.-1", "x.0", "0.99999999999999999999", "0.0.0", "٠.٠"])
def test_what_is_no_place_is_a_bad_cursor(text):
    with pytest.raises(BadCursor):
        place_in(text)


def test_a_place_on_a_server_that_is_not_there_is_a_bad_cursor(store):
    with pytest.raises(BadCursor):
        Families(store).look(ScanPlace(server=99), {})


@pytest.mark.parametrize("text", ["", "1.2.3", "_" * 40, "x", "1.2.3_" * 200])
def test_what_are_no_tallies_is_a_bad_cursor(text):
    with pytest.raises(BadCursor):
        tallies_in(text)


def test_tallies_come_back_from_an_address():
    tallies = {pattern: Tally(number, 1, number * 100) for number, pattern in enumerate(patterns())}
    assert tallies_in(packed(tallies)) == tallies
