"""`doctor` finds listings of tags that do not agree with the posts, and tags that cannot be found."""

import pytest
from django.core.management import CommandError, call_command

from retwis_site.store import keys
from tests.support.command_output import findings_of
from tests.support.protocols.small_site import Acts
from tests.support.stored_keys import drain_due, noted, publish
from tests.support.stores.seam import before_part, before_round_trip, killed_before_round_trip
from timeline.posts.checks import ListingChecks
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.tags.tags import TAGS_READ, TagChecks


@pytest.fixture(autouse=True)
def posts(raw, store, alice):
    publish(raw, store, alice, "#Redis and #Été")
    publish(raw, store, alice, "#redis")


def checks(store):
    of_listings = ListingChecks(store).inconsistencies()
    return [*(check for check in of_listings if keys.tag in check.of), *TagChecks(store).inconsistencies()]


def findings(store):
    return findings_of(store, checks(store))


def repaired(store):
    """What was found and repaired, check by check; afterwards nothing is found."""
    repairs = []
    for check in checks(store):
        found = findings_of(store, [check])
        for one in found:
            one.repair()
        repairs += [one.what for one in found]
    assert findings(store) == []
    return repairs


@pytest.mark.parametrize("damage", ["another text", "no post", "a deleted post"])
def test_an_entry_that_no_post_explains_is_removed(raw, store, damage):
    if damage == "a deleted post":
        Posts(store).delete(1, 2)
    pid = {"another text": 2, "no post": 99, "a deleted post": 2}[damage]
    raw.zadd("tag:django", {pid: pid})
    raw.hset("tags", "django", "Django")
    raw.zadd("tags_by_name", {"django": 0})
    assert repaired(store) == [f"tag:django has {pid}"]
    assert not raw.exists("tag:django")


def test_an_entry_of_a_post_under_way_is_no_finding(raw, store):
    raw.zadd("tag:redis", {"99": 99})
    raw.zadd("outbox", {"post:99:x": 1})
    assert findings(store) == []


def test_a_lost_spelling_is_read_from_the_oldest_post(raw, store):
    raw.hdel("tags", "redis")
    assert repaired(store)[0] == "tag:redis has no spelling"
    assert raw.hget("tags", "redis") == "Redis"


@pytest.mark.parametrize("score", [None, 5])
def test_a_tag_that_is_not_found_by_its_beginning_is_put_into_the_index(raw, store, score):
    raw.delete("tags_by_name")
    if score:
        raw.zadd("tags_by_name", {"redis": score})
    assert sorted(repaired(store)) == ["tags_by_name lacks 'redis'", "tags_by_name lacks 'été'"]
    assert raw.zrange("tags_by_name", 0, -1, withscores=True) == [("e\u0301te\u0301", 0), ("redis", 0)]


@pytest.mark.parametrize("entry", ["stray", "Redis", "été"])
def test_a_stray_entry_of_the_index_is_removed(raw, store, entry):
    raw.zadd("tags_by_name", {entry: 0})
    assert repaired(store) == [f"tags_by_name has {entry!r}"]
    assert raw.zrange("tags_by_name", 0, -1) == ["e\u0301te\u0301", "redis"]


def crowd_out(raw, store, alice):
    """More tags than a completion reads stand before `#redis`, and no post has them any more."""
    for number in range(TAGS_READ):
        Posts(store).delete(1, publish(raw, store, alice, f"#re{number}"))


def test_cleanup_forgets_how_tags_without_posts_are_found_since_they_hide_others(raw, store, alice, member, no_waiting):
    crowd_out(raw, store, alice)
    assert member.get("/complete/?q=%23re").status_code == 204
    call_command("cleanup", verbosity=0)
    assert "#Redis" in member.get("/complete/?q=%23re").content.decode()
    assert raw.zrange("tags_by_name", 0, -1) == ["e\u0301te\u0301", "redis"]
    assert raw.hget("tags", "re7") == "re7"  # its page stays
    assert "No posts" in member.get("/tags/re7/").content.decode()
    assert findings(store) == []
    publish(raw, store, alice, "#re7 again")
    assert "#re7" in member.get("/complete/?q=%23re7").content.decode()


def test_a_tag_that_comes_back_during_a_cleanup_is_found(raw, store, alice):
    [check] = TagChecks(store).orphans()
    for step in range(20):
        Posts(store).delete(1, publish(raw, store, alice, f"#back{step}"))
        with before_part(step, lambda step=step: publish(raw, store, alice, f"again #back{step}")) as happened:
            for one in findings_of(store, [check]):
                one.repair()
        if not happened:
            break
        assert f"back{step}" in raw.zrange("tags_by_name", 0, -1), step
    assert step > 6


def test_a_tag_of_a_post_under_way_stays_in_the_index(raw, store, alice):
    [check] = TagChecks(store).orphans()
    Posts(store).delete(1, publish(raw, store, alice, "#back"))
    [found] = findings_of(store, [check])
    killed_before_round_trip(4, lambda: Posts(store).publish(1, NewPost("#back again"), "token"))
    assert noted(raw)
    assert not raw.exists("tag:back")
    assert findings_of(store, [check]) == []
    found.repair()
    assert "back" in raw.zrange("tags_by_name", 0, -1)


def test_doctor_repairs_all_of_it(raw, store):
    raw.delete("tags", "tags_by_name")
    raw.zadd("tag:other", {"1": 1})
    with pytest.raises((CommandError, SystemExit)):
        call_command("doctor", verbosity=0)
    call_command("doctor", "--fix", verbosity=0)
    call_command("doctor", verbosity=0)
    assert raw.hgetall("tags") == {"redis": "Redis", "été": "Été"}


def test_what_a_killed_request_leaves_of_a_deleted_post_is_removed(raw, store, no_waiting):
    """The request has read the text, and writes its tag after a deletion has removed the text. Then it dies."""
    left = []
    for step in range(2, 10):
        pid = int(raw.get("next_post_id")) + 1
        with before_round_trip(step, Acts(store).delete(1, pid)):
            killed_before_round_trip(
                step + 1, lambda step=step: Posts(store).publish(1, NewPost("#Django"), f"token {step}")
            )
        drain_due(store, raw)
        assert noted(raw) == []
        if raw.hexists(f"post:{pid}", "deleted"):
            left += raw.zrange("tag:django", 0, -1)
            call_command("doctor", "--fix", verbosity=0)
            assert not raw.exists("tag:django"), step
    assert left
