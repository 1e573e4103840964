"""An import from the database of Retwis-J: also replies and their threads."""

import pytest

from tests.support.other_retwises.imported import follows, logs_in, posts
from tests.support.other_retwises.retwis_j import JavaRetwis
from tests.support.people import LONG_AGO
from timeline.other_retwises import layouts


@pytest.fixture
def site(source):
    """bob answers Alice's post, and she answers him."""
    site = JavaRetwis(source.raw)
    for name in ("Alice", "bob"):
        site.register(name, f"the password of {name}")
    site.follow(1, 2)
    site.post(1, "Hello", LONG_AGO)
    site.post(2, "@Alice Hello", LONG_AGO + 1, reply_to=1)
    site.post(1, "@bob And you?", LONG_AGO + 2, reply_to=2)
    return site


def replies(raw):
    """pid -> (reply_to, root, reply_to_user), of all replies."""
    stored = {pid: raw.hmget(f"post:{pid}", "reply_to", "root", "reply_to_user") for pid in posts(raw)}
    return {pid: tuple(map(int, fields)) for pid, fields in stored.items() if any(fields)}


def test_people_follows_posts_and_replies(raw, site, importing):
    printed = importing()
    assert raw.hgetall("users") == {"alice": "1", "bob": "2"}
    assert follows(raw) == {(1, 2): 0}
    assert posts(raw) == {
        1: (1, LONG_AGO, "Hello"),
        2: (2, LONG_AGO + 1, "@Alice Hello"),
        3: (1, LONG_AGO + 2, "@bob And you?"),
    }
    assert replies(raw) == {2: (1, 1, 1), 3: (2, 1, 2)}
    assert "posts: 3, of these replies: 2" in printed
    assert logs_in("bob", "the password of bob")


@pytest.mark.parametrize("kept", [1, 20_000])
def test_a_long_thread_has_one_root(raw, site, importing, monkeypatch, kept):
    monkeypatch.setattr(layouts, "ROOTS_KEPT", kept)
    for number in range(3, 40):
        site.post(2, "and so on", LONG_AGO + number, reply_to=number)
    importing()
    assert {root for _, root, _ in replies(raw).values()} == {1}
    assert len(replies(raw)) == 39


def test_a_reply_to_a_deleted_post_becomes_a_plain_post(raw, site, source, importing):
    source.raw.delete("pid:2")
    assert "note: replies to posts that do not exist: 1 (post 3)" in importing()
    assert list(posts(raw)) == [1, 3]
    assert replies(raw) == {}


@pytest.mark.parametrize("kept", [0, 20_000])
@pytest.mark.parametrize("author", ["99", "", "x"])
def test_a_thread_begins_with_a_post_that_is_imported(raw, site, source, importing, monkeypatch, author, kept):
    monkeypatch.setattr(layouts, "ROOTS_KEPT", kept)
    site.post(2, "and so on", LONG_AGO + 3, reply_to=3)
    source.raw.hset("pid:1", "uid", author)
    printed = importing()
    assert list(posts(raw)) == [2, 3, 4]
    assert replies(raw) == {3: (2, 2, 2), 4: (3, 2, 1)}
    assert "(post 2)" in printed


@pytest.mark.parametrize("parent", ["3", "4", "x", "-1", "99"])
def test_a_post_that_answers_itself_or_a_later_one_is_a_plain_post(raw, site, source, importing, parent):
    source.raw.hset("pid:3", "replyPid", parent)
    importing()
    assert replies(raw) == {2: (1, 1, 1)}


def test_a_thread_that_is_too_deep_is_cut_and_counted(raw, site, source, importing, monkeypatch):
    monkeypatch.setattr(layouts, "ROOTS_KEPT", 0)
    monkeypatch.setattr(layouts, "MOST_STEPS", 2)
    for number in range(3, 7):
        site.post(2, "and so on", LONG_AGO + number, reply_to=number)
    assert "threads that are cut: too many replies to replies" in importing()
    assert all(raw.exists(f"post:{root}") for _, root, _ in replies(raw).values())


def test_sets_that_comparisons_have_left_are_ignored(site, importing, sent):
    importing()
    assert not [command for command in sent.commands if "uid:1:also:uid:2" in command]
