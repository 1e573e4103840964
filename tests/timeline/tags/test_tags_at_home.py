"""A followed tag may join home: a choice for each tag, off at first. Posts with it stand there once, in order of time,
and only those that the viewer may see."""

import pytest
from django.core.management import call_command

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.jobs.worker import drain
from retwis_site.store import cached_list
from retwis_site.store.local_cache import Memory
from tests.support.command_output import findings_of
from tests.support.http.page_text import post_ids, text_of
from tests.support.stored_keys import drain_due, noted, publish
from tests.support.stores.seam import each_moment, killed_before_round_trip
from timeline.account_data.restoring import OldPost, Restoring
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.home_tags import MOST_AT_HOME, HomeTags
from timeline.relations.relations import BlockedPeople, Follows, Mutes, TagFollows
from timeline.tags.tags import TagChecks
from timeline.timelines.checks import TimelineChecks

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def chosen(raw, store, member, alice, bob, carol):
    """alice has two tags at home, carol one; bob has written 1 with #Redis and 2 without a tag."""
    publish(raw, store, bob, "one #Redis")
    publish(raw, store, bob, "two")
    for uid, tag in ((ALICE, "redis"), (ALICE, "django"), (CAROL, "redis")):
        TagFollows(store).follow(uid, tag)
        HomeTags(store).add(uid, tag)


def home(member):
    """The ids on the first page. Read twice: the first read may rebuild the list."""
    first = post_ids(member.get("/"))
    assert post_ids(member.get("/")) == first
    return first


def pushed(raw, uid, pid):
    """How often the list of a home has a post."""
    return raw.lrange(f"posts:{uid}", 0, -1).count(str(pid))


# ---- the choice


def test_a_followed_tag_joins_home_and_leaves_it(member, raw, store, alice, bob):
    publish(raw, store, bob, "one #Redis")
    assert member.post("/tags/redis/home/add/").status_code == 302
    assert "Follow #Redis first." in text_of(member.get("/tags/redis/"))
    member.post("/tags/redis/follow/")
    assert home(member) == []
    assert member.post("/tags/REDIS/home/add/")["Location"] == "/tags/redis/"
    assert "Posts with #Redis now appear on your home page." in text_of(member.get("/tags/redis/"))
    assert home(member) == [1]
    [(tag, since)] = raw.zrange("home_tags:1", 0, -1, withscores=True)
    assert (tag, raw.zrange("homes_of_tag:redis", 0, -1, withscores=True)) == ("redis", [("1", since)])
    for page in ("/tags/", "/tags/redis/"):
        assert 'action="/tags/redis/home/remove/"' in member.get(page).content.decode()
    member.post("/tags/redis/home/remove/")
    assert "Posts with #Redis no longer appear on your home page." in text_of(member.get("/tags/"))
    assert home(member) == []
    assert raw.keys("home*") == noted(raw) == []
    assert 'action="/tags/redis/home/add/"' in member.get("/tags/").content.decode()


def test_it_leaves_home_when_it_is_followed_no_more(member, raw, store, chosen):
    assert home(member) == [1]
    member.post("/tags/redis/unfollow/")
    assert home(member) == []
    assert raw.zrange("home_tags:1", 0, -1) == ["django"]
    assert raw.zrange("homes_of_tag:redis", 0, -1) == ["3"]


def test_more_tags_than_the_limit_are_refused_and_not_read(member, raw, store, chosen):
    raw.zadd("home_tags:1", {f"t{number}": 1 for number in range(MOST_AT_HOME - 2)})
    raw.hset("tags", "more", "more")
    member.post("/tags/more/follow/")
    member.post("/tags/more/home/add/")
    assert raw.zscore("home_tags:1", "more") is None
    assert f"Your home page can have up to {MOST_AT_HOME} tags." in text_of(member.get("/tags/more/"))
    raw.zadd("home_tags:1", {f"later{number}": 2**33 for number in range(MOST_AT_HOME)})
    assert home(member) == []


# ---- where a new post goes


def test_a_new_post_is_pushed_once_into_each_home(member, raw, store, bob, carol, chosen):
    """alice follows bob, too, and both tags; bob has chosen his own tag."""
    Follows(store).follow(ALICE, BOB)
    TagFollows(store).follow(BOB, "django")
    HomeTags(store).add(BOB, "django")
    for uid in (ALICE, BOB, CAROL):
        raw.rpush(f"posts:{uid}", "0")  # complete
    pid = publish(raw, store, bob, "both #redis #django")
    assert [pushed(raw, uid, pid) for uid in (ALICE, BOB, CAROL)] == [1, 1, 1]
    assert home(member)[0] == pid
    member.post("/@bob/unfollow/")
    assert home(member) == [pid, 1]  # without the post that has no tag


