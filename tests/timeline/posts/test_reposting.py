"""A repost is a post of its own in the lists of followers. Its undo, and the deletion of the original, withdraw it."""

import time

import pytest

from retwis_site.jobs.worker import drain
from retwis_site.store.client import answer
from retwis_site.store.connection.recorder import Recording
from tests.support.apps import App
from tests.support.protocols.small_site import finish_jobs
from tests.support.removed_accounts import home_texts
from tests.support.stored_keys import everything, noted, publish
from tests.support.stores.seam import away, before_round_trip
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost, NoSuchPost
from timeline.posts.repository import Posts
from timeline.relations.edges import Edges, ask_look
from timeline.relations.relation import Edge
from timeline.relations.relations import REPOST, Follows

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def pid(store, raw, alice, bob, carol):
    """A post of bob's. carol follows alice, and has a home."""
    Follows(store).follow(CAROL, ALICE)
    found = publish(raw, store, bob, "Hello")
    raw.rpush("posts:3", "b1", "0")
    raw.rpush("posts:1", "b1", "0")
    return found


def own_post(raw, pid):
    return int(raw.zscore("reposts:1", pid))


@pytest.fixture
def own(store, raw, pid):
    """alice's repost of it."""
    Reposts(store).repost(ALICE, pid, BOB)
    return own_post(raw, pid)


@pytest.fixture
def lost(raw, own):
    """A server of a cluster has taken over without the last writes: it lacks the repost, and the counter is behind."""
    raw.delete(f"post:{own}")
    raw.set("next_post_id", own - 1)
    return own


def assert_nothing_is_left(raw, pid):
    assert not raw.exists("reposts:1", f"reposted_by:{pid}", "updates:1")
    assert not raw.hexists(f"post:{pid}", "reposts")
    assert raw.keys("post:*") in ([f"post:{pid}"], [])
    assert noted(raw) == []


def test_a_look_at_a_repost_asks_whether_its_own_post_stands_once(store, pid, own):
    with Recording() as sent:
        [(_, found)] = answer(store, ask_look, REPOST, [Edge(ALICE, str(pid), BOB, own)]).seen.items()
    assert found.allowed
    assert [command[1] for command in sent.commands if command[0] == "HMGET"].count(f"post:{own}") == 1


def test_a_repost_is_a_post_without_a_text_on_both_sides_of_its_edge(raw, pid, own):
    stored = raw.hgetall(f"post:{own}")
    assert abs(int(stored.pop("time")) - time.time()) < 60
    assert stored == {"user_id": "1", "repost_of": str(pid)}
    assert raw.zrange(f"reposted_by:{pid}", 0, -1, withscores=True) == [("1", own)]
    assert raw.zrange("updates:1", 0, -1, withscores=True) == [(str(own), own)]
    assert raw.hget(f"post:{pid}", "reposts") == "1"
    assert raw.zrange("notices:2", 0, -1) == [f"repost:{pid}:1"]
    assert noted(raw) == []


def test_it_comes_to_the_homes_of_its_author_and_followers(raw, own):
    assert raw.lindex("posts:3", 0) == raw.lindex("posts:1", 0) == str(own)
    assert str(own) not in raw.lrange("timeline", 0, -1)


def test_a_second_repost_changes_nothing(store, raw, pid, own):
    before = {key: value for key, value in everything(raw).items() if key != "next_post_id"}
    Reposts(store).repost(ALICE, pid, BOB)
    assert {key: value for key, value in everything(raw).items() if key != "next_post_id"} == before


def test_one_that_is_sent_again_after_a_failure_of_the_store_is_listed_at_once(
    store, browser, alice, raw, pid, monkeypatch
):
    """The server with its lists was away. Until a worker comes, a minute later, an app would not find it."""
    home_texts(store, alice)
    with monkeypatch.context() as patched:
        patched.setattr(Edges, "_queue_mirror", away)
        assert browser(alice).post(f"/@bob/{pid}/repost/").status_code == 503
    assert not raw.exists("updates:1")
    app = App(alice)
    assert app.json("POST", f"/api/v1/statuses/{pid}/reblog")["id"] == str(own_post(raw, pid))
    assert raw.zrange("updates:1", 0, -1) == [str(own_post(raw, pid))]
    assert raw.zrange(f"reposted_by:{pid}", 0, -1) == ["1"]
    assert home_texts(store, alice) == ["Hello"]
    assert "Hello" in browser(alice).get("/@Alice/").content.decode()
    finish_jobs(store, raw)
    assert home_texts(store, alice) == ["Hello"]
    assert len(raw.keys("post:*")) == 2


