"""An import from the database of chapter 8 of Redis in Action."""

from tests.support.other_retwises.imported import follows, posts
from tests.support.other_retwises.redis_in_action import RedisInActionSite
from tests.support.people import LONG_AGO


def test_people_follows_and_posts_with_times_that_have_a_fraction(raw, source, importing):
    site = RedisInActionSite(source.raw)
    site.register("Alice", "Alice L.", LONG_AGO + 0.25)
    site.register("bob", "", LONG_AGO + 1.75)
    site.follow(1, 2, LONG_AGO + 10.5)
    site.post(2, "Hello", LONG_AGO + 20.999)
    printed = importing()
    assert raw.hgetall("users") == {"alice": "1", "bob": "2"}
    assert raw.hget("user:1", "name") == "Alice L."
    assert raw.zscore("users_by_time", "bob") == LONG_AGO + 1
    assert raw.zscore("users_by_name", "alice l.:1") == 0
    assert follows(raw) == {(1, 2): LONG_AGO + 10}
    assert posts(raw) == {1: (2, LONG_AGO + 20, "Hello")}
    assert "people: 2, follows: 1, likes: 0" in printed
    assert "people without a password that can be verified (`manage.py user password NAME` sets one): 2" in printed


def test_a_follow_without_a_time_has_the_later_registration(raw, source, importing):
    site = RedisInActionSite(source.raw)
    site.register("Alice", "", LONG_AGO)
    site.register("bob", "", LONG_AGO + 5)
    site.follow(1, 2, "inf")
    importing()
    assert follows(raw) == {(1, 2): LONG_AGO + 5}
