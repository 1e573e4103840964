"""Publishing posts: the composer, the keys, the order of the commands, and second clicks."""

import html
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from accounts.signing_in.viewer import Viewer
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD
from timeline.posts.delivery import Delivery
from timeline.posts.entities import NewPost, Published
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows
from timeline.timelines.home import Homes

TOKEN = re.compile(r'<input type="hidden" name="token" value="([^"]+)"')


def test_a_post_appears_at_the_top_of_the_authors_home(member):
    response = member.post("/post/", {"body": "Hello, Retwis!", "token": "t1"}, follow=True)
    page = response.content.decode()
    assert response.redirect_chain == [("/", 302)]
    assert "Hello, Retwis!" in page
    assert re.search(r"<time datetime=\"[0-9TZ:-]+\"[^>]*>", page)
    assert re.search(r"posted \d+ seconds ago via web", page)


def test_a_post_writes_the_keys_of_the_official_retwis(browser, alice, raw):
    before = int(time.time())
    browser(alice).post("/post/", {"body": "Hello", "token": "t1"})
    post = raw.hgetall("post:1")
    assert set(post) == {"user_id", "time", "body"}
    assert post["user_id"] == "1"
    assert post["body"] == "Hello"
    assert before <= int(post["time"]) <= time.time()
    assert raw.get("next_post_id") == "1"
    assert raw.lrange("timeline", 0, -1) == ["1"]
    assert raw.zrange("updates:1", 0, -1, withscores=True) == [("1", 1.0)]
    assert raw.get("idem:1:t1") == "1"
    assert 0 < raw.ttl("idem:1:t1") <= 24 * 3600
    assert raw.zcard("outbox") == 0


def test_the_commands_go_out_in_the_order_of_the_protocol(store, alice, bob, sent):
    Follows(store).follow(bob.user.uid, alice.user.uid)
    sent.round_trips.clear()
    Posts(store).publish(1, NewPost("Hello"), "t1")
    left_of_a_post = ("edits", "liked_by", "reposted_by", "thread", "replies_to", "quotes_of")
    assert [[(c[0], c[1]) for c in round_trip.commands] for round_trip in sent.round_trips] == [
        [("INCR", "next_post_id")],
        [("SET", "idem:1:t1"), ("HGET", "post:1"), *(("TTL", f"{kind}:1") for kind in left_of_a_post)],
        [
            ("HSETNX", "post:1"),
            ("HSETNX", "post:1"),
            ("HSETNX", "post:1"),
            ("HMGET", "post:1"),
            ("ZCARD", "followers:1"),
        ],
        [("ZADD", "outbox")],
        [("ZADD", "updates:1")],
        [
            ("HMGET", "user:1"),
            ("HMGET", "post:1"),
            ("ZCARD", "replies_to:1"),
            ("ZCARD", "unseen:replies_to:1"),
            ("HGETALL", "edits:1"),
            ("HGET", "user:1"),
        ],
        [("LPUSHX", "posts:1"), ("LPUSH", "timeline")],
        [("ZRANGE", "followers:1")],
        [("LPUSHX", "posts:2")],
        [("ZREM", "outbox")],
    ]


def test_a_post_is_pushed_into_existing_homes_and_creates_none(store, alice, bob, carol, raw):
    Follows(store).follow(2, 1)
    Follows(store).follow(3, 1)
    Homes(store).page(Viewer(store, bob.secret), None)
    Posts(store).publish(1, NewPost("Hello"), "t1")
    assert raw.lrange("posts:2", 0, 0) == ["1"]
    assert not raw.exists("posts:3")
    assert not raw.exists("posts:1")


def test_a_second_click_is_the_same_post(member, raw):
    for body in ("first", "second"):
        assert member.post("/post/", {"body": body, "token": "t1"}).status_code == 302
    assert raw.keys("post:*") == ["post:1"]
    assert raw.hget("post:1", "body") == "first"
    assert raw.zrange("updates:1", 0, -1) == ["1"]
    assert raw.lrange("timeline", 0, -1) == ["1"]


def test_eight_clicks_at_once_are_one_post(store, alice, raw):
    with ThreadPoolExecutor(8) as pool:
        pids = set(pool.map(lambda _: Posts(store).publish(1, NewPost("Hello"), "t1").pid, range(8)))
    assert len(pids) == 1
    pid = pids.pop()
    assert raw.keys("post:*") == [f"post:{pid}"]
    assert raw.zrange("updates:1", 0, -1) == [str(pid)]
    assert raw.zcard("outbox") == 0


def test_the_docstrings_say_how_many_round_trips_there_are(store, alice, bob, round_trips):
    Follows(store).follow(bob.user.uid, alice.user.uid)
    posts, new = Posts(store), NewPost("Hello")
    first = round_trips(lambda: posts.publish(1, new, "t1")).round_trips
    second = round_trips(lambda: posts.publish(1, new, "t1")).round_trips
    job = next(number for number, trip in enumerate(first) if trip.commands[0][:2] == ("ZADD", "outbox"))
    assert (len(first), len(second), len(first[job + 1 :])) == (10, 4, 6)
    said = " ".join(Posts.publish.__doc__.split())
    assert "Ten round trips" in said
    assert "A second click on a published or deleted post costs four round trips" in said
    assert "Six round trips" in Delivery.deliver.__doc__


