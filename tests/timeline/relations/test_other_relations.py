"""Relations without a mirror, and the jobs of all relations. What holds for each relation stands in
tests/protocols/test_relations.py."""

import time
from math import inf

import pytest

from retwis_site.jobs.worker import drain
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import keys
from retwis_site.store.client import answer
from tests.support.stored_keys import everything, noted, ranking
from tests.support.stores.seam import killed_before_round_trip
from timeline.relations import relations
from timeline.relations.edges import Edges
from timeline.relations.relation import Edge, Relation, ask_among, ask_stands, to_person

ALICE, BOB, CAROL = 1, 2, 3
BOOKMARKS = Relation("bookmark", keys.bookmarks)
MUTES = Relation("mute", keys.muted)
TAG_FOLLOW = Relation("tag", keys.tags_of)


@pytest.mark.parametrize(
    ("relation", "key", "target", "about"),
    [(BOOKMARKS, "bookmarks:1", "1", ":2"), (MUTES, "muted:1", "2", ""), (TAG_FOLLOW, "tags_of:1", "python", "")],
)
def test_a_relation_without_a_mirror_takes_four_round_trips(
    store, raw, pid, round_trips, sent, relation, key, target, about
):
    edge = Edge(ALICE, target, BOB if relation is not TAG_FOLLOW else 0)
    sent.round_trips.clear()
    Edges(store, relation).set(edge, 7)
    assert len(sent.round_trips) == 4
    assert raw.zrange(key, 0, -1, withscores=True) == [(target, 7)]
    job = sent.round_trips[0].commands[0][3]
    assert job.rpartition(":")[0] == f"{relation.kind}:1:{target}{about}"
    assert relation.edge(job) == edge
    assert len(round_trips(lambda: Edges(store, relation).unset(edge)).round_trips) == 4
    assert not raw.exists(key)
    assert noted(raw) == []


def test_an_edge_without_a_mirror_to_a_deleted_target_is_taken_back(store, raw, pid):
    raw.hset(f"post:{pid}", "deleted", 5)
    Edges(store, BOOKMARKS).set(Edge(ALICE, str(pid), BOB), 7)
    assert not raw.exists("bookmarks:1")


def test_setting_an_edge_again_keeps_its_date_or_replaces_its_end(store, raw, pid):
    for score in (7, 9):
        Edges(store, BOOKMARKS).set(Edge(ALICE, str(pid), BOB), score)
        Edges(store, MUTES).set(Edge(ALICE, "2", BOB), score)
    assert raw.zscore("bookmarks:1", pid) == 7
    assert raw.zscore("muted:1", BOB) == 9
    Edges(store, MUTES).set(Edge(ALICE, "2", BOB), float("inf"))
    assert raw.zscore("muted:1", BOB) == float("inf")


# ---- jobs


def test_a_job_of_an_older_version_is_finished(store, raw, alice, bob):
    raw.zadd("following:1", {"2": 7})
    raw.zadd("outbox", {"follow:1:2:0123456789ab": 5})
    assert drain(store, "worker") == 1
    assert raw.zrange("followers:2", 0, -1, withscores=True) == [("1", 7)]
    assert ranking(raw) == {"2": 1}
    assert noted(raw) == []


@pytest.mark.parametrize(
    ("relation", "job"),
    [
        (relations.FOLLOW, "follow:x:2:n"),
        (relations.FOLLOW, "follow:1:0:n"),
        (relations.FOLLOW, "follow:1"),
        (BOOKMARKS, "bookmark:1:7"),
        (BOOKMARKS, "bookmark:1:7:x:n"),
        (relations.REPOST, "repost:1:7:2:x:n"),
    ],
)
def test_a_malformed_job_is_refused(relation, job):
    with pytest.raises((ValueError, IndexError)):
        relation.edge(job)


