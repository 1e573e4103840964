"""Profiles and their two tabs, the pinned post, single posts, and the pages of followers and following."""

import html
import re
from urllib.parse import quote

import pytest

from retwis_site.store.client import answer
from tests.support.http.page_text import CANONICAL, post_ids, text_of, with_older
from tests.support.stored_posts import delete_answered, write_answer, write_posts
from tests.support.stores.seam import before_part, each_moment
from timeline.people import in_common
from timeline.people.in_common import ask_members, compare
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.reading.visibility import LATEST
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows
from timeline.timelines.profile import Pins


def test_a_profile_shows_the_users_own_posts_only(browser, store, alice, bob, raw):
    Follows(store).follow(1, 2)
    write_posts(raw, 1, [1, 3])
    write_posts(raw, 2, [2])
    assert post_ids(browser(bob).get("/@Alice/")) == [3, 1]


def test_a_profile_of_replies_alone_leads_to_them(browser, store, alice, bob, raw):
    write_posts(raw, 1, [1])
    bobs_page = browser(alice).get("/@bob/").content.decode()
    assert "has not posted yet." in bobs_page
    pid = Posts(store).publish(2, NewPost("An answer", reply_to=1), "token").pid
    for client in (browser(), browser(bob)):
        page = client.get("/@bob/").content.decode()
        assert "No posts to show here." in page
        assert "not posted yet" not in page
        assert 'class="button quiet" href="/@bob/replies/"' in page
    assert post_ids(browser().get("/@bob/replies/")) == [pid]
    browser(alice).post("/@bob/block/")
    assert "You block" in browser(alice).get("/@bob/").content.decode()


def test_a_blocked_profile_leads_to_no_older_posts_however_many_there_are(browser, alice, bob, raw):
    write_posts(raw, 2, range(1, 302))
    browser(alice).post("/@bob/block/")
    for address in ("/@bob/", "/@bob/replies/"):
        page = browser(alice).get(address).content.decode()
        assert "You block" in page
        assert "?before=" not in page


def test_a_profile_with_exactly_one_page_has_no_older_link(browser, alice, raw):
    write_posts(raw, 1, range(1, 21))
    answer = browser().get("/@alice/")
    assert len(post_ids(answer)) == 20
    assert "?before=" not in answer.content.decode()


def test_a_profile_says_what_both_users_have_in_common(browser, store, alice, bob, raw):
    for number in range(34):
        raw.zadd("followers:1", {100 + number: 1})
        raw.zadd("followers:2", {100 + number: 2})
    raw.zadd("followers:2", {900: 1, 901: 1})
    for number in range(12):
        raw.zadd("following:1", {200 + number: 1})
        raw.zadd("following:2", {200 + number: 2})
    text = text_of(browser(bob).get("/@alice/"))
    assert "You and @Alice have 34 followers in common" in text
    assert "You both follow 12 people" in text


def test_who_follows_the_owner_later_is_in_common_seconds_later(browser, alice, bob, raw, clock):
    raw.zadd("following:2", {900: 1})
    client = browser(bob)
    assert "in common" not in text_of(client.get("/@alice/"))
    raw.zadd("followers:1", {100: 1})
    raw.zadd("followers:2", {100: 1})
    clock.sleep(6)
    assert "You and @Alice have 1 follower in common" in text_of(client.get("/@alice/"))


@pytest.fixture
def acquainted(browser, alice, bob, carol, raw):
    """Three people with one follower, who follow 10, 20 and 30 people. The process has shown profiles to all three."""
    for uid in (1, 2, 3):
        raw.zadd(f"followers:{uid}", {"100": 1})
        raw.zadd(f"following:{uid}", {str(other): 1 for other in range(200, 200 + 10 * uid)})
    browser(bob).get("/@alice/")
    browser(carol).get("/@bob/")