def test_a_second_click_on_a_deleted_post_does_not_bring_it_back(store, alice, raw):
    posts = Posts(store)
    pid = posts.publish(1, NewPost("Hello"), "t1").pid
    posts.delete(1, pid)
    assert posts.publish(1, NewPost("Hello"), "t1") == Published(pid, "")
    assert raw.hget(f"post:{pid}", "body") == ""
    assert raw.zcard("updates:1") == 0


def test_two_users_with_the_same_token_have_two_posts(store, alice, bob):
    assert Posts(store).publish(1, NewPost("mine"), "t1").pid != Posts(store).publish(2, NewPost("mine too"), "t1").pid


def test_a_client_without_a_token_may_post(member, raw):
    member.post("/post/", {"body": "one"})
    member.post("/post/", {"body": "two"})
    assert sorted(raw.keys("post:*")) == ["post:1", "post:2"]


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("  around  ", "around"),
        ("<b>&amp;\"'", "<b>&amp;\"'"),
        ("👩‍👩‍👧‍👦 مرحبا שלום", "👩‍👩‍👧‍👦 مرحبا שלום"),
        ("x" * 280, "x" * 280),
        ("😀" * 280, "😀" * 280),
    ],
)
def test_the_typed_text_is_stored(browser, alice, raw, typed, stored):
    assert browser(alice).post("/post/", {"body": typed, "token": "t"}).status_code == 302
    assert raw.hget("post:1", "body") == stored


@pytest.mark.parametrize(
    ("language", "length", "complaint"),
    [
        ("en", 281, "1 character too many."),
        ("en", 300, "20 characters too many."),
        ("de", 300, "20 Zeichen zu viel."),
        ("ar", 281, "حرف واحد زائد."),
        ("ar", 282, "حرفان زائدان."),
        ("ar", 285, "5 أحرف زائدة."),
        ("ar", 300, "20 حرفًا زائدًا."),
    ],
)
def test_a_too_long_post_is_told_how_many_characters_are_too_many(member, language, length, complaint):
    member.cookies["language"] = language
    assert complaint in page_of(member.post("/post/", {"body": "x" * length}), 422)


@pytest.mark.parametrize("body", ["", "   ", "\r\n\r\n", "\u200b", "\u2060 \u200d", "x" * 281, "NUL \0 byte"])
def test_an_invalid_post_is_refused_and_its_text_kept(browser, alice, raw, body):
    page = page_of(browser(alice).post("/post/", {"body": body, "token": "keep-me"}), 422)
    assert "<h1>Write a post</h1>" in page
    assert body.strip() in page
    assert re.search('<textarea name="body"[^>]* autofocus', page)  # as in every form, also without a script
    assert '<input type="hidden" name="token" value="keep-me"' in page
    assert not raw.exists("next_post_id")


@pytest.mark.parametrize("text", ["Hello & goodbye", "中" * 280, "😀" * 280, '<b>"x"</b>'])
def test_a_visitors_text_is_in_the_composer_after_the_login(client, alice, raw, text):
    response = client.post("/post/", {"body": text, "token": "t"})
    assert response.status_code == 302
    assert response["Location"] == "/login/?next=%2F"
    assert len(response["Set-Cookie"]) < 2000 if response.has_header("Set-Cookie") else True
    response = client.post("/login/", {"username": "alice", "password": PASSWORD, "next": "/"}, follow=True)
    assert f"{html.escape(text)}</textarea>".replace("&#x27;", "'") in response.content.decode()
    client.post("/post/", {"body": text, "token": "u"})
    assert raw.hget("post:1", "body") == text
    assert "</textarea>" in client.get("/").content.decode()
    assert text not in re.findall(r"<textarea[^>]*>(.*?)</textarea>", client.get("/").content.decode(), re.DOTALL)[0]


@pytest.mark.parametrize("body", ["", "x" * 1500, "NUL \0 byte"])
def test_a_visitors_invalid_text_is_shown_again_at_once(browser, body):
    assert body in page_of(browser().post("/post/", {"body": body, "token": "t"}), 422)


def test_another_text_in_a_used_form_is_kept_and_can_be_posted(member, raw):
    """A user posts, goes back to the old page, types another text and sends it."""
    member.post("/post/", {"body": "first", "token": "t1"})
    response = member.post("/post/", {"body": "something else", "token": "t1"}, follow=True)
    page = response.content.decode()
    assert "something else</textarea>" in page
    assert "This form was already posted" in page
    assert raw.keys("post:*") == ["post:1"]
    token = TOKEN.search(page)[1]
    member.post("/post/", {"body": "something else", "token": token})
    assert raw.lrange("timeline", 0, -1) == ["2", "1"] or raw.hget("post:3", "body") == "something else"


def test_a_second_click_shows_a_post_whose_first_request_died_before_the_home(store, member, raw):
    member.get("/")
    member.post("/post/", {"body": "Hello", "token": "t1"})
    raw.lrem("posts:1", 0, "1")  # as if the first request had died before its push
    assert "Hello" in member.post("/post/", {"body": "Hello", "token": "t1"}, follow=True).content.decode()


def test_lists_are_cut_when_they_grow_long(store, alice, bob, raw):
    Follows(store).follow(2, 1)
    for key in ("posts:1", "posts:2", "timeline"):
        raw.rpush(key, "0", *range(1100, 0, -1))
    raw.set("next_post_id", 1100)
    Posts(store).publish(1, NewPost("Hello"), "t1")
    for key in ("posts:1", "posts:2", "timeline"):
        assert raw.llen(key) == 1000
        assert raw.lindex(key, 0) == "1101"
