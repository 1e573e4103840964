"""`doctor` finds and repairs likes, reposts and blocks whose sides or numbers disagree; `cleanup` removes those of
posts that are gone.

The checks of all relations are the same code. Those of likes are tried with every fault, the others with what is
special about them. Those of follows: tests/retwis_site/maintenance/test_doctor_repairs.py.
"""

import time

import pytest

from retwis_site.exceptions import StoreRefused
from tests.support.command_output import COUNTERS, VALUES, doctor, findings_of, finds_and_mends, mends_all, said
from tests.support.maintenance.healthy_site import make_healthy_site
from tests.support.people import LONG_AGO
from tests.support.protocols.relations import assert_relations_agree
from tests.support.removed_accounts import delete_and_remove
from tests.support.stored_keys import everything, publish, without_damaged
from timeline.posts.delivery import Reposts
from timeline.posts.repository import Posts
from timeline.relations.relations import FOLLOW, BlockedPeople, Follows, Likes, Mutes
from timeline.relations.upkeep import EdgeChecks

LIKES = "entries of likes: missing from liked_by:, or unknown"
LIKED_BY = "entries of liked_by: missing from likes:, or unknown"
UNKNOWN_LIKES = "likes of unknown users"
REPOSTS = "entries of reposts: missing from reposted_by:, or unknown"
REPOSTED_BY = "entries of reposted_by: missing from reposts:, or unknown"
UNKNOWN_REPOSTS = "reposts of unknown users"
NO_POST = "entries of reposts: whose own post is missing or not listed"
NO_EDGE = "listed reposts that reposts: does not name"
BLOCKED = "entries of blocked: missing from blocked_by:, or unknown"
BLOCKED_BY = "entries of blocked_by: missing from blocked:, or unknown"
UNKNOWN_BLOCKS = "blocks of unknown users"
NUMBERS = "wrong numbers in post:"

ALICE, BOB, CAROL = 1, 2, 3

pytestmark = pytest.mark.usefixtures("raw", "no_waiting")


@pytest.fixture
def likes(raw, store, alice, bob, carol):
    """A healthy site. bob and carol like post 1 of alice's, and carol likes post 4 of bob's. Post 2 was deleted."""
    make_healthy_site(raw, store, alice, bob, carol)
    Likes(store).like(BOB, 1, ALICE)
    Likes(store).like(CAROL, 1, ALICE)
    Likes(store).like(CAROL, 4, BOB)
    return raw


@pytest.fixture
def reposts(store, raw, alice, bob, carol):
    """Posts 1 and 2 are bob's, who has deleted post 2. Posts 3 and 4 are alice's and carol's reposts of post 1."""
    for text in ("First", "Second"):
        publish(raw, store, bob, text)
    Posts(store).delete(BOB, 2)
    raw.lrem("timeline", 0, 2)
    for uid in (ALICE, CAROL):
        Reposts(store).repost(uid, 1, BOB)
    return raw


@pytest.fixture
def blocks(store, raw, alice, bob, carol):
    """alice blocks bob and carol; carol, whom bob follows, blocks alice."""
    Follows(store).follow(BOB, CAROL)
    for me, them in ((ALICE, BOB), (ALICE, CAROL), (CAROL, ALICE)):
        BlockedPeople(store).block(me, them)
    return raw


def list_another(raw):
    raw.incr("next_post_id")
    raw.hset("post:5", mapping={"user_id": 1, "time": 5, "repost_of": 1})
    raw.zadd("updates:1", {"5": 5})


RAISED = {COUNTERS: 1}  # above the uid of an unknown user, which nobody gets

