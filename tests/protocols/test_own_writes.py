"""Read your own writes: the next page shows what its viewer has just done, on every worker.

Each test reads the pages on the second worker, so its caches have the old state. Then alice acts on the first worker,
and reads the pages on the second one. No time passes in between.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from retwis_site.store.local_cache import Hints, Memory
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows

pytestmark = pytest.mark.usefixtures("clock")


class OtherWorker:
    """A second web process, as far as its caches matter: both have one store, and each has its own memory.
    `with other.running():` runs a block in the second process, with the caches that it has had there before."""

    def __init__(self) -> None:
        self._caches: dict[Memory | Hints, dict[str, Any]] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        here = {cache: vars(cache).copy() for cache in Memory.every}
        Memory.clear_all()
        for cache, state in self._caches.items():
            vars(cache).update(state)
        try:
            yield
        finally:
            self._caches = {cache: vars(cache).copy() for cache in Memory.every}
            for cache, state in here.items():
                vars(cache).update(state)


@pytest.fixture
def site(browser, raw, store, alice, bob, carol):
    """alice and bob follow each other, carol follows both; each has written a post. alice's name is Old Name."""
    for follower, followed in ((1, 2), (2, 1), (3, 1), (3, 2)):
        Follows(store).follow(follower, followed)
    for login in (alice, bob, carol):
        publish(raw, store, login, f"words of {login.user.username}")
    raw.hset("user:1", "name", "Old Name")
    return {"alice": browser(alice), "bob": browser(bob), "carol": browser(carol), "a visitor": browser()}


@pytest.fixture
def act(site):
    """`act(action, fields, url)`: everyone reads the page on the second worker, alice acts on the first, and reads the
    page on the second. Returns that page, before and afterwards."""
    other = OtherWorker()

    def act(action, fields, url):
        with other.running():
            for reader in ("a visitor", "carol", "bob"):
                site[reader].get(url)
            first = site["alice"].get(url).content.decode()
        assert site["alice"].post(action, fields).status_code == 302
        with other.running():
            return first, site["alice"].get(url)

    return act


def main(page):
    return page.partition("<main")[2]


EVERYWHERE = ["/", "/timeline/", "/@Alice/"]


def test_the_second_worker_has_its_own_memory():
    memory, other = Memory(size=10, seconds=5), OtherWorker()
    memory.put("a", 1)
    with other.running():
        assert memory.get("a") is None
        memory.put("a", 2)
    assert memory.get("a") == 1
    with other.running():
        assert memory.get("a") == 2


@pytest.mark.parametrize("url", EVERYWHERE)
def test_a_new_post(act, url):
    before, after = act("/post/", {"body": "just written", "token": "t"}, url)
    assert "just written" not in before
    assert "just written" in after.content.decode()


@pytest.mark.parametrize("url", EVERYWHERE)
def test_a_deleted_post(act, url):
    before, after = act("/@Alice/1/delete/", {}, url)
    assert "words of Alice" in before
    assert "words of Alice" not in after.content.decode()


def test_the_page_of_a_deleted_post(act):
    _, after = act("/@Alice/1/delete/", {}, "/@Alice/1/")
    assert after.status_code == 410


NAMES = [*EVERYWHERE, "/@Alice/1/", "/@bob/followers/", "/@bob/following/", "/people/", "/people/?by=followers"]


@pytest.mark.parametrize("url", [*NAMES, "/people/?q=alice", "/settings/"])
def test_a_new_name(act, url):
    before, after = act("/settings/", {"name": "Annabel", "bio": ""}, url)
    assert "Annabel" not in before
    assert before.count("Old Name") == after.content.decode().count("Annabel") >= 1
    assert "Old Name" not in after.content.decode()


def test_a_new_name_is_found(act):
    before, after = act("/settings/", {"name": "Annabel", "bio": ""}, "/people/?q=annab")
    assert "@Alice" not in main(before)
    assert "@Alice" in main(after.content.decode())


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("/", "words of carol"),
        ("/@carol/", "/@carol/unfollow/"),
        ("/@Alice/following/", "/@carol/"),
        ("/@carol/followers/", "/@Alice/"),
        ("/@Alice/followers/?show=mutual", "/@carol/"),
    ],
)
def test_a_follow_and_an_unfollow(act, site, url, shown):
    before, after = act("/@carol/follow/", {}, url)
    assert shown not in main(before)
    assert shown in main(after.content.decode())
    before, after = act("/@carol/unfollow/", {}, url)
    assert shown in main(before)
    assert shown not in main(after.content.decode())


@pytest.mark.parametrize("when", ["just now", "long ago"])
def test_what_two_users_have_in_common_after_an_unfollow_and_a_follow(raw, site, round_trips, when):
    """The numbers of follows are the same as before, so they cannot tell that anything has changed."""
    other = OtherWorker()
    raw.zadd("followers:3", {"2": 1})
    raw.zadd("following:2", {"3": 1})
    if when == "long ago":
        raw.zadd("following:1", {"2": 1})
    with other.running():
        assert "Followed by" in site["alice"].get("/@carol/").content.decode()
        again = round_trips(lambda: site["alice"].get("/@carol/"))
        assert len(again.round_trips) == 1
        read = {command[1] for command in again.commands if command[0] == "ZRANGE"}
        assert ("followers:3" in read) == (when == "just now")  # they are compared anew
    site["alice"].post("/@bob/unfollow/")
    site["alice"].post("/@carol/follow/")
    with other.running():
        assert "Followed by" not in site["alice"].get("/@carol/").content.decode()
