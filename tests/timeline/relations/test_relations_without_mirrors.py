"""Bookmarks, mutes and follows of tags: only their truth is stored, and it goes with the account."""

import time
from math import inf

import pytest

from tests.support.removed_accounts import delete_and_remove
from tests.support.stored_keys import everything, publish
from tests.support.stores.key_layouts import noted
from timeline.relations.bookmark import BOOKMARK, Bookmarks
from timeline.relations.mute import A_DAY, MUTE, MUTE_REPOSTS, MUTE_THREAD, MutedThreads, Mutes, in_days
from timeline.relations.protocol.relation import ask_standing
from timeline.relations.tag_follow import TagFollows, ask_follows_tag

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def pid(store, raw, alice, bob):
    """A post of bob's."""
    return publish(raw, store, bob, "Hello")


def standing(store, relation, targets):
    pipe = store.pipeline()
    found = ask_standing(pipe, relation, ALICE, targets)
    pipe.execute()
    return found.value


def test_a_bookmark_is_kept_with_its_date_and_removed(store, raw, pid):
    before = everything(raw)
    Bookmarks(store).add(ALICE, pid, BOB)
    [(member, since)] = raw.zrange("bookmarks:1", 0, -1, withscores=True)
    assert member == str(pid)
    assert since <= time.time() < since + 60
    assert standing(store, BOOKMARK, [pid, 99]) == {pid}
    Bookmarks(store).remove(ALICE, pid, BOB)
    assert everything(raw) == before


def test_a_mute_has_no_end_or_one_that_the_next_mute_replaces(store, raw, pid):
    Mutes(store).mute(ALICE, BOB)
    assert raw.zscore("muted:1", BOB) == inf
    Mutes(store).mute(ALICE, BOB, in_days(7))
    assert raw.zscore("muted:1", BOB) == pytest.approx(time.time() + 7 * A_DAY, abs=60)
    assert standing(store, MUTE, [BOB, CAROL]) == {BOB}
    Mutes(store).unmute(ALICE, BOB)
    assert not raw.exists("muted:1")


def test_a_mute_that_has_ended_does_not_stand(store, raw, pid):
    Mutes(store).mute(ALICE, BOB, time.time() - 1)
    assert raw.exists("muted:1")
    assert standing(store, MUTE, [BOB]) == set()


def test_the_reposts_of_a_person_are_muted_by_themselves(store, raw, pid):
    Mutes(store).mute_reposts(ALICE, BOB)
    assert raw.zscore("muted_reposts:1", BOB) == inf
    assert standing(store, MUTE_REPOSTS, [BOB]) == {BOB}
    assert standing(store, MUTE, [BOB]) == set()
    Mutes(store).unmute_reposts(ALICE, BOB)
    assert not raw.exists("muted_reposts:1")


def test_a_mute_of_a_thread_stays_when_its_first_post_is_deleted(store, raw, pid):
    raw.hset(f"post:{pid}", "deleted", 5)
    MutedThreads(store).mute(ALICE, pid)
    assert standing(store, MUTE_THREAD, [pid]) == {pid}
    MutedThreads(store).unmute(ALICE, pid)
    assert not raw.exists("muted_threads:1")


@pytest.mark.parametrize("tag", ["python", "день", "東京"])
def test_a_tag_is_followed_by_its_folded_text(store, raw, alice, tag):
    TagFollows(store).follow(ALICE, tag)
    assert raw.zrange("tags_of:1", 0, -1) == [tag]
    pipe = store.pipeline()
    answers = [ask_follows_tag(pipe, ALICE, tag), ask_follows_tag(pipe, ALICE, "other")]
    pipe.execute()
    assert [answer.value for answer in answers] == [True, False]
    TagFollows(store).unfollow(ALICE, tag)
    assert not raw.exists("tags_of:1")
    assert noted(raw) == []


def test_nothing_is_asked_about_no_targets(store, alice, round_trips):
    assert round_trips(lambda: standing(store, BOOKMARK, [])).round_trips == []


def test_all_of_them_go_with_the_account(store, raw, pid, alice):
    Bookmarks(store).add(ALICE, pid, BOB)
    Mutes(store).mute(ALICE, BOB)
    Mutes(store).mute_reposts(ALICE, BOB)
    MutedThreads(store).mute(ALICE, pid)
    TagFollows(store).follow(ALICE, "python")
    delete_and_remove(store, alice)
    for name in ("bookmarks", "muted", "muted_reposts", "muted_threads", "tags_of"):
        assert not raw.exists(f"{name}:1"), name
