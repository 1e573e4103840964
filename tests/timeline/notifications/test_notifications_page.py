"""The page of notices."""

import re
import time

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import page_of
from tests.support.people import LONG_AGO, register
from tests.support.stored_keys import publish
from timeline.notices import MARK
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Likes

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture(autouse=True)
def pid(store, raw, alice, bob, carol):
    """A post of bob's, number 1; alice's is number 2."""
    found = publish(raw, store, bob, "Hello there")
    publish(raw, store, alice, "Mind bob")
    return found


def page(client, query=""):
    return page_of(client.get(f"/notifications/{query}"))


def texts(html):
    """What the items say, in order; `|` is the line between new and read."""
    html = re.sub(r'<span class="avatar.*?</span>', "", html)
    items = re.findall(r'<article.*?</article>|<p class="stopped".*?notifications below', html, re.DOTALL)
    return ["|" if "stopped" in item else " ".join(re.sub("<[^>]*>", " ", item).split()) for item in items]


def deeds(html):
    return [re.sub(r" (now|\d+ \w+( \d{4})?)$", "", text) for text in texts(html)]


def test_likes_of_a_post_stand_together_with_the_beginning_of_the_post(browser, store, raw, bob, pid):
    for number in range(5):
        uid = register(store, f"person{number}").user.uid
        Likes(store).like(uid, pid, BOB)
        raw.zadd("notices:2", {f"like:{pid}:{uid}": LONG_AGO + number})
    assert deeds(page(browser(bob))) == ["@person4 , @person3 and 3 others liked your post Hello there"]


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ([ALICE], "@Alice liked your post Hello there"),
        ([ALICE, CAROL], "@carol and @Alice liked your post Hello there"),
    ],
)
def test_one_and_two_people_are_named(browser, raw, bob, pid, who, expected):
    raw.zadd("notices:2", {f"like:{pid}:{uid}": LONG_AGO + uid for uid in who})
    assert deeds(page(browser(bob))) == [expected]


def test_follows_of_a_day_stand_together(browser, raw, bob, pid):
    raw.zadd("notices:2", {"follow:2:1": LONG_AGO, "follow:2:3": LONG_AGO + 1, f"repost:{pid}:1": LONG_AGO - 5})
    assert deeds(page(browser(bob))) == ["@carol and @Alice followed you", "@Alice reposted your post Hello there"]


def test_posts_that_concern_the_viewer_are_cards(browser, raw, bob, pid):
    raw.zadd("notices:2", {"mention:2:1": LONG_AGO})
    html = page(browser(bob))
    assert 'id="post-2"' in html
    assert "Mind bob" in html


def test_a_line_says_how_a_post_concerns_the_viewer_and_new_ones_stand_out(browser, store, raw, alice, bob):
    quote = publish(raw, store, alice, "Look at this")
    raw.delete("notices:2")
    raw.zadd("notices:2", {"mention:2:1": LONG_AGO, f"reply:{quote}:1": LONG_AGO + 1, MARK: LONG_AGO})
    raw.hset("user:2", "noticed", LONG_AGO)
    lines = re.findall(r'<div class="(by-post[^"]*)">\s*<p class="deed">(.*?)</p>', page(browser(bob)), re.DOTALL)
    assert [(looks, re.sub("<[^>]*>", "", says).strip()) for looks, says in lines] == [
        ("by-post new", "@Alice replied to you"),
        ("by-post", "@Alice mentioned you"),
    ]
    raw.zadd("notices:2", {f"quote:{quote}:1": LONG_AGO + 2})
    raw.zrem("notices:2", f"reply:{quote}:1")
    assert "</a> quoted you</p>" in page(browser(bob), "?only=mentions")


def test_mentions_have_a_page_of_their_own_that_makes_nothing_read(browser, raw, bob, pid):
    raw.zadd("notices:2", {"mention:2:1": LONG_AGO, f"like:{pid}:1": LONG_AGO})
    html = page(browser(bob), "?only=mentions")
    assert len(texts(html)) == 1
    assert "Mind bob" in html
    assert raw.hget("user:2", "noticed") is None


def test_the_first_page_makes_all_read_and_a_line_shows_what_was(browser, store, raw, bob, pid):
    client = browser(bob)
    raw.zadd("notices:2", {"follow:2:1": LONG_AGO})
    assert deeds(page(client)) == ["@Alice followed you"]
    assert raw.hget("user:2", "noticed") == str(LONG_AGO)
    assert raw.zscore("notices:2", MARK) == LONG_AGO
    raw.zadd("notices:2", {f"like:{pid}:3": LONG_AGO + 5})
    html = page(client)
    assert deeds(html) == ["@carol liked your post Hello there", "|", "@Alice followed you"]
    assert "You have reached the beginning." not in html  # one line says where the user is
    assert deeds(page(client)) == ["@carol liked your post Hello there", "@Alice followed you"]


