"""An import from a database that is as "Designing Twitter Clone in Redis" says."""

import pytest

from tests.support.other_retwises.imported import follows, own_posts, posts
from tests.support.other_retwises.twtr import CompactTwtrSite, TwtrSite
from tests.support.people import LONG_AGO
from timeline.other_retwises import layouts

MANY = 250  # posts; the lists have chunks of 100


@pytest.mark.parametrize("follows_key", ["follows", "following"])
@pytest.mark.parametrize("kind", [TwtrSite, CompactTwtrSite])
def test_names_become_users_in_their_order(raw, source, importing, kind, follows_key):
    site = kind(source.raw, follows_key)
    site.follow("carol", "bob")
    site.post("bob", "Hello | there", LONG_AGO)
    site.post("Alice", "Me too", LONG_AGO + 1)
    printed = importing()
    assert raw.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}
    assert follows(raw) == {(3, 2): 0}
    assert posts(raw) == {1: (2, LONG_AGO, "Hello | there"), 2: (1, LONG_AGO + 1, "Me too")}
    assert "people without a password that can be verified (`manage.py user password NAME` sets one): 3" in printed
    assert raw.hget("user:1", "password").startswith("!")


@pytest.mark.parametrize("archived", [False, True])
def test_posts_of_old_chunks_are_found_also_when_the_chunks_are_gone(raw, source, importing, archived):
    site = TwtrSite(source.raw)
    for number in range(MANY):
        site.post("bob", f"number {number}", LONG_AGO + number)
    if archived:
        site.archive("bob")
    importing()
    assert own_posts(raw, 1) == list(range(1, MANY + 1))


def test_a_post_without_an_owner_is_found_by_its_key(raw, source, importing):
    site = TwtrSite(source.raw)
    site.post("alice", "first", LONG_AGO)
    site.post("bob", "second", LONG_AGO + 1)
    source.raw.delete("twtr:post_owner:2")
    importing()
    assert posts(raw)[2] == (2, LONG_AGO + 1, "second")


def test_posts_without_owners_in_many_ranges_are_found(raw, source, importing, monkeypatch):
    monkeypatch.setattr(layouts, "RANGES_AT_ONCE", 1)
    site = TwtrSite(source.raw)
    site.post("carol", "first", LONG_AGO)
    for number in range(1, 5):
        site.store("alice" if number % 2 else "bob", number * 1000, "far", LONG_AGO + number)
    importing()
    assert [(pid, author) for pid, (author, _, _) in posts(raw).items()] == [
        (1, 3),
        (1000, 1),
        (2000, 2),
        (3000, 1),
        (4000, 2),
    ]


@pytest.mark.parametrize("kinds", [["follows", "following"], ["followers"], ["following", "followers"]])
def test_a_follow_in_any_of_the_sets_is_one_follow(raw, source, importing, kinds):
    TwtrSite(source.raw).post("alice", "first", LONG_AGO)
    TwtrSite(source.raw).post("bob", "second", LONG_AGO)
    for kind in kinds:
        one, other = ("bob", "alice") if kind == "followers" else ("alice", "bob")
        source.raw.sadd(f"twtr:{one}:{kind}", other)
    assert "people: 2, follows: 1, likes: 0" in importing()
    assert follows(raw).keys() == {(1, 2)}


def test_a_strange_name_in_a_set_is_shown_with_escapes(source, importing):
    TwtrSite(source.raw).post("alice", "first", LONG_AGO)
    source.raw.sadd("twtr:alice:follows", b"caf\xe9 \x1b[2J")
    assert "note: follows of unknown people: 1 (alice follows caf\\udce9 \\x1b[2J)" in importing()


def test_a_name_may_have_colons(raw, source, importing):
    site = TwtrSite(source.raw)
    site.follow("a:b", "bob:post")
    site.post("a:b", "first", LONG_AGO)
    site.post("bob:post", "second", LONG_AGO + 1)
    source.raw.delete("twtr:post_owner:2")
    importing()
    assert raw.hgetall("users") == {"a:b": "1", "bob:post": "2"}
    assert follows(raw).keys() == {(1, 2)}
    assert posts(raw) == {1: (1, LONG_AGO, "first"), 2: (2, LONG_AGO + 1, "second")}


def test_a_compact_post_may_have_an_iso_time(raw, source, importing):
    site = CompactTwtrSite(source.raw)
    site.post("alice", "one | two", "2023-11-14T22:13:20Z")
    site.post("alice", "no time", "2023-99-14 22:13:20")
    importing()
    assert posts(raw)[1] == (1, 1_700_000_000, "one | two")
    assert posts(raw)[2][2] == "2023-99-14 22:13:20|no time"


def test_a_post_whose_text_has_expired_is_counted(raw, source, importing):
    site = TwtrSite(source.raw)
    site.post("alice", "first", LONG_AGO)
    site.post("alice", "second", LONG_AGO + 1)
    source.raw.delete("twtr:alice:post:1")
    assert "note: posts whose text is gone: 1 (post 1)" in importing()
    assert list(posts(raw)) == [2]


def test_a_text_that_only_begins_like_a_time_stays_whole(raw, source, importing):
    site = TwtrSite(source.raw)
    site.post("alice", f"{LONG_AGO}|is a time", LONG_AGO)
    site.post("alice", "5|is none", LONG_AGO)
    importing()
    assert [text for _, _, text in posts(raw).values()] == [f"{LONG_AGO}|is a time", "5|is none"]
