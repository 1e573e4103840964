"""An import from a database that is as "Designing Twitter Clone in Redis" says."""

import pytest

from tests.support.other_retwises.imported import follows, own_posts, posts
from tests.support.other_retwises.twtr import CompactTwtrSite, TwtrSite
from tests.support.people import LONG_AGO

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
    assert "people without a password that can be verified (`manage.py changepassword NAME` sets one): 3" in printed
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
