"""Unread posts: their number, the line below them, the link to the last read post, and what an open home page asks
for."""

import re

import pytest

from accounts.signing_in.viewer import Viewer
from retwis_site.exceptions import StoreReadOnly
from tests.support.stored_keys import publish
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Mutes
from timeline.timelines.home import HomePage, Homes
from timeline.timelines.html import LAST_READ_COOKIE


@pytest.fixture
def followed(store, alice, bob):
    """alice follows bob."""
    Follows(store).follow(alice.user.uid, bob.user.uid)


def write(raw, store, login, times):
    for _ in range(times):
        publish(raw, store, login, f"after {raw.get('next_post_id')}")


END = "You have reached the beginning."


def line_above(text):
    """The words of the line above the posts, in a list; empty without the line."""
    lines = re.findall(r'<p class="since">(.*?)</p>', text, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", "", line).split()) for line in lines]


def shown(text):
    """The ids of the posts of a page, and `stopped` for the line between them, in order."""
    return [pid or "stopped" for pid, _ in re.findall(r'id="post-(\d+)"|(id="stopped")', text)]


def page(client, url="/"):
    return client.get(url).content.decode()


@pytest.fixture
def visit(browser, raw, store, followed, alice, bob):
    """`visit(3)`: bob writes so many posts, and alice looks at her home page, which is returned."""

    def look(times):
        write(raw, store, bob, times)
        return page(browser(alice))

    return look


def test_redis_has_the_highest_post_that_was_shown(visit, browser, raw, store, alice, bob):
    assert raw.hget("user:1", "seen") is None
    visit(3)
    assert raw.hget("user:1", "seen") == "3"
    Posts(store).delete(bob.user.uid, 3)
    page(browser(alice))
    assert raw.hget("user:1", "seen") == "3"
    page(browser(alice), "/?before=2")
    assert raw.hget("user:1", "seen") == "3"


def test_it_is_written_only_when_something_new_is_shown(raw, store, followed, member, bob, round_trips):
    write(raw, store, bob, 3)
    page(member)
    recorded = round_trips(lambda: page(member))
    assert not [command for command in recorded.commands if command[0] == "HSET"]
    write(raw, store, bob, 1)
    recorded = round_trips(lambda: page(member))
    assert [command for command in recorded.commands if command[0] == "HSET"] == [("HSET", "user:1", "seen", "4")]


def test_the_first_visit_has_no_line(visit):
    text = visit(3)
    assert line_above(text) == []
    assert shown(text) == ["3", "2", "1"]
    assert END in text


def test_without_unread_posts_the_user_is_caught_up(visit, browser, alice):
    visit(3)
    text = page(browser(alice))
    assert line_above(text) == ["You're all caught up. No new posts since your last visit."]
    assert shown(text) == ["3", "2", "1"]
    assert END not in text  # one line says where the user is


def test_unread_posts_are_counted_and_a_line_is_below_them(visit):
    visit(3)
    text = visit(2)
    assert line_above(text) == ["2 new posts since your last visit · Go to where you stopped reading"]
    assert shown(text) == ["5", "4", "stopped", "3", "2", "1"]
    assert 'href="#stopped"' in text
    assert END not in text


def test_a_reload_and_the_next_page_keep_the_last_read_post(visit, raw, store, member, bob):
    visit(30)
    write(raw, store, bob, 22)
    for _ in range(2):
        text = page(member)
        assert line_above(text) == ["22 new posts since your last visit · Go back to where you stopped reading"]
        assert "stopped" not in shown(text)
    [older] = set(re.findall(r'href="([^"]*)" rel="next"', text))
    assert shown(page(member, older))[:4] == ["32", "31", "stopped", "30"]


def test_the_link_leads_to_the_last_read_post(visit, raw, store, member, bob):
    visit(30)
    write(raw, store, bob, 37)
    text = page(member)
    assert line_above(text) == ["37 new posts since your last visit · Go back to where you stopped reading"]
    [back] = re.findall(r'<p class="since">.*?href="([^"]*)"', text, re.DOTALL)
    text = page(member, back)
    assert line_above(text) == ["This is where you stopped reading."]
    assert shown(text)[0] == "30"


def test_a_page_that_begins_with_read_posts_says_so(visit, raw, store, member, bob, carol):
    visit(30)
    Posts(store).delete(bob.user.uid, 30)
    write(raw, store, carol, 1)
    write(raw, store, bob, 20)
    assert line_above(page(member)) == ["20 new posts since your last visit · Go back to where you stopped reading"]
    assert line_above(page(member, "/?before=32")) == ["This is where you stopped reading."]
    assert shown(page(member, "/?before=32"))[0] == "29"
    assert line_above(page(member, "/?before=29")) == line_above(page(member, "/?before=40")) == []


def test_without_a_read_post_there_is_no_link(visit, store, bob):
    visit(1)
    Posts(store).delete(bob.user.uid, 1)
    text = visit(2)
    assert line_above(text) == ["2 new posts since your last visit"]
    assert shown(text) == ["3", "2"]


def test_own_posts_are_not_unread(visit, browser, raw, store, alice, bob):
    visit(3)
    write(raw, store, alice, 2)
    text = page(browser(alice))
    assert line_above(text) == ["You're all caught up. No new posts since your last visit."]
    assert text.count("You're all caught up") == 1
    write(raw, store, bob, 1)
    write(raw, store, alice, 1)
    text = page(browser(alice))
    assert line_above(text) == ["1 new post since your last visit · Go to where you stopped reading"]


def test_more_unread_posts_than_the_list_shows_have_a_plus(visit):
    visit(1)
    [line] = line_above(visit(230))
    assert line == "60+ new posts since your last visit · Go back to where you stopped reading"


def test_the_cookie_lasts_some_minutes_and_a_logout_and_is_set_once(raw, store, followed, member, bob):
    write(raw, store, bob, 3)
    assert LAST_READ_COOKIE not in member.get("/").cookies
    write(raw, store, bob, 2)
    cookie = member.get("/").cookies[LAST_READ_COOKIE]
    assert (cookie.value, cookie["max-age"], cookie["httponly"], cookie["samesite"]) == ("1-3", 600, True, "Lax")
    write(raw, store, bob, 1)
    answer = member.get("/")
    assert LAST_READ_COOKIE not in answer.cookies
    assert line_above(answer.content.decode()) == [
        "3 new posts since your last visit · Go to where you stopped reading"
    ]
    assert LAST_READ_COOKIE not in member.post("/logout/").cookies


def test_another_user_of_the_browser_has_their_own_unread_posts(visit, browser, raw, store, member, bob, carol):
    Follows(store).follow(carol.user.uid, bob.user.uid)
    visit(3)
    write(raw, store, bob, 2)
    page(browser(carol))
    assert line_above(page(member)) == ["2 new posts since your last visit · Go to where you stopped reading"]
    member.cookies["auth"] = carol.secret
    assert line_above(page(member)) == ["You're all caught up. No new posts since your last visit."]
    write(raw, store, bob, 1)
    for _ in range(2):
        assert line_above(page(member)) == ["1 new post since your last visit · Go to where you stopped reading"]
    assert member.cookies[LAST_READ_COOKIE].value == "3-5"


@pytest.mark.parametrize(
    "value", ["", "x", "-1", "0", "3", "1-", "1-x", "1-0", "2-1", "1-" + "9" * 40, "1-1e3", "1-0x1"]
)
def test_an_invalid_cookie_is_ignored(visit, member, value):
    visit(3)
    member.cookies[LAST_READ_COOKIE] = value
    assert line_above(page(member)) == ["You're all caught up. No new posts since your last visit."]


@pytest.mark.parametrize("stored", ["x", "", "0", "-3", "9" * 40])
def test_an_invalid_stored_number_counts_as_a_first_visit(browser, raw, store, followed, alice, bob, stored):
    write(raw, store, bob, 3)
    raw.hset("user:1", "seen", stored)
    assert line_above(page(browser(alice))) == []
    assert raw.hget("user:1", "seen") == "3"


def test_a_read_only_store_still_shows_the_page(visit, browser, raw, store, alice, monkeypatch):
    visit(3)
    raw.hset("user:1", "seen", "1")

    def refuses(*arguments):
        raise StoreReadOnly("no")

    monkeypatch.setattr(type(store), "hset", refuses)
    assert line_above(page(browser(alice))) == ["2 new posts since your last visit · Go to where you stopped reading"]


def test_a_home_without_posts_has_no_line(raw, member):
    assert line_above(page(member)) == []
    assert not raw.hexists("user:1", "seen")


def test_a_home_page_has_the_ids_of_its_list(raw, store, followed, alice, bob):
    write(raw, store, bob, 5)
    found = Homes(store).page(Viewer(store, alice.secret), None)
    assert isinstance(found, HomePage)
    assert (found.seen, found.listed, found.has_more) == (None, [5, 4, 3, 2, 1], False)


# ---- `/new/`, which an open home page asks for new posts: one round trip, and 204 without new posts.


@pytest.fixture
def open_home(store, raw, browser, alice, bob):
    """alice follows bob, and has her home page open."""
    Follows(store).follow(alice.user.uid, bob.user.uid)
    publish(raw, store, bob, "before")
    return browser(alice)


def link(text):
    """The address and the words of the link."""
    [(address, words)] = re.findall(r'id="arrived" data-count="[^"]*" href="([^"]*)"[^>]*>([^<]*)</a>', text)
    return address, words


def test_the_page_asks_for_posts_above_its_newest_one(open_home):
    text = open_home.get("/").content.decode()
    assert '<div id="arrivals" role="status" data-asks="/new/?after=1"></div>' in text
    assert "arrivals" not in open_home.get("/?before=1").content.decode()


def test_without_new_posts_the_answer_is_204_in_one_round_trip(open_home, round_trips):
    open_home.get("/")
    recorded = round_trips(lambda: open_home.get("/new/?after=1"))
    assert [[command[0] for command in round_trip.commands] for round_trip in recorded.round_trips] == [
        ["HGET", "HMGET", "ZREVRANK", "ZCARD", "LRANGE", "TTL"]
    ]
    answer = open_home.get("/new/?after=1")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(("times", "words"), [(1, "1 new post"), (4, "4 new posts"), (230, "60+ new posts")])
def test_new_posts_are_counted_in_a_link_to_the_home_page(clock, open_home, raw, store, bob, round_trips, times, words):
    open_home.get("/")
    for number in range(times):
        publish(raw, store, bob, f"post {number}")
    answers = []
    recorded = round_trips(lambda: answers.append(open_home.get("/new/?after=1")))
    assert len(recorded.round_trips) <= 3
    [answer] = answers
    assert answer.status_code == 200
    assert link(answer.content.decode()) == ("/", words)


def test_own_posts_are_not_counted(open_home, raw, store, alice, bob):
    open_home.get("/")
    mine = publish(raw, store, alice, "mine")
    open_home.get("/")  # now this process has cached its author
    assert open_home.get("/new/?after=1").status_code == 204
    publish(raw, store, bob, "another")
    assert link(open_home.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    assert mine == 2


def test_a_dropped_list_is_rebuilt_once_and_later_posts_are_counted(open_home, raw, store, bob, carol, round_trips):
    open_home.get("/")
    Follows(store).follow(1, carol.user.uid)  # in another window
    assert not raw.exists("posts:1")
    publish(raw, store, carol, "of somebody new")
    assert link(open_home.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    assert raw.exists("posts:1")
    publish(raw, store, bob, "another")
    answers = []
    recorded = round_trips(lambda: answers.append(open_home.get("/new/?after=1")))
    assert len(recorded.round_trips) <= 3
    assert link(answers[0].content.decode()) == ("/", "2 new posts")


def test_posts_that_the_home_does_not_show_are_not_counted(open_home, raw, store, bob, carol):
    open_home.get("/")
    asked = publish(raw, store, carol, "bob, what do you think?")
    Posts(store).publish(bob.user.uid, NewPost("an answer to carol, whom alice does not follow", asked, None), "one")
    gone = publish(raw, store, bob, "gone")
    Posts(store).delete(bob.user.uid, gone)
    assert open_home.get("/new/?after=1").status_code == 204
    seen = publish(raw, store, bob, "seen")
    assert link(open_home.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    Mutes(store).mute(1, bob.user.uid)
    assert open_home.get("/new/?after=1").status_code == 204
    assert raw.lrange("posts:1", 0, 0) == [str(seen)]


def test_a_visitor_gets_204(browser, raw, store, bob):
    publish(raw, store, bob, "one")
    assert browser().get("/new/?after=1").status_code == 204
