"""The clock of one process was an hour ahead: what others post meanwhile is announced, and counts as unread."""

import re

import pytest

from retwis_site.store import snowflake
from retwis_site.store.snowflake import Snowflakes
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

pytestmark = pytest.mark.usefixtures("snowflakes")

HOUR = 3600


class Machine:
    """A web process with a clock of its own."""

    def __init__(self, store, monkeypatch):
        self._store, self._monkeypatch = store, monkeypatch
        self.ahead = 0
        self._ids = Snowflakes(0, clock=lambda: snowflake.time.time() + self.ahead)

    def publish(self, uid, text):
        self._monkeypatch.setattr(snowflake, "make", self._ids.make)
        return Posts(self._store).publish(uid, NewPost(text), text.replace(" ", "-")).pid


@pytest.fixture
def machine(store, monkeypatch):
    return Machine(store, monkeypatch)


@pytest.fixture
def other(store, monkeypatch):
    return Machine(store, monkeypatch)


@pytest.fixture
def reader(store, alice, bob, carol, browser):
    for author in (bob, carol):
        Follows(store).follow(alice.user.uid, author.user.uid)
    return browser(alice)


def newest_of(page):
    """What an open home page asks with, later."""
    return re.search(r"/new/\?after=(\d+)", page.content.decode())[1]


def announced(reader, after):
    answer = reader.get(f"/new/?after={after}")
    found = re.search(r"(\d+) new post", answer.content.decode())
    return int(found[1]) if found else 0


def test_after_a_clock_was_ahead_once_arrivals_are_announced(reader, bob, carol, machine, other):
    machine.ahead = HOUR
    machine.publish(bob.user.uid, "From the future")
    machine.ahead = 0
    page = reader.get("/")
    assert "From the future" in page.content.decode()
    after = newest_of(page)
    assert announced(reader, after) == 0
    for number, publisher in enumerate((machine, other, machine), start=1):
        publisher.publish(carol.user.uid, f"Now {number}")
        assert announced(reader, after) == number
    assert announced(reader, newest_of(reader.get("/"))) == 0


def test_a_page_that_was_opened_while_the_clock_was_ahead_hears_of_arrivals(reader, bob, carol, machine, monkeypatch):
    machine.publish(bob.user.uid, "Before")
    reader.get("/")
    now = snowflake.time.time
    monkeypatch.setattr(snowflake.time, "time", lambda: now() + HOUR)
    future = machine.publish(bob.user.uid, "From the future")
    after = newest_of(reader.get("/"))
    assert after == str(future)
    monkeypatch.setattr(snowflake.time, "time", now)
    assert announced(reader, after) == 0
    machine.publish(carol.user.uid, "Now")
    assert announced(reader, after) == 1


def test_after_a_clock_was_ahead_once_posts_count_as_unread(reader, raw, alice, bob, carol, machine):
    first = machine.publish(bob.user.uid, "First")
    machine.ahead = HOUR
    machine.publish(bob.user.uid, "From the future")
    machine.ahead = 0
    reader.get("/")
    assert raw.hget(f"user:{alice.user.uid}", "seen") == str(first)
    assert "No new posts since your last visit" in reader.get("/").content.decode()
    second = machine.publish(carol.user.uid, "Second")
    assert "<strong>1 new post</strong>" in reader.get("/").content.decode()
    assert raw.hget(f"user:{alice.user.uid}", "seen") == str(second)


def test_what_was_seen_in_the_future_hides_nothing_now(reader, raw, alice, bob, machine):
    machine.ahead = HOUR
    future = machine.publish(bob.user.uid, "From the future")
    raw.hset(f"user:{alice.user.uid}", "seen", future)
    machine.ahead = 0
    first = machine.publish(bob.user.uid, "First")
    reader.get("/")
    assert raw.hget(f"user:{alice.user.uid}", "seen") == str(first)


def test_a_process_whose_clock_stepped_back_posts_with_the_time_of_its_clock(reader, bob, machine):
    machine.ahead = HOUR
    future = machine.publish(bob.user.uid, "From the future")
    machine.ahead = 0
    assert machine.publish(bob.user.uid, "Now") < future
    machine.ahead = -snowflake.STEP + 1
    last = machine.publish(bob.user.uid, "A moment earlier")
    assert last > machine.publish(bob.user.uid, "Again") - (1 << 20)