# By the fixture that makes the site: what is done to it, and what `doctor` finds.
FAULTS = {
    "likes": {
        "liked_by: lacks a like": (lambda r: r.zrem("liked_by:1", 2), {LIKES: 1, NUMBERS: 1}),
        "liked_by: is gone": (lambda r: r.delete("liked_by:1"), {LIKES: 2, NUMBERS: 1}),
        "liked_by: has a like too many": (lambda r: r.zadd("liked_by:4", {"2": 5}), {LIKED_BY: 1, NUMBERS: 1}),
        "liked_by: has another date": (lambda r: r.zadd("liked_by:1", {"2": 5}), {LIKES: 1}),
        "an unknown user likes a post": (lambda r: r.zadd("liked_by:1", {"99": 5}), {LIKED_BY: 1, NUMBERS: 1}),
        "likes: of an unknown user": (lambda r: r.zadd("likes:99", {"1": 5}), {UNKNOWN_LIKES: 1, LIKES: 1} | RAISED),
        "a like of a deleted post": (lambda r: r.zadd("likes:3", {"2": 5}), {LIKES: 1}),
        "a like of a post that never was": (lambda r: r.zadd("likes:3", {"90": 5}), {LIKES: 1}),
        "a like that is no id": (lambda r: r.zadd("likes:3", {"x": 5}), {VALUES: 1}),
        "a number is too high": (lambda r: r.hset("post:1", "likes", 7), {NUMBERS: 1}),
        "a number is missing": (lambda r: r.hdel("post:1", "likes"), {NUMBERS: 1}),
        "a number without likes": (lambda r: r.hset("post:3", "likes", 1), {NUMBERS: 1}),
        "a deleted post has a number": (lambda r: r.hset("post:2", "likes", 1), {NUMBERS: 1}),
        "a number is no number": (lambda r: r.hset("post:1", "likes", "x"), {VALUES: 1, NUMBERS: 1}),
    },
    "reposts": {
        "reposted_by: lacks a repost": (lambda r: r.zrem("reposted_by:1", 1), {REPOSTS: 1, NUMBERS: 1}),
        "reposted_by: names another repost": (lambda r: r.zadd("reposted_by:1", {"1": 90}), {REPOSTS: 1}),
        "reposted_by: has a repost too many": (
            lambda r: r.zadd("reposted_by:1", {"2": 90}),
            {REPOSTED_BY: 1, NUMBERS: 1},
        ),
        "reposts: of an unknown user": (
            lambda r: r.zadd("reposts:99", {"1": 90}),
            {UNKNOWN_REPOSTS: 1, REPOSTS: 1, NO_POST: 1} | RAISED,
        ),
        "a repost of a deleted post": (lambda r: r.zadd("reposts:1", {"2": 90}), {REPOSTS: 1, NO_POST: 1}),
        "a repost is not listed": (lambda r: r.zrem("updates:1", 3), {NO_POST: 1}),
        "a repost is listed twice": (list_another, {NO_EDGE: 1}),
        "a number is missing": (lambda r: r.hdel("post:1", "reposts"), {NUMBERS: 1}),
        "a repost has a number": (lambda r: r.hset("post:3", "reposts", 1), {NUMBERS: 1}),
    },
    # A side that only the mirror shows is no block, and is removed.
    "blocks": {
        "blocked_by: lacks a block": (lambda r: r.zrem("blocked_by:2", 1), {BLOCKED: 1}),
        "blocked_by: has a block too many": (lambda r: r.zadd("blocked_by:2", {"3": 5}), {BLOCKED_BY: 1}),
        "an unknown user is blocked": (lambda r: r.zadd("blocked:2", {"99": 5}), {BLOCKED: 1}),
        "blocked: of an unknown user": (
            lambda r: r.zadd("blocked:99", {"1": 5}),
            {UNKNOWN_BLOCKS: 1, BLOCKED: 1} | RAISED,
        ),
        "blocked_by: of an unknown user": (
            lambda r: r.zadd("blocked_by:99", {"1": 5}),
            {UNKNOWN_BLOCKS: 1, BLOCKED_BY: 1},
        ),
    },
}


@pytest.mark.parametrize(
    ("made", "damage", "expected"),
    [pytest.param(made, *row, id=f"{made}, {case}") for made, rows in FAULTS.items() for case, row in rows.items()],
)
def test_every_inconsistency_is_found_and_repaired(request, capsys, made, damage, expected):
    site = request.getfixturevalue(made)
    assert doctor(capsys) == (0, {}, {})
    before = without_damaged(site)
    damage(site)
    inconsistent = everything(site)
    assert doctor(capsys)[:2] == (1, expected)
    assert everything(site) == inconsistent
    mends_all(capsys)
    made_more = {"next_post_id": "5"} if damage is list_another else {}
    raised = {"next_user_id": "99"} if COUNTERS in expected else {}
    assert without_damaged(site) == before | made_more | raised
    assert_relations_agree(site, made)


def test_a_like_of_which_only_the_mirror_is_left_is_restored_after_a_repair(likes, capsys):
    likes.set("likes:3", "no sorted set")
    doctor(capsys, "--fix")
    assert doctor(capsys, "--fix")[0] == 0
    assert likes.zrange("likes:3", 0, -1) == ["1", "4"]
    assert likes.hget("post:1", "likes") == "2"


@pytest.mark.parametrize(
    ("made", "lost"),
    [("likes", "likes:3"), ("likes", "following:3"), ("reposts", "reposts:1"), ("blocks", "blocked:1")],
)
def test_edges_of_a_person_whose_truth_is_lost_come_back_from_their_mirrors(request, capsys, made, lost):
    site = request.getfixturevalue(made)
    before = without_damaged(site)
    homes = {key: value for key, value in before.items() if key.startswith("posts:")}
    site.delete(lost)
    assert doctor(capsys)[0] == 1
    mends_all(capsys)
    assert {**without_damaged(site), **homes} == before  # a home is rebuilt by the next read
    assert 0 < site.ttl(f"damaged:{lost}:values") <= 30 * 24 * 3600