@pytest.mark.parametrize("limit", [0, 1000])
def test_a_worker_brings_a_post_to_many(member, raw, store, bob, chosen, settings, limit):
    settings.DELIVER_INLINE_LIMIT = limit
    home(member)
    pid = publish(raw, store, bob, "three #redis #django")
    assert pushed(raw, ALICE, pid) == (limit > 0)
    drain(store, "worker")
    assert [pushed(raw, uid, pid) for uid in (ALICE, CAROL)] == [1, 0]  # carol has no list yet
    assert home(member) == [pid, 1]
    assert noted(raw) == []


def test_a_post_whose_author_is_killed_comes_to_home(member, raw, store, bob, chosen):
    for step in each_moment(4):
        home(member)
        killed_before_round_trip(step, lambda step=step: publish(raw, store, bob, f"{step} #redis"))
        drain_due(store, raw)
        pid = int(raw.zrevrange("updates:2", 0, 0)[0])
        assert home(member)[0] == pid, step


def test_posts_with_tags_cost_the_same_whoever_has_chosen_them(raw, store, bob, chosen, round_trips):
    costs = {
        body: len(round_trips(lambda body=body: Posts(store).publish(BOB, NewPost(body), body)).round_trips)
        for body in ("plain", "#nobody #has #these", "#redis", "#redis #django #more")
    }
    assert [cost - costs["plain"] for cost in costs.values()] == [0, 0, 2, 2]


def test_home_costs_the_same_with_tags(member, raw, store, bob, chosen, round_trips):
    Follows(store).follow(ALICE, BOB)
    costs = []
    for _ in range(2):
        home(member)
        warm = len(round_trips(lambda: member.get("/")).round_trips)
        raw.delete("posts:1")
        cached_list._just_rebuilt.clear()
        costs.append((warm, len(round_trips(lambda: member.get("/")).round_trips)))
        raw.delete("home_tags:1")
    assert costs == [(1, 4), (1, 4)]


def test_older_pages_below_the_list_have_them_too(member, raw, store, bob, chosen, monkeypatch):
    monkeypatch.setattr(cached_list, "KEPT", 30)
    monkeypatch.setattr("timeline.timelines.home.KEPT", 30)
    pids = [publish(raw, store, bob, f"{number} #django") for number in range(60)]
    raw.delete("posts:1")
    seen, address = [], "/"
    while found := post_ids(member.get(address)):
        seen += found
        address = f"/?before={found[-1]}"
    assert seen == [*pids[::-1], 1]


# ---- what the viewer may see


def test_only_what_the_viewer_may_see_stands_there(member, raw, store, bob, carol, chosen):
    answer = NewPost("an answer #redis", reply_to=2)
    assert Posts(store).publish(CAROL, answer, "a").pid == 3
    assert Posts(store).publish(BOB, NewPost("and on #redis", reply_to=1), "b").pid == 4
    Reposts(store).repost(CAROL, 1, BOB)
    assert home(member) == [4, 1]  # a thread of bob's own; no reply to others, no repost
    Follows(store).follow(ALICE, BOB)
    assert home(member) == [4, 3, 2, 1]  # a reply to somebody whom alice follows
    Follows(store).unfollow(ALICE, BOB)
    changes = [
        (Mutes(store).mute, Mutes(store).unmute, ALICE, BOB),
        (BlockedPeople(store).block, BlockedPeople(store).unblock, ALICE, BOB),
        (BlockedPeople(store).block, BlockedPeople(store).unblock, BOB, ALICE),
    ]
    for number, (do, undo, *people) in enumerate(changes):
        do(*people)
        pid = publish(raw, store, bob, f"unseen {number} #redis")
        assert home(member) == []
        undo(*people)
        Posts(store).delete(BOB, pid)
        assert home(member) == [4, 1]
    for state in (State.HIDDEN, State.SUSPENDED):
        Sanctions(store).impose(BOB, state, "reason")
        Memory.clear_all()
        assert home(member) == []
        Sanctions(store).lift(BOB, "reason")
        Memory.clear_all()
        assert home(member) == [4, 1]