def test_a_first_visit_compares_small_sets_as_they_are_read(browser, acquainted, carol, round_trips):
    [read] = round_trips(lambda: browser(carol).get("/@alice/")).round_trips
    assert ["ZRANGE", "following:1", "0", "127"] in [[*map(str, one)] for one in read.commands]
    text = text_of(browser(carol).get("/@alice/"))
    assert "You and @Alice have 1 follower in common" in text
    assert "You both follow 10 people" in text


def test_a_first_visit_looks_members_of_a_small_set_up_in_a_large_one(browser, acquainted, carol, raw, round_trips):
    raw.zadd("following:1", {str(other): 1 for other in range(220, 420)})
    _, compared = round_trips(lambda: browser(carol).get("/@alice/")).round_trips
    assert [(one[0], one[1]) for one in compared.commands] == [("ZMSCORE", "following:1")]
    assert "You both follow 20 people" in text_of(browser(carol).get("/@alice/"))


def test_a_first_visit_reads_at_once_what_it_compares_of_large_sets(browser, acquainted, bob, carol, raw, round_trips):
    for uid in (1, 3):
        raw.zadd(f"following:{uid}", {str(other): 1 for other in range(200, 400 + 10 * uid)})
    assert len(round_trips(lambda: browser(carol).get("/@alice/")).round_trips) == 3  # the process learns how many
    in_common._compared.clear()
    read, compared = round_trips(lambda: browser(carol).get("/@alice/")).round_trips
    assert ["ZRANGE", "following:1", "0", "9999"] in [[*map(str, one)] for one in read.commands]
    assert {one[0] for one in compared.commands} == {"ZMSCORE"}
    assert "You both follow 210 people" in text_of(browser(carol).get("/@alice/"))


def test_a_first_visit_does_not_read_the_first_of_many_followers(browser, acquainted, bob, carol, raw, round_trips):
    raw.zadd("followers:1", {str(other): 1 for other in range(500, 700)})
    browser(carol).get("/@alice/")  # the process learns how many
    in_common._compared.clear()
    read, *_ = round_trips(lambda: browser(bob).get("/@alice/")).round_trips
    assert {one[1] for one in read.commands if one[0] == "ZRANGE"} >= {"followers:2", "following:1", "following:2"}
    assert "followers:1" not in {one[1] for one in read.commands if one[0] == "ZRANGE"}
    raw.zrem("followers:1", *map(str, range(500, 700)))
    in_common._compared.clear()
    assert "You and @Alice have 1 follower in common" in text_of(browser(carol).get("/@alice/"))


def test_a_first_visit_compares_rightly_though_another_set_is_the_smaller_one_now(browser, alice, bob, carol, raw):
    for uid in (1, 2, 3):
        raw.zadd(f"following:{uid}", {str(other): 1 for other in range(200, 200 + 10 * uid)})
        raw.zadd(f"followers:{uid}", {"100": 1})
    browser(bob).get("/@alice/")
    browser(carol).get("/@bob/")
    raw.zrem("following:3", *map(str, range(205, 230)))
    assert "You both follow 5 people" in text_of(browser(carol).get("/@alice/"))


def test_one_user_in_common_is_in_the_singular(browser, alice, bob, raw):
    raw.zadd("followers:1", {100: 1})
    raw.zadd("followers:2", {100: 1})
    raw.zadd("following:1", {100: 1})
    raw.zadd("following:2", {100: 1})
    text = text_of(browser(bob).get("/@alice/"))
    assert "You and @Alice have 1 follower in common" in text
    assert "You both follow 1 person" in text


def test_nothing_in_common_is_not_mentioned(browser, alice, bob, raw):
    raw.zadd("followers:1", {100: 1})
    assert "in common" not in text_of(browser(bob).get("/@alice/"))
    assert "in common" not in text_of(browser().get("/@alice/"))
    assert "in common" not in text_of(browser(alice).get("/@alice/"))