def test_the_edges_of_a_lost_truth_come_back_also_after_some_of_them(likes, capsys, monkeypatch):
    monkeypatch.setattr("retwis_site.maintenance.checks.AT_ONCE", 1)
    likes.delete("likes:3")
    doctor(capsys, "--fix")
    assert likes.zrange("likes:3", 0, -1) == ["1", "4"]
    assert [likes.zscore(f"liked_by:{pid}", "3") is not None for pid in (1, 4)] == [True, True]


def test_what_only_a_mirror_has_is_kept_when_it_is_removed(likes, capsys):
    likes.zadd("liked_by:4", {"2": 5})
    doctor(capsys, "--fix")
    assert likes.zscore("liked_by:4", "2") is None
    assert likes.hgetall("damaged:liked_by:4:values") == {"2": "5.0"}


@pytest.mark.parametrize("lost", ["the post", "the edge"])
def test_a_repost_and_its_edge_go_together(reposts, capsys, lost):
    if lost == "the post":
        reposts.delete("post:3")
    else:
        reposts.zrem("reposts:1", 1)
        reposts.zrem("reposted_by:1", 1)
    mends_all(capsys)
    assert not reposts.exists("post:3", "reposts:1", "updates:1")
    assert reposts.hget("post:1", "reposts") == "1"
    assert_relations_agree(reposts, lost)


def test_a_repost_that_is_marked_as_deleted_is_taken_back(reposts, capsys):
    reposts.hset("post:3", "deleted", "yes")
    mends_all(capsys)
    assert not reposts.exists("reposts:1", "updates:1")
    assert reposts.hget("post:1", "reposts") == "1"


@pytest.mark.parametrize("author", [ALICE, BOB])
def test_a_repost_whose_id_another_post_has_got_is_taken_back(reposts, capsys, author):
    reposts.zrem("updates:1", 3)
    reposts.delete("post:3")
    reposts.hset("post:3", mapping={"user_id": author, "time": 5, "body": "Mine"})
    reposts.zadd(f"updates:{author}", {"3": 3})
    finds_and_mends(capsys, {NO_POST: 1})
    assert reposts.hget("post:3", "body") == "Mine"
    assert reposts.zscore(f"updates:{author}", "3") == 3
    assert not reposts.exists("reposts:1")


def test_a_block_that_is_mended_ends_the_follows(blocks, capsys):
    """Its process died after the commit, and its job was lost."""
    blocks.zadd("blocked:2", {"3": 5})
    doctor(capsys, "--fix")
    assert blocks.zrange("blocked_by:3", 0, -1) == ["2", "1"]
    assert blocks.keys("following:*") == blocks.keys("followers:*") == []
    assert doctor(capsys)[:2] == (0, {})


# By the fixture: a job in the outbox, and the state in which its operation leaves the keys before it is finished.
IN_PROGRESS = {
    "likes": {
        "like:2:4:2:abc": lambda r: r.zadd("likes:2", {"4": 5}),
        "like:3:4:2:abc": lambda r: r.zrem("likes:3", 4),
        "like:2:3:1:abc": lambda r: (r.zadd("likes:2", {"3": 5}), r.zadd("liked_by:3", {"2": 5})),
        "del:1:1:abc": lambda r: r.hset("post:1", mapping={"deleted": LONG_AGO, "body": ""}),
    },
    "reposts": {
        "repost:2:1:2:5:abc": lambda r: r.zadd("reposts:2", {"1": 5}),
        "repost:3:1:2:4:abc": lambda r: (r.zrem("reposts:3", 1), r.zrem("updates:3", 4), r.delete("post:4")),
        "del:1:2:abc": lambda r: r.hset("post:1", mapping={"deleted": 5, "body": ""}),
    },
    "blocks": {
        "block:2:1:abc": lambda r: r.zadd("blocked:2", {"1": 5}),
        "block:1:2:abc": lambda r: r.zrem("blocked:1", 2),
    },
}


@pytest.mark.parametrize(
    ("made", "job", "begin"),
    [pytest.param(made, *row, id=f"{made}, {row[0]}") for made, rows in IN_PROGRESS.items() for row in rows.items()],
)
def test_an_operation_in_progress_is_no_error(request, capsys, made, job, begin):
    site = request.getfixturevalue(made)
    site.zadd("outbox", {job: int(time.time()) + 60})
    begin(site)
    assert doctor(capsys, "--fix")[:2] == (0, {})
    site.delete("outbox")
    assert doctor(capsys)[0] == 1