def test_an_edit_brings_a_post_to_home_and_takes_it_away(member, raw, store, bob, chosen, settings):
    assert home(member) == [1]
    Posts(store).edit(BOB, 2, "two #Django")
    assert home(member) == [2, 1]
    Posts(store).edit(BOB, 1, "one")
    assert home(member) == [2]
    settings.DELIVER_INLINE_LIMIT = 0
    never_at_home = Posts(store).publish(BOB, NewPost("three"), "three").pid
    Posts(store).edit(BOB, never_at_home, "three #redis")
    assert [job.partition(":")[0] for job in noted(raw)] == ["edit"]
    drain(store, "worker")
    assert home(member) == [never_at_home, 2]
    Posts(store).delete(BOB, 2)
    assert home(member) == [never_at_home]
    assert noted(raw) == []


def test_posts_that_are_brought_back_come_to_home(member, raw, store, bob, chosen):
    assert home(member) == [1]
    restoring = Restoring(store, BOB)
    restoring.begin()
    restoring.write([OldPost(900, 5, "long ago #redis")], lambda post: post)
    restoring.finish()
    assert len(home(member)) == 2


# ---- checks


def test_a_date_that_is_a_fraction_is_repaired_once(raw, store, chosen):
    raw.zadd("home_tags:1", {"redis": 0.5})
    [found] = findings_of(store, TagChecks(store).inconsistencies())
    found.repair()
    assert findings_of(store, TagChecks(store).inconsistencies()) == []
    assert (raw.zscore("home_tags:1", "redis"), raw.zscore("homes_of_tag:redis", "1")) == (0.5, 0)


@pytest.mark.parametrize("side", ["home_tags:1", "homes_of_tag:redis", "tags_of:1"])
def test_doctor_mends_a_side_that_is_missing(member, raw, store, chosen, side):
    raw.zrem(side, "redis" if side.endswith(":1") else "1")
    [found] = findings_of(store, TagChecks(store).inconsistencies())
    found.repair()
    assert findings_of(store, TagChecks(store).inconsistencies()) == []
    stands = side == "homes_of_tag:redis"
    assert (raw.zscore("home_tags:1", "redis") is not None) == stands
    assert (raw.zscore("homes_of_tag:redis", "1") is not None) == stands
    assert home(member) == ([1] if stands else [])


@pytest.mark.parametrize("loss", ["gone", "of a wrong type"])
def test_choices_that_are_lost_as_a_whole_come_back_from_the_homes(member, raw, store, chosen, loss):
    chosen_then = raw.zrange("home_tags:1", 0, -1, withscores=True)
    raw.delete("home_tags:1")
    if loss != "gone":
        raw.set("home_tags:1", "a text")
    call_command("doctor", "--fix")
    assert raw.zrange("home_tags:1", 0, -1, withscores=True) == chosen_then
    assert raw.zrange("homes_of_tag:redis", 0, -1) == ["1", "3"]
    assert findings_of(store, TagChecks(store).inconsistencies()) == []
    assert home(member) == [1]


def test_doctor_removes_the_home_of_an_unknown_user(raw, store, chosen):
    raw.zadd("homes_of_tag:redis", {"99": 1})
    [found] = findings_of(store, TagChecks(store).inconsistencies())
    found.repair()
    assert raw.zrange("homes_of_tag:redis", 0, -1) == ["1", "3"]


def test_doctor_finds_a_home_that_lacks_a_post_with_a_tag(member, raw, store, chosen):
    assert home(member) == [1]
    raw.lrem("posts:1", 0, "1")
    [found] = findings_of(store, TimelineChecks(store).inconsistencies())
    found.repair()
    assert home(member) == [1]


def test_doctor_leaves_a_home_alone_that_a_choice_is_about_to_drop(member, raw, store, bob, chosen):
    """Also in a backup, where nothing moves on."""
    pid = publish(raw, store, bob, "three #python")
    TagFollows(store).follow(ALICE, "python")
    for step in range(7):
        HomeTags(store).remove(ALICE, "python")
        home(member)
        killed = killed_before_round_trip(step, lambda: HomeTags(store).add(ALICE, "python"))
        assert findings_of(store, TimelineChecks(store).inconsistencies()) == [], step
        drain_due(store, raw)
        assert pid in home(member) or raw.zscore("home_tags:1", "python") is None
    assert not killed
