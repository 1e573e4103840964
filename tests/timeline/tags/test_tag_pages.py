"""The pages of tags: of one, at its folded address, and of those that the viewer follows."""

from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from retwis_site.store.cached_list import Slice
from tests.support.apps import App
from tests.support.http.page_text import page_of, post_ids, text_of, with_older
from tests.support.stored_posts import write_posts, write_tag
from timeline.relations.relations import TagFollows
from timeline.tags.tags import MOST_FOLLOWED, merged
from timeline.timelines.pagination import Part


def test_the_newest_posts_with_the_tag_are_shown(browser, raw, alice, bob):
    write_posts(raw, 1, [1, 2, 3])
    write_posts(raw, 2, [4])
    write_tag(raw, "Redis", [1, 3, 4])
    for client in (browser(), browser(alice)):
        answer = client.get("/tags/redis/")
        assert answer.status_code == 200
        assert post_ids(answer) == [4, 3, 1]
        assert "<h1><bdi>#Redis</bdi></h1>" in answer.content.decode()


@pytest.mark.parametrize("spelling", ["REDIS", "Redis", "ｒｅｄｉｓ"])
def test_each_spelling_leads_to_the_folded_address(browser, raw, alice, spelling):
    write_tag(raw, "Redis", [])
    answer = browser().get(f"/tags/{quote(spelling)}/?before=7")
    assert answer.status_code == 301
    assert answer["Location"] == "/tags/redis/?before=7"


def test_tags_of_other_scripts_have_addresses(browser, raw, alice):
    write_posts(raw, 1, [1])
    write_tag(raw, "日本語", [1])
    answer = browser().get(f"/tags/{quote('日本語')}/")
    assert post_ids(answer) == [1]
    assert f'<link rel="canonical" href="http://testserver/tags/{quote("日本語")}/">' in answer.content.decode()


@pytest.mark.parametrize("name", ["never", "1", "a b", "a+b", "%23a", "a" * 101, "%00", "..", "_"])
def test_a_tag_that_was_never_used_is_not_found(browser, raw, alice, name):
    write_tag(raw, "used", [])
    page = page_of(browser().get(f"/tags/{name}/"), 404)
    assert "<h1>" in page
    assert "No posts have this tag." in page


def test_a_tag_whose_posts_are_gone_has_an_empty_page(browser, raw, alice):
    write_tag(raw, "Used", [])
    assert "No posts have this tag now." in page_of(browser().get("/tags/used/"))


def test_older_posts_stand_on_the_next_page(browser, raw, alice):
    write_posts(raw, 1, range(1, 51))
    write_tag(raw, "many", range(1, 51))
    seen = [post_ids(page) for page in with_older(browser(), "/tags/many/")]
    assert seen == [list(range(50, 30, -1)), list(range(30, 10, -1)), list(range(10, 0, -1))]


def test_deleted_posts_make_room_for_older_ones(browser, raw, alice):
    write_posts(raw, 1, range(1, 41))
    write_tag(raw, "many", range(1, 41))
    for pid in range(31, 41):
        raw.hset(f"post:{pid}", "deleted", 1)
    assert post_ids(browser().get("/tags/many/")) == list(range(30, 10, -1))


def test_bad_values_in_the_store_are_skipped(browser, raw, alice):
    write_posts(raw, 1, [1])
    write_tag(raw, "used", [1])
    raw.zadd("tag:used", {"x": 5, "007": 7})
    assert post_ids(browser().get("/tags/used/")) == [1]


def test_a_followed_tag_without_a_name_is_skipped(browser, raw, alice):
    write_tag(raw, "bread", [])
    raw.zadd("tags_of:1", {"": 2, "bread": 1})
    page = page_of(browser(alice).get("/tags/"))
    assert "/tags/bread/" in page
    assert "/tags//" not in page
    assert [tag["name"] for tag in App(alice).json("GET", "/api/v1/followed_tags")] == ["bread"]
    raw.zrem("tags_of:1", "bread")
    assert browser(alice).get("/tags/").status_code == 200


def test_a_hostile_spelling_is_escaped(browser, raw, alice):
    raw.hset("tags", "used", "<script>")
    page = browser(alice).get("/tags/used/").content.decode()
    assert "<script>" not in page.replace("<script src=", "")
    assert "#&lt;script&gt;" in page


# ---- Followed tags: their posts stand at /tags/, and in home only where `test_tags_at_home.py` chooses so.