@pytest.mark.parametrize(("size", "expected"), [(9_999, "9999"), (10_000, "10000"), (10_001, "10000+")])
def test_the_number_in_common_is_exact_up_to_ten_thousand(store, raw, size, expected):
    raw.zadd("following:1", {str(uid): uid for uid in range(1, size + 1)})
    raw.zadd("followers:2", {str(uid): uid for uid in range(1, size + 501)})
    comparison = compare("followers:2", size + 500, "following:1", size)
    assert (comparison.smaller, comparison.larger) == ("following:1", "followers:2")
    shared = answer(store, comparison.ask_shared, {"following:1": answer(store, ask_members, "following:1")})
    assert str(shared.number) == expected
    assert shared.first == (1, 2, 3, 4)


def test_the_follow_button_shows_the_present_state(browser, member, bob):
    assert 'action="/@bob/follow/"' in member.get("/@bob/").content.decode()
    member.post("/@bob/follow/")
    assert 'action="/@bob/unfollow/"' in member.get("/@bob/").content.decode()
    assert "follow/" not in re.findall(r'action="([^"]*)"', member.get("/@alice/").content.decode())
    assert "/@bob/follow/" not in re.findall(r'action="([^"]*)"', browser().get("/@bob/").content.decode())


def test_a_post_has_a_page_at_its_author_only(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    assert "post 1" in browser().get("/@alice/1/").content.decode()
    assert browser().get("/@bob/1/").status_code == 404
    assert browser().get("/@alice/2/").status_code == 404
    assert browser().get("/@nobody/1/").status_code == 404


def test_a_post_without_its_commit_is_not_found(browser, alice, raw):
    raw.hset("post:1", mapping={"user_id": 1, "time": 1, "body": "half"})
    assert browser().get("/@alice/1/").status_code == 404


@pytest.mark.parametrize(
    "name", ["a b", "a/b", "Jörg", "50%", "%2F", "a?b", "a#b", "日本", "<i>", "..", "a\\b", "a&b=c"]
)
def test_a_username_of_any_characters_has_an_address(client, raw, name):
    raw.hset("user:1", mapping={"username": name, "password": "x", "auth": "s"})
    raw.hset("users", name, 1)
    raw.zadd("users_by_time", {name: 1})
    raw.zadd("followers:1", {"1": 1})
    write_posts(raw, 1, [1])
    links = re.findall(r'href="(/@[^"]+/)"', client.get("/timeline/").content.decode())
    assert len(set(links)) == 2  # the profile and the page of the post
    for link in set(links):
        response = client.get(html.unescape(link))
        assert response.status_code == 200, link
        assert "post 1" in response.content.decode()
    profile = min(links, key=len)
    assert client.get(html.unescape(f"{profile}followers/")).status_code == 200


def test_an_unknown_username_is_not_found(browser):
    for page in ("", "replies/", "followers/", "following/"):
        assert browser().get(f"/@nobody/{page}").status_code == 404


def test_the_login_leads_back_to_a_profile_whose_name_needs_escaping(browser, raw):
    raw.hset("users", "a&b'c", 7)
    raw.hset("user:7", "username", "a&b'c")
    page = browser().get("/@a&b'c/").content.decode()
    assert f'href="/login/?next={quote("/@a&b")}%27c/"' in page


# ---- The two tabs of a profile: posts to everyone, and these with the answers to others.


@pytest.fixture
def shown(browser, alice, bob):
    return lambda path="/@Alice/": post_ids(browser().get(path))


def test_posts_are_those_to_everyone_and_a_thread_of_ones_own(shown, raw):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2])
    write_answer(raw, 1, 3, parent=1)
    write_answer(raw, 1, 4, parent=2)
    assert shown("/@Alice/") == [4, 2]
    assert shown("/@Alice/replies/") == [4, 3, 2]