def test_a_later_page_makes_nothing_read_and_keeps_the_line(browser, raw, bob, pid):
    raw.zadd("notices:2", {f"follow:2:{ALICE}": LONG_AGO + number * 86400 for number in range(1)})
    raw.zadd("notices:2", {f"mention:2:{ALICE}": LONG_AGO})
    raw.hset("user:2", "noticed", LONG_AGO - 1)
    html = page(browser(bob), f"?before={LONG_AGO + 9}-like:9:9&read={LONG_AGO - 1}")
    assert len(texts(html)) == 2
    assert raw.hget("user:2", "noticed") == str(LONG_AGO - 1)
    html = page(browser(bob), f"?before={LONG_AGO + 9}-like:9:9&read={LONG_AGO}")
    assert "|" not in texts(html)


def test_the_position_never_goes_backwards(browser, raw, bob, pid):
    raw.zadd("notices:2", {"follow:2:1": LONG_AGO, MARK: LONG_AGO + 100})
    raw.hset("user:2", "noticed", LONG_AGO + 100)
    page(browser(bob))
    assert raw.hget("user:2", "noticed") == str(LONG_AGO + 100)


def test_older_notices_are_on_the_next_page(browser, store, raw, bob, pid):
    for number in range(25):
        publish(raw, store, bob, f"post {number}")
        raw.zadd("notices:2", {f"like:{number + 3}:1": LONG_AGO + number})
    client = browser(bob)
    html = page(client)
    assert len(texts(html)) == 20
    older = re.search(r'href="(\?before=[^"]*)"', html)[1].replace("&amp;", "&")
    assert len(texts(page(client, older))) == 5


def test_what_is_gone_is_left_out(browser, store, raw, bob, pid):
    Posts(store).delete(ALICE, 2)
    raw.hset("user:3", "deleted", LONG_AGO)
    raw.zadd(
        "notices:2",
        {"mention:2:1": LONG_AGO, "like:99:1": LONG_AGO, f"repost:{pid}:3": LONG_AGO, "follow:2:77": LONG_AGO},
    )
    raw.zadd("notices:2", {f"like:{pid}:1": LONG_AGO + 1, f"like:{pid}:3": LONG_AGO + 2})
    Memory.clear_all()
    assert deeds(page(browser(bob))) == ["@Alice liked your post Hello there"]


def test_without_notices_the_page_says_so(browser, bob, raw):
    client = browser(bob)
    assert "Nothing yet" in page(client)
    assert "Nothing yet" in page(client, "?only=mentions")
    assert raw.keys("notices:*") == []


@pytest.mark.parametrize("number", [1, 300])
def test_the_page_costs_the_same_for_any_number(browser, store, raw, bob, pid, round_trips, number):
    """One that checks the viewer and reads the notices, one for people and posts, one that makes them read, and one
    that looks whether the account was deleted meanwhile."""
    raw.zadd("notices:2", {f"like:{pid}:{uid}": LONG_AGO for uid in range(10, 10 + number)})
    raw.zadd("notices:2", {f"like:{pid}:1": LONG_AGO, "mention:2:1": LONG_AGO, "follow:2:3": LONG_AGO})
    client = browser(bob)
    page(client)
    raw.hset("user:2", "noticed", 1)
    recorded = round_trips(lambda: page(client))
    assert len(recorded.round_trips) == 4
    assert len(round_trips(lambda: page(client)).round_trips) == 2


def test_a_follow_and_a_like_by_hand_are_shown(browser, store, member, bob, pid):
    member.post("/@bob/follow/")
    Likes(store).like(ALICE, pid, BOB)
    assert sorted(deeds(page(browser(bob)))) == ["@Alice followed you", "@Alice liked your post Hello there"]
    Follows(store).unfollow(ALICE, BOB)
    assert deeds(page(browser(bob))) == ["@Alice liked your post Hello there"]


def test_times_are_ages_with_the_date_in_the_title(browser, raw, bob, pid):
    raw.zadd("notices:2", {"follow:2:1": int(time.time()) - 190})
    html = page(browser(bob))
    assert re.search(r'<time datetime="[^"]+" title="\d+ \w+ \d{4}, \d\d:\d\d UTC">3 min</time>', html)
    assert 'id="ages"' in html