@pytest.fixture
def tags(raw, alice, bob):
    """bob's posts 1 to 6: two have #Redis, two #Django, one has both, one has none."""
    write_posts(raw, 2, range(1, 7))
    write_tag(raw, "Redis", [1, 3, 5])
    write_tag(raw, "Django", [2, 4, 5])


def follow(client, tag):
    return client.post(f"/tags/{tag}/follow/")


def test_a_follow_is_stored_by_the_folded_tag(raw, tags, member):
    assert follow(member, "Redis")["Location"] == "/tags/redis/"
    [(name, since)] = raw.zrange("tags_of:1", 0, -1, withscores=True)
    assert name == "redis"
    assert since > 1_700_000_000
    assert raw.zcard("outbox") == 0
    page = text_of(member.get("/tags/redis/"))
    assert "You now follow #Redis." in page
    assert "Unfollow" in page


def test_an_unfollow_removes_it(raw, tags, member):
    follow(member, "redis")
    assert member.post("/tags/REDIS/unfollow/")["Location"] == "/tags/redis/"
    assert not raw.exists("tags_of:1")
    assert "You no longer follow #Redis." in text_of(member.get("/tags/redis/"))


def test_the_posts_of_all_followed_tags_are_merged_newest_first(raw, tags, member):
    follow(member, "redis")
    assert post_ids(member.get("/tags/")) == [5, 3, 1]
    follow(member, "django")
    assert post_ids(member.get("/tags/")) == [5, 4, 3, 2, 1]


def test_they_do_not_enter_home_unasked(tags, member):
    follow(member, "redis")
    assert post_ids(member.get("/")) == []


def test_followed_tags_are_listed_with_a_button_the_newest_follow_first(raw, tags, member):
    follow(member, "redis")
    follow(member, "django")
    raw.zadd("tags_of:1", {"redis": 1})  # long ago
    page = member.get("/tags/").content.decode()
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
    assert 'href="/login/?next=/tags/"' in page_of(browser().get("/tags/"))
    assert 'href="/login/?next=/tags/redis/"' in browser().get("/tags/redis/").content.decode()
    assert follow(browser(), "redis")["Location"].startswith("/login/?next=")


def test_more_than_the_limit_is_refused(raw, tags, member):
    raw.zadd("tags_of:1", {f"t{number}": 1 for number in range(MOST_FOLLOWED)})
    follow(member, "redis")
    assert raw.zscore("tags_of:1", "redis") is None
    assert f"You can follow up to {MOST_FOLLOWED} tags." in text_of(member.get("/tags/redis/"))
    raw.zadd("tags_of:1", {"redis": 1})
    follow(member, "redis")  # a second follow is no further one
    assert "You now follow #Redis." in text_of(member.get("/tags/redis/"))


@pytest.mark.parametrize("verb", ["follow", "unfollow"])
def test_a_tag_that_was_never_used_cannot_be_followed(browser, raw, tags, alice, verb):
    assert browser(alice).post(f"/tags/never/{verb}/").status_code == 404
    assert not raw.exists("tags_of:1")


def test_the_number_of_followed_tags_does_not_matter_for_round_trips(raw, tags, member, round_trips):
    follow(member, "redis")
    member.get("/tags/")
    few = len(round_trips(lambda: member.get("/tags/")).round_trips)
    for number in range(50):
        write_tag(raw, f"t{number}", [6])
        raw.zadd("tags_of:1", {f"t{number}": 1})
    member.get("/tags/")
    assert len(round_trips(lambda: member.get("/tags/")).round_trips) == few


# ---- The newest posts of several tags, as one list.


LISTS = st.lists(st.sets(st.integers(1, 60)).map(lambda ids: sorted(ids, reverse=True)), max_size=6)


def read(lists, number):
    return [Slice(each[:number], len(each) >= number) for each in lists]


@given(LISTS, st.integers(1, 20))
def test_the_highest_of_all_lists_are_found(lists, number):
    every = sorted(set().union(*lists), reverse=True)
    found = merged(read(lists, number), number, Part())
    assert found.ids == every[:number]
    assert found.has_more or every == found.ids


@given(LISTS, st.integers(1, 20))
def test_page_after_page_gives_each_id_once(lists, number):
    seen, before = [], 61
    while True:
        found = merged(read([[pid for pid in each if pid < before] for each in lists], number), number, Part())
        seen += found.ids
        if not found.has_more or not found.ids:
            break
        before = found.ids[-1]
    assert seen == sorted(set().union(*lists), reverse=True)