def test_a_profile_says_how_many_posts_its_tab_has_which_are_all_that_the_person_wrote(shown, browser, store, raw):
    def says():
        return re.findall(
            r'href="(/@Alice/replies/)"><strong>(\d+)</strong> posts?<', browser().get("/@Alice/").content.decode()
        )

    assert says() == [("/@Alice/replies/", "0")]
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2])
    write_answer(raw, 1, 3, parent=1)
    Reposts(store).repost(1, 1, 2)
    assert raw.zcard("updates:1") == 3
    assert says() == [("/@Alice/replies/", "2")]
    assert shown("/@Alice/replies/") == [3, 2]
    assert len(shown("/@Alice/")) == 2  # the repost stands here


def test_the_tab_that_is_open_is_marked(browser, alice, raw):
    for path, name in (("/@Alice/", "Posts"), ("/@Alice/replies/", "Posts and replies")):
        page = browser().get(path).content.decode()
        assert re.search(rf'<a href="{path}" aria-current="page">{name}</a>', page)
        assert CANONICAL.findall(page) == [f"http://testserver{path}"]


@pytest.mark.parametrize("path", ["/@Alice/", "/@Alice/replies/"])
def test_each_tab_has_pages_down_to_the_first_post(browser, alice, bob, raw, path):
    write_posts(raw, 2, [1])
    for pid in range(2, 302):
        write_posts(raw, 1, [pid]) if pid % 7 == 0 else write_answer(raw, 1, pid, parent=1)
    seen = [pid for page in with_older(browser(), path) for pid in post_ids(page)]
    assert seen == [pid for pid in range(301, 1, -1) if "replies" in path or pid % 7 == 0]


def test_posts_below_very_many_answers_to_others_can_be_reached_at_each_visit(browser, alice, bob, raw):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2, 3])
    for pid in range(4, 260):
        write_answer(raw, 1, pid, parent=1)
    for _ in range(3):
        assert [pid for page in with_older(browser(), "/@Alice/") for pid in post_ids(page)] == [3, 2]


def test_a_profile_full_of_answers_to_others_costs_one_round_trip_more(browser, alice, bob, raw, round_trips):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, range(2, 42))
    client = browser(bob)

    def cost():
        client.get("/@Alice/")
        return len(round_trips(lambda: client.get("/@Alice/")).round_trips)

    before = cost()
    for pid in range(42, 142):
        write_answer(raw, 1, pid, parent=1)
    assert cost() <= before + 1


def test_a_profile_asks_about_each_post_where_the_latest_likes_do_not_say_all(browser, alice, bob, raw, round_trips):
    write_posts(raw, 1, [1, 2])
    raw.zadd("likes:2", {"1": 5, **{str(pid): 2_000_000_000 for pid in range(1000, 1000 + LATEST)}})
    client = browser(bob)
    for _ in range(2):  # the first visit asks in a second round trip
        client.get("/@Alice/")
    [visit] = round_trips(lambda: client.get("/@Alice/")).round_trips
    assert [command[0] for command in visit.commands if command[1] == "likes:2"] == ["ZMSCORE"]
    assert "/@Alice/1/unlike/" in client.get("/@Alice/").content.decode()
    raw.zrem("likes:2", "1")
    assert "/@Alice/1/unlike/" not in client.get("/@Alice/").content.decode()


def test_the_feed_of_a_profile_has_the_posts_to_everyone(browser, alice, bob, raw):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2])
    write_answer(raw, 1, 3, parent=1)
    feed = browser().get("/@Alice/atom/").content.decode()
    assert "/@Alice/2/" in feed
    assert "/@Alice/3/" not in feed


# ---- One post of a user may stand first on their profile.


def test_a_pinned_post_stands_first_and_only_there(shown, browser, alice, raw):
    write_posts(raw, 1, range(1, 4))
    assert "Pinned to your profile." in text_of(browser(alice).post("/@Alice/2/pin/", follow=True))
    assert raw.hget("user:1", "pinned") == "2"
    assert shown() == [2, 3, 1]
    assert shown("/@Alice/replies/") == [3, 2, 1]
    assert "Pinned" in text_of(browser().get("/@Alice/"))


