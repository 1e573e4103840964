"""Dates outside the calendar: a foreign database may have times in milliseconds, or any number."""

import pytest

from retwis_site.rendering.dates import LAST, iso
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import write_posts
from timeline.relations.follow import FOLLOW
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import to_person

PAGES = ["/", "/timeline/", "/@bob/", "/@bob/1/", "/@bob/followers/", "/people/", "/@bob/atom/", "/timeline/rss/"]


@pytest.mark.parametrize("when", ["1800000000000", "99999999999999999999"])
@pytest.mark.parametrize("url", PAGES)
def test_pages_and_feeds_show_times_after_the_calendar_as_its_last_second(browser, raw, alice, bob, when, url):
    write_posts(raw, 2, [1])
    raw.hset("post:1", "time", when)
    raw.zadd("users_by_time", {"bob": when})
    raw.zadd("followers:2", {"1": when})
    raw.zadd("following:1", {"2": when})
    Memory.clear_all()
    for client in (browser(), browser(alice)):
        page = client.get(url)
        assert page.status_code == 200
        assert b"9999" in page.content or url == "/people/"


@pytest.mark.parametrize("url", ["/@bob/", "/@bob/followers/", "/@bob/following/", "/people/", "/settings/download/"])
@pytest.mark.parametrize("when", ["inf", "-inf"])
def test_infinite_times_are_no_error(browser, raw, alice, bob, when, url):
    raw.zadd("users_by_time", {"bob": when})
    for key, member in (("followers:2", "1"), ("following:1", "2"), ("followers:1", "2"), ("following:2", "1")):
        raw.zadd(key, {member: when})
    Memory.clear_all()
    assert browser(bob).get(url).status_code == 200


def test_a_follow_with_an_infinite_time_is_repaired(store, raw, alice, bob):
    raw.zadd("following:1", {"2": "inf"})
    Edges(store, FOLLOW).mend([to_person(1, 2)])
    assert raw.zscore("followers:2", "1") == LARGEST_ID


@pytest.mark.parametrize(("seconds", "written"), [(-5, "1970-01-01T00:00:00Z"), (LAST, "9999-12-31T23:59:59Z")])
def test_a_written_time_stays_within_the_calendar(seconds, written):
    assert iso(seconds) == written