def test_an_edge_that_died_before_its_mirror_is_mended_in_one_go_with_others(
    store, raw, alice, bob, carol, round_trips
):
    edges = [to_person(ALICE, BOB), to_person(ALICE, 3), to_person(3, BOB)]
    for edge in edges:
        killed_before_round_trip(2, lambda edge=edge: relations.Follows(store).follow(edge.who, edge.owner))
    before = everything(raw)
    assert "followers:2" not in before
    assert len(round_trips(lambda: Edges(store, relations.FOLLOW).mend(edges)).round_trips) == 7
    assert ranking(raw) == {"2": 2, "3": 1}
    assert len(noted(raw)) == 3  # those of the killed requests, for a worker


# ---- Bookmarks, mutes and follows of tags: only their truth is stored.


def standing(store, relation, targets):
    return answer(store, ask_among, relation.truth, ALICE, targets)


def test_a_bookmark_is_kept_with_its_date_and_removed(store, raw, pid):
    before = everything(raw)
    relations.Bookmarks(store).add(ALICE, pid, BOB)
    [(member, since)] = raw.zrange("bookmarks:1", 0, -1, withscores=True)
    assert member == str(pid)
    assert since <= time.time() < since + 60
    assert standing(store, relations.BOOKMARK, [pid, 99]) == {pid}
    relations.Bookmarks(store).remove(ALICE, pid, BOB)
    assert everything(raw) == before


def test_a_mute_has_no_end_or_one_that_the_next_mute_replaces(store, raw, pid):
    relations.Mutes(store).mute(ALICE, BOB)
    assert raw.zscore("muted:1", BOB) == inf
    relations.Mutes(store).mute(ALICE, BOB, relations.in_days(7))
    assert raw.zscore("muted:1", BOB) == pytest.approx(time.time() + 7 * A_DAY, abs=60)
    assert standing(store, relations.MUTE, [BOB, CAROL]) == {BOB}
    relations.Mutes(store).unmute(ALICE, BOB)
    assert not raw.exists("muted:1")


def test_a_mute_that_has_ended_does_not_stand(store, raw, pid):
    relations.Mutes(store).mute(ALICE, BOB, time.time() - 1)
    assert raw.exists("muted:1")
    assert standing(store, relations.MUTE, [BOB]) == set()


def test_the_reposts_of_a_person_are_muted_by_themselves(store, raw, pid):
    relations.Mutes(store).mute_reposts(ALICE, BOB)
    assert raw.zscore("muted_reposts:1", BOB) == inf
    assert standing(store, relations.MUTE_REPOSTS, [BOB]) == {BOB}
    assert standing(store, relations.MUTE, [BOB]) == set()
    relations.Mutes(store).unmute_reposts(ALICE, BOB)
    assert not raw.exists("muted_reposts:1")


def test_a_mute_of_a_thread_stays_when_its_first_post_is_deleted(store, raw, pid):
    raw.hset(f"post:{pid}", "deleted", 5)
    relations.MutedThreads(store).mute(ALICE, pid)
    assert standing(store, relations.MUTE_THREAD, [pid]) == {pid}
    relations.MutedThreads(store).unmute(ALICE, pid)
    assert not raw.exists("muted_threads:1")


@pytest.mark.parametrize("tag", ["python", "день", "東京"])
def test_a_tag_is_followed_by_its_folded_text(store, raw, alice, tag):
    relations.TagFollows(store).follow(ALICE, tag)
    assert raw.zrange("tags_of:1", 0, -1) == [tag]
    assert [answer(store, ask_stands, TAG_FOLLOW, ALICE, one) for one in (tag, "other")] == [True, False]
    relations.TagFollows(store).unfollow(ALICE, tag)
    assert not raw.exists("tags_of:1")
    assert noted(raw) == []


def test_nothing_is_asked_about_no_targets(store, alice, round_trips):
    assert round_trips(lambda: standing(store, relations.BOOKMARK, [])).round_trips == []