def test_an_undo_withdraws_it(store, raw, pid, own):
    Reposts(store).undo(ALICE, pid, BOB)
    assert_nothing_is_left(raw, pid)
    assert not raw.exists("notices:2")


def test_an_undo_without_a_repost_is_one_round_trip(store, raw, pid, round_trips):
    before = everything(raw)
    assert len(round_trips(lambda: Reposts(store).undo(ALICE, pid, BOB)).round_trips) == 1
    assert everything(raw) == before


def test_the_round_trips_are_few(store, raw, pid, round_trips):
    assert len(round_trips(lambda: Reposts(store).repost(ALICE, pid, BOB)).round_trips) == 14
    assert len(round_trips(lambda: Reposts(store).undo(ALICE, pid, BOB)).round_trips) == 10


def test_many_followers_get_it_from_a_worker(store, raw, pid, settings):
    settings.DELIVER_INLINE_LIMIT = 0
    Reposts(store).repost(ALICE, pid, BOB)
    own = own_post(raw, pid)
    [job] = noted(raw)
    assert job.startswith(f"fan_repost:{own}:")
    assert str(own) not in raw.lrange("posts:3", 0, -1)
    assert drain(store, "worker") == 1
    assert raw.lindex("posts:3", 0) == str(own)
    assert noted(raw) == []


def test_an_undo_before_the_worker_leaves_nothing(store, raw, pid, settings):
    settings.DELIVER_INLINE_LIMIT = 0
    Reposts(store).repost(ALICE, pid, BOB)
    Reposts(store).undo(ALICE, pid, BOB)
    drain(store, "worker")
    assert_nothing_is_left(raw, pid)


@pytest.mark.parametrize("gone", ["deleted", "never there"])
def test_a_repost_of_a_post_that_is_not_there_is_taken_back(store, raw, pid, gone):
    if gone == "deleted":
        Posts(store).delete(BOB, pid)
    else:
        raw.delete(f"post:{pid}")
    Reposts(store).repost(ALICE, pid, BOB)
    assert_nothing_is_left(raw, pid)


def test_the_deletion_of_the_original_withdraws_all_reposts(store, raw, pid):
    for uid in (ALICE, BOB, CAROL):
        Reposts(store).repost(uid, pid, BOB)
    Posts(store).delete(BOB, pid)
    assert raw.keys("reposts:*") == raw.keys("reposted_by:*") == raw.keys("updates:*") == []
    assert raw.keys("post:*") == [f"post:{pid}"]


@pytest.mark.parametrize("author", ["bob", "alice"])
@pytest.mark.parametrize("ended", ["by an undo", "with the original"])
def test_a_post_that_has_got_the_id_of_a_lost_repost_stays(request, store, raw, pid, lost, author, ended):
    uid = request.getfixturevalue(author).user.uid
    assert Posts(store).publish(uid, NewPost("Mine"), "t-1").pid == lost
    stored = raw.hgetall(f"post:{lost}")
    if ended == "by an undo":
        Reposts(store).undo(ALICE, pid, BOB)
    else:
        Posts(store).delete(BOB, pid)
    assert raw.hgetall(f"post:{lost}") == stored
    assert raw.zscore(f"updates:{uid}", lost) == lost
    assert not raw.exists("reposts:1", f"reposted_by:{pid}")


@pytest.mark.in_order
@pytest.mark.parametrize("moment", range(8))
def test_a_post_that_gets_the_id_of_a_lost_repost_while_that_is_undone_stays(store, raw, pid, lost, moment):
    with before_round_trip(moment, lambda: Posts(store).publish(CAROL, NewPost("Mine"), "t-1")):
        Reposts(store).undo(ALICE, pid, BOB)
    assert raw.hget(f"post:{lost}", "body") == "Mine"
    assert raw.zscore(f"updates:{CAROL}", lost) == lost


def test_a_repost_is_undone_and_not_deleted(store, raw, pid, own):
    with pytest.raises(NoSuchPost):
        Posts(store).delete(ALICE, own)
    assert own_post(raw, pid) == own


@pytest.mark.parametrize("address", ["like/", "pin/", "more/", "edit/", "history/"])
def test_a_repost_is_no_post_to_act_on(member, raw, own, address):
    ask = member.post if address in ("like/", "pin/") else member.get
    assert ask(f"/@alice/{own}/{address}").status_code == 404
    assert not raw.exists("likes:1")
