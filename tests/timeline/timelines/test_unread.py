"""What has come since somebody left: how much, where it ends, and the way back to it. One number in Redis."""

import re

import pytest

from accounts.signing_in.viewer import Viewer
from retwis_site.exceptions import StoreReadOnly
from tests.support.stored_keys import publish
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows
from timeline.timelines import unread
from timeline.timelines.entities import HomePage
from timeline.timelines.home import Homes


@pytest.fixture
def followed(store, alice, bob):
    """alice follows bob."""
    Follows(store).follow(alice.user.uid, bob.user.uid)


def written(raw, store, login, times):
    for _ in range(times):
        publish(raw, store, login, f"after {raw.get('next_post_id')}")


def told(text):
    """The line above the posts, as it reads."""
    found = re.findall(r'<p class="since">(.*?)</p>', text, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", "", line).split()) for line in found]


def shown(text):
    """The page's posts and the line between them, in order."""
    return [pid or "stopped" for pid, _ in re.findall(r'id="post-(\d+)"|(id="stopped")', text)]


def page(client, url="/"):
    return client.get(url).content.decode()


def test_redis_has_the_highest_post_that_was_shown_and_nothing_else(browser, raw, store, followed, alice, bob):
    assert raw.hget("user:1", "seen") is None
    written(raw, store, bob, 3)
    page(browser(alice))
    assert raw.hget("user:1", "seen") == "3"
    Posts(store).delete(bob.user.uid, 3)
    page(browser(alice))
    assert raw.hget("user:1", "seen") == "3"
    page(browser(alice), "/?before=2")
    assert raw.hget("user:1", "seen") == "3"


def test_it_is_written_only_when_something_new_is_shown(browser, raw, store, followed, alice, bob, round_trips):
    written(raw, store, bob, 3)
    client = browser(alice)
    page(client)
    recorded = round_trips(lambda: page(client))
    assert not [command for command in recorded.commands if command[0] == "HSET"]
    written(raw, store, bob, 1)
    recorded = round_trips(lambda: page(client))
    assert [command for command in recorded.commands if command[0] == "HSET"] == [("HSET", "user:1", "seen", "4")]


def test_the_first_visit_of_all_tells_nothing(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 3)
    text = page(browser(alice))
    assert told(text) == []
    assert shown(text) == ["3", "2", "1"]


def test_with_nothing_new_one_is_caught_up(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 3)
    page(browser(alice))
    text = page(browser(alice))
    assert told(text) == ["You're all caught up. No new posts since your last visit."]
    assert shown(text) == ["3", "2", "1"]


def test_what_is_new_is_counted_and_a_line_stands_below_it(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 3)
    page(browser(alice))
    written(raw, store, bob, 2)
    text = page(browser(alice))
    assert told(text) == ["2 new posts since your last visit · Go to where you stopped reading"]
    assert shown(text) == ["5", "4", "stopped", "3", "2", "1"]
    assert 'href="#stopped"' in text


def test_a_reload_and_the_next_page_still_know_where_it_was(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 30)
    page(browser(alice))
    written(raw, store, bob, 22)
    client = browser(alice)
    for _ in range(2):
        text = page(client)
        assert told(text) == ["22 new posts since your last visit · Go back to where you stopped reading"]
        assert "stopped" not in shown(text)
    [older] = set(re.findall(r'rel="next" hx-get="([^"]*)"', text))
    assert shown(page(client, older))[:4] == ["32", "31", "stopped", "30"]


def test_the_way_back_leads_to_where_one_stopped(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 30)
    page(browser(alice))
    written(raw, store, bob, 37)
    client = browser(alice)
    text = page(client)
    assert told(text) == ["37 new posts since your last visit · Go back to where you stopped reading"]
    [back] = re.findall(r'<p class="since">.*?href="([^"]*)"', text, re.DOTALL)
    text = page(client, back)
    assert told(text) == ["This is where you stopped reading."]
    assert shown(text)[0] == "30"


def test_between_two_pages_the_second_says_so(browser, raw, store, followed, alice, bob, carol):
    written(raw, store, bob, 30)
    page(browser(alice))
    Posts(store).delete(bob.user.uid, 30)
    written(raw, store, carol, 1)
    written(raw, store, bob, 20)
    client = browser(alice)
    assert told(page(client)) == ["20 new posts since your last visit · Go back to where you stopped reading"]
    assert told(page(client, "/?before=32")) == ["This is where you stopped reading."]
    assert shown(page(client, "/?before=32"))[0] == "29"
    assert told(page(client, "/?before=29")) == told(page(client, "/?before=40")) == []


def test_where_nothing_is_left_of_what_was_read_no_way_leads_there(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 1)
    page(browser(alice))
    Posts(store).delete(bob.user.uid, 1)
    written(raw, store, bob, 2)
    text = page(browser(alice))
    assert told(text) == ["2 new posts since your last visit"]
    assert shown(text) == ["3", "2"]


def test_ones_own_posts_are_no_news(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 3)
    page(browser(alice))
    written(raw, store, alice, 2)
    assert told(page(browser(alice))) == ["You're all caught up. No new posts since your last visit."]
    written(raw, store, bob, 1)
    written(raw, store, alice, 1)
    text = page(browser(alice))
    assert told(text) == ["1 new post since your last visit · Go to where you stopped reading"]


def test_more_than_the_list_tells_is_said_so(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 1)
    page(browser(alice))
    written(raw, store, bob, 230)
    [line] = told(page(browser(alice)))
    assert line == "150+ new posts since your last visit · Go back to where you stopped reading"


def test_the_cookie_lasts_some_minutes_and_is_set_once(browser, raw, store, followed, alice, bob):
    written(raw, store, bob, 3)
    client = browser(alice)
    assert unread.COOKIE not in client.get("/").cookies
    written(raw, store, bob, 2)
    cookie = client.get("/").cookies[unread.COOKIE]
    assert (cookie.value, cookie["max-age"], cookie["httponly"], cookie["samesite"]) == ("1-3", 600, True, "Lax")
    written(raw, store, bob, 1)
    answer = client.get("/")
    assert unread.COOKIE not in answer.cookies
    assert told(answer.content.decode()) == ["3 new posts since your last visit · Go to where you stopped reading"]


def test_whoever_uses_the_browser_next_is_told_of_their_own_visits(browser, raw, store, followed, alice, bob, carol):
    Follows(store).follow(carol.user.uid, bob.user.uid)
    written(raw, store, bob, 3)
    page(browser(alice))
    written(raw, store, bob, 2)
    page(browser(carol))
    client = browser(alice)
    assert told(page(client)) == ["2 new posts since your last visit · Go to where you stopped reading"]
    client.cookies["auth"] = carol.secret
    assert told(page(client)) == ["You're all caught up. No new posts since your last visit."]
    written(raw, store, bob, 1)
    for _ in range(2):
        assert told(page(client)) == ["1 new post since your last visit · Go to where you stopped reading"]
    assert client.cookies[unread.COOKIE].value == "3-5"


@pytest.mark.parametrize(
    "value", ["", "x", "-1", "0", "3", "1-", "1-x", "1-0", "2-1", "1-" + "9" * 40, "1-1e3", "1-0x1"]
)
def test_a_cookie_that_is_none_of_ours_is_nothing(browser, raw, store, followed, alice, bob, value):
    written(raw, store, bob, 3)
    page(browser(alice))
    client = browser(alice)
    client.cookies[unread.COOKIE] = value
    assert told(page(client)) == ["You're all caught up. No new posts since your last visit."]


@pytest.mark.parametrize("stored", ["x", "", "0", "-3", "9" * 40])
def test_a_number_that_is_none_is_as_if_one_had_never_been_here(browser, raw, store, followed, alice, bob, stored):
    written(raw, store, bob, 3)
    raw.hset("user:1", "seen", stored)
    assert told(page(browser(alice))) == []
    assert raw.hget("user:1", "seen") == "3"


def test_a_store_that_takes_no_writes_shows_the_page_all_the_same(
    browser, raw, store, followed, alice, bob, monkeypatch
):
    written(raw, store, bob, 3)
    page(browser(alice))
    raw.hset("user:1", "seen", "1")

    def refuses(*arguments):
        raise StoreReadOnly("no")

    monkeypatch.setattr(type(store), "hset", refuses)
    assert told(page(browser(alice))) == ["2 new posts since your last visit · Go to where you stopped reading"]


def test_a_home_without_posts_has_no_news(browser, raw, alice):
    client = browser(alice)
    assert told(page(client)) == []
    assert not raw.hexists("user:1", "seen")


def test_a_home_page_says_what_its_list_holds(raw, store, followed, alice, bob):
    written(raw, store, bob, 5)
    found = Homes(store).page(Viewer(store, alice.secret), None)
    assert isinstance(found, HomePage)
    assert (found.seen, found.listed, found.has_more) == (None, [5, 4, 3, 2, 1], False)
