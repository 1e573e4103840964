"""Followed tags: their posts stand at /tags/, and never in home."""

import pytest

from tests.support.http.page_text import post_ids, text_of
from tests.support.stored_posts import write_posts, write_tag
from timeline.relations.tag_follow import TagFollows
from timeline.tags.tag_pages import MOST_FOLLOWED


@pytest.fixture
def tags(raw, alice, bob):
    """bob's posts 1 to 6: two have #Redis, two #Django, one has both, one has none."""
    write_posts(raw, 2, range(1, 7))
    write_tag(raw, "Redis", [1, 3, 5])
    write_tag(raw, "Django", [2, 4, 5])


def follow(client, tag):
    return client.post(f"/tags/{tag}/follow/")


def test_a_follow_is_stored_by_the_folded_tag(browser, raw, tags, alice):
    client = browser(alice)
    assert follow(client, "Redis")["Location"] == "/tags/redis/"
    [(name, since)] = raw.zrange("tags_of:1", 0, -1, withscores=True)
    assert name == "redis"
    assert since > 1_700_000_000
    assert raw.zcard("outbox") == 0
    page = text_of(client.get("/tags/redis/"))
    assert "You now follow #Redis." in page
    assert "Unfollow" in page


def test_an_unfollow_removes_it(browser, raw, tags, alice):
    client = browser(alice)
    follow(client, "redis")
    assert client.post("/tags/REDIS/unfollow/")["Location"] == "/tags/redis/"
    assert not raw.exists("tags_of:1")
    assert "You no longer follow #Redis." in text_of(client.get("/tags/redis/"))


def test_the_posts_of_all_followed_tags_are_merged_newest_first(browser, raw, tags, alice):
    client = browser(alice)
    follow(client, "redis")
    assert post_ids(client.get("/tags/")) == [5, 3, 1]
    follow(client, "django")
    assert post_ids(client.get("/tags/")) == [5, 4, 3, 2, 1]


def test_they_never_enter_home(browser, tags, alice):
    client = browser(alice)
    follow(client, "redis")
    assert post_ids(client.get("/")) == []


def test_followed_tags_are_listed_with_a_button_the_newest_follow_first(browser, raw, tags, alice):
    client = browser(alice)
    follow(client, "redis")
    follow(client, "django")
    raw.zadd("tags_of:1", {"redis": 1})  # long ago
    page = client.get("/tags/").content.decode()
    assert page.index('action="/tags/django/unfollow/"') < page.index('action="/tags/redis/unfollow/"')
    assert 'href="/tags/django/"><bdi>#Django</bdi>' in page


def test_older_posts_of_many_tags_stand_on_later_pages_each_once(browser, raw, store, alice, bob):
    write_posts(raw, 2, range(1, 201))
    for number in range(5):
        write_tag(raw, f"t{number}", [pid for pid in range(1, 201) if pid % (number + 2) == 0])
        TagFollows(store).follow(1, f"t{number}")
    client, address, seen = browser(alice), "/tags/", []
    while address:
        found = post_ids(client.get(address))
        seen += found
        address = f"/tags/?before={found[-1]}" if found else None
    assert seen == [pid for pid in range(200, 0, -1) if any(pid % each == 0 for each in range(2, 7))]


def test_a_user_who_follows_no_tags_is_told_how(browser, alice):
    assert "You follow no tags." in text_of(browser(alice).get("/tags/"))


def test_visitors_are_asked_to_log_in(browser, tags, alice):
    answer = browser().get("/tags/")
    assert answer.status_code == 200
    assert 'href="/login/?next=/tags/"' in answer.content.decode()
    assert 'href="/login/?next=/tags/redis/"' in browser().get("/tags/redis/").content.decode()
    assert follow(browser(), "redis")["Location"].startswith("/login/?next=")


def test_more_than_the_limit_is_refused(browser, raw, tags, alice):
    raw.zadd("tags_of:1", {f"t{number}": 1 for number in range(MOST_FOLLOWED)})
    client = browser(alice)
    follow(client, "redis")
    assert raw.zscore("tags_of:1", "redis") is None
    assert f"You can follow up to {MOST_FOLLOWED} tags." in text_of(client.get("/tags/redis/"))
    raw.zadd("tags_of:1", {"redis": 1})
    follow(client, "redis")  # a second follow is no further one
    assert "You now follow #Redis." in text_of(client.get("/tags/redis/"))


@pytest.mark.parametrize("verb", ["follow", "unfollow"])
def test_a_tag_that_was_never_used_cannot_be_followed(browser, raw, tags, alice, verb):
    assert browser(alice).post(f"/tags/never/{verb}/").status_code == 404
    assert not raw.exists("tags_of:1")


def test_the_number_of_followed_tags_does_not_matter_for_round_trips(browser, raw, tags, alice, round_trips):
    client = browser(alice)
    follow(client, "redis")
    client.get("/tags/")
    few = len(round_trips(lambda: client.get("/tags/")).round_trips)
    for number in range(50):
        write_tag(raw, f"t{number}", [6])
        raw.zadd("tags_of:1", {f"t{number}": 1})
    client.get("/tags/")
    assert len(round_trips(lambda: client.get("/tags/")).round_trips) == few