def test_a_pinned_post_of_a_later_page_stands_there_too(shown, raw):
    write_posts(raw, 1, range(1, 31))
    raw.hset("user:1", "pinned", 5)
    assert shown() == [5, *range(30, 10, -1)]
    assert shown("/@Alice/?before=11") == [*range(10, 0, -1)]


def test_another_pin_replaces_the_first(shown, browser, alice, raw):
    write_posts(raw, 1, range(1, 4))
    for pid in (1, 2):
        browser(alice).post(f"/@Alice/{pid}/pin/")
    assert shown() == [2, 3, 1]


def test_a_post_can_be_unpinned(shown, member, raw):
    write_posts(raw, 1, range(1, 4))
    member.post("/@Alice/2/pin/")
    member.post("/@Alice/1/unpin/")  # on an old page
    assert shown() == [2, 3, 1]
    member.post("/@Alice/2/unpin/")
    assert shown() == [3, 2, 1]
    assert raw.hget("user:1", "pinned") is None


def test_a_pin_on_one_device_stays_while_another_one_unpins_the_post_before(store, raw):
    write_posts(raw, 1, [1, 2])
    for step in each_moment():
        Pins(store).pin(1, 1)
        with before_part(step, lambda: Pins(store).pin(1, 2)) as pinned:
            Pins(store).unpin(1, 1)
        assert raw.hget("user:1", "pinned") == ("2" if pinned else None), step


def test_the_menu_of_a_pinned_post_offers_its_author_to_unpin(browser, alice, bob, raw):
    write_posts(raw, 1, [1, 2])
    raw.hset("user:1", "pinned", 1)
    button = 'formaction="/@Alice/1/unpin/"'
    html = browser(alice).get("/@Alice/1/more/").content.decode()
    assert button in html
    assert "/@Alice/1/pin/" not in html
    assert 'formaction="/@Alice/2/pin/"' in browser(alice).get("/@Alice/2/more/").content.decode()
    assert button not in browser(bob).get("/@Alice/1/more/").content.decode()
    assert button not in browser().get("/@Alice/1/more/").content.decode()


def test_an_answer_to_someone_can_be_pinned(shown, raw):
    write_posts(raw, 2, [1])
    write_answer(raw, 1, 2, parent=1)
    raw.hset("user:1", "pinned", 2)
    assert shown() == [2]


def test_a_deleted_post_is_not_pinned_any_more(shown, browser, alice, store, raw):
    write_posts(raw, 1, range(1, 4))
    raw.hset("user:1", "pinned", 2)
    Posts(store).delete(1, 2)
    assert shown() == [3, 1]
    assert browser(alice).post("/@Alice/2/pin/").status_code == 410
    delete_answered(raw, 3)


@pytest.mark.parametrize("pinned", ["9", "x", "0"])
def test_an_id_that_leads_to_no_own_post_is_skipped(shown, raw, pinned):
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [9])
    raw.hset("user:1", "pinned", pinned)
    assert shown() == [1]


def test_only_own_posts_can_be_pinned(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [2])
    client = browser(bob)
    assert client.post("/@Alice/1/pin/").status_code == 403
    assert client.post("/@Alice/1/unpin/").status_code == 403
    assert client.post("/@bob/1/pin/").status_code == 404
    assert client.get("/@bob/2/pin/").status_code == 405
    assert "/login/" in browser().post("/@bob/2/pin/").headers["Location"]
    assert raw.hget("user:2", "pinned") is None


def test_the_feed_has_a_pinned_post_in_its_place(browser, alice, raw):
    write_posts(raw, 1, range(1, 4))
    raw.hset("user:1", "pinned", 1)
    feed = browser().get("/@Alice/atom/").content.decode()
    assert re.findall(r"<id>http://testserver/@Alice/(\d)/</id>", feed) == ["3", "2", "1"]
