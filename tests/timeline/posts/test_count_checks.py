"""`doctor` compares all numbers of a post in one walk over the posts."""

import pytest

from tests.support.maintenance.findings import findings_of
from tests.support.stored_posts import write_posts
from timeline.posts.checks import COUNTS, CountChecks

POSTS = 1200


def findings(store):
    return [one.what for one in findings_of(store, CountChecks(store).inconsistencies())]


@pytest.fixture
def posts(raw, alice):
    write_posts(raw, 1, range(1, POSTS + 1))


def test_a_walk_takes_six_commands_a_post(posts, raw, store, round_trips):
    recorded = round_trips(lambda: findings(store))
    steps = sum(name == "SCAN" for name, *_ in recorded.commands)
    assert len(recorded.commands) - steps == 6 * POSTS
    assert len(recorded.round_trips) <= 2 * steps


@pytest.mark.parametrize("count", COUNTS, ids=[count.name for count in COUNTS])
def test_each_number_is_found_and_written_anew(posts, raw, store, count):
    raw.zadd(count.mirror(7), {"1": 1})
    raw.hset("post:8", count.name, 3)
    assert sorted(findings(store)) == [
        f"post 7 has 1 {count.name}, but its number is 0",
        f"post 8 has 0 {count.name}, but its number is 3",
    ]
    for finding in findings_of(store, CountChecks(store).inconsistencies()):
        finding.repair()
    assert raw.hget("post:7", count.name) == "1"
    assert not raw.hexists("post:8", count.name)
    assert findings(store) == []


@pytest.mark.parametrize("job", ["like:1:7:x", "repost:1:7:x", "post:7:x", "del:7:1:x", "settle:7:x", "edit:9:1:x"])
def test_a_job_explains_a_number(posts, raw, store, job):
    raw.hset("post:9", "reply_to", 7)
    raw.hset("post:7", "likes", 3)
    raw.zadd("outbox", {job: 1})
    assert findings(store) == []