@pytest.mark.parametrize(("made", "mirror"), [("likes", "liked_by"), ("reposts", "reposted_by")])
def test_cleanup_removes_edges_to_posts_that_are_gone(request, capsys, made, mirror):
    """A version that knew likes only from imports left them when a post was deleted."""
    site = request.getfixturevalue(made)
    before = everything(site)
    for pid in (2, 90):
        site.zadd(f"{made}:3", {pid: 100 + pid})
        site.zadd(f"{mirror}:{pid}", {"3": 100 + pid, "99": 5})
    assert f"{made} of posts that do not exist: 2 found, none removed" in said(capsys, "cleanup", "--dry-run")
    assert f"{made} of posts that do not exist: 2 found, 2 removed" in said(capsys, "cleanup")
    assert everything(site) == before


def test_cleanup_leaves_the_deletion_of_a_post_under_way_alone(likes, capsys):
    likes.hset("post:4", "deleted", LONG_AGO)
    likes.zadd("outbox", {"del:4:2:abc": int(time.time()) + 60})
    assert "likes of posts that do not exist: 0 found" in said(capsys, "cleanup")
    assert likes.zrange("liked_by:4", 0, -1) == ["3"]


def test_cleanup_forgets_that_somebody_has_muted_a_person_who_is_gone(store, raw, capsys, alice, bob, carol):
    for them in (BOB, CAROL):
        Mutes(store).mute(ALICE, them)
        Mutes(store).mute_reposts(ALICE, them)
    delete_and_remove(store, bob)
    said(capsys, "cleanup")
    assert raw.zrange("muted:1", 0, -1) == raw.zrange("muted_reposts:1", 0, -1) == [str(CAROL)]


def test_a_look_at_many_healthy_edges_asks_for_none_by_itself(raw, store, round_trips):
    """On a large site most of what `doctor` asks is about edges. The sums of both sides tell that they are the same."""
    people = range(1, 41)
    for uid in people:
        raw.hset(f"user:{uid}", "username", f"person{uid}")
        for side in ("following", "followers"):
            raw.zadd(f"{side}:{uid}", {other: LONG_AGO for other in people if other != uid})

    def found():
        return [one.what for one in findings_of(store, EdgeChecks(store, FOLLOW).inconsistencies())]

    recorded = round_trips(lambda: found() == [] or pytest.fail("healthy edges are wrong"))
    assert sum(command[0] == "ZSCORE" for command in recorded.commands) == 0
    assert len(recorded.commands) < 12 * len(people)
    assert {raw.zrem("following:1", 2), raw.zadd("unseen:followers:3", {1: 0})} == {1}
    assert found() == ["followers:2 has 1", "followers:3 has 1"]
    raw.zadd("followers:5", {4: LONG_AGO + 60})
    assert "following:4 has 5" in found()


def test_a_comparison_that_the_store_refuses_hides_no_wrong_edge(raw, store):
    raw.hset("user:1", "username", "alice")
    raw.hset("user:2", "username", "bob")
    raw.zadd("followers:2", {1: LONG_AGO})
    raw.set("following:3", "no sorted set")
    both, _, followers, *_ = EdgeChecks(store, FOLLOW).inconsistencies()
    with pytest.raises(StoreRefused):
        findings_of(store, [both])
    assert [one.what for one in findings_of(store, [followers])] == ["followers:2 has 1"]


@pytest.mark.parametrize(
    ("lost", "kept"), [("followers:1", "following"), ("following:1", "followers")], ids=["followers", "following"]
)
def test_a_lost_key_of_many_people_is_back_in_few_round_trips(raw, store, round_trips, lost, kept):
    """People with hundreds of thousands of followers have one key of them: by itself each entry takes ten."""
    people = range(1, 242)
    for uid in people:
        raw.hset(f"user:{uid}", "username", f"person{uid}")
    edges = {uid: LONG_AGO + uid for uid in people if uid != 1}
    raw.zadd(lost, edges)
    for uid in edges:
        raw.zadd(f"{kept}:{uid}", {1: edges[uid]})
    raw.zadd(f"{kept}:2", {999: LONG_AGO})  # an unknown person among them
    raw.delete(lost)
    raw.hset(f"damaged:{lost}:values", "1", LONG_AGO)  # else a lost truth ends its edges

    def mend():
        for finding in findings_of(store, EdgeChecks(store, FOLLOW).inconsistencies()):
            finding.repair()

    assert len(round_trips(mend).round_trips) < 200
    assert raw.zrange(lost, 0, -1, withscores=True) == sorted(
        ((str(uid), float(when)) for uid, when in edges.items()), key=lambda row: row[1]
    )
    assert raw.zrange(f"{kept}:2", 0, -1) == ["1"]
    assert raw.hget("user:1", "username") == "person1"
