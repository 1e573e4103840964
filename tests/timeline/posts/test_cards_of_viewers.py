"""A card that is kept for many viewers: none gets what was made for another, also when threads share it."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product

import pytest

from accounts.signing_in.html import Rendering
from accounts.signing_in.viewer import VISITOR, Checked
from accounts.users.entities import User
from retwis_site.rendering.fragments import Html, Refillable
from retwis_site.store.local_cache import Memory
from tests.support.clock import Clock
from tests.support.people import LONG_AGO
from timeline.posts import html as post_cards
from timeline.posts.entities import Acted, Context, Links, Post, PostCounts
from timeline.posts.html import cards

ALICE, BOB, CAROL = User(1, "Alice"), User(2, "bob"), User(3, "carol")
WRITTEN = LONG_AGO
QUOTED = Post(1, CAROL, "what is quoted", WRITTEN)
POST = Post(2, BOB, "a red cat", WRITTEN, Links(quote=1))
SIGNED_IN = Rendering("en", Html("token"), Checked(ALICE))


def as_seen(acted, quoted, reposted_by, muted, likes):
    context = Context(acted, None, reposted_by, None, quoted, None, muted)
    return POST._replace(context=context, counts=PostCounts(likes=likes))


# The post as different viewers see it.
SEEN = [
    as_seen(Acted(*acted), quoted, reposted_by, muted, likes)
    for acted in [(False, False, False), (True, False, False), (False, True, True)]
    for quoted, reposted_by, muted, likes in product([None, QUOTED], [(), (CAROL,)], [None, "cat"], [0, 3])
]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(post_cards, "time", clock)
    return clock


def plain(post):
    return cards([post], SIGNED_IN)


def found(post):
    return cards([post], SIGNED_IN, marks={post.pid: [(2, 5)]})


def for_a_visitor(post):
    return cards([post], Rendering("en", Html(""), VISITOR))


WAYS = [plain, found, for_a_visitor]


def made_anew(way, post):
    Memory.clear_all()
    return way(post)


def test_each_viewer_gets_their_own_card_one_after_the_other():
    expected = {(way, post): made_anew(way, post) for way in WAYS for post in SEEN}
    Memory.clear_all()
    for way, post in random.choices([*expected], k=1000):
        assert way(post) == expected[way, post]


def others_than(mine):
    """Posts whose card is `mine`'s, filled for other viewers."""
    return [post for post in SEEN[::4] if post.plain != mine.plain]


@contextmanager
def another_thread_after(monkeypatch, where, name, way, post):
    """Another thread makes the card of `post` as soon as a function has returned. Yields what each such card was."""
    function, made = getattr(where, name), []

    def interrupted(*given):
        returned = function(*given)
        with monkeypatch.context() as undisturbed, ThreadPoolExecutor(1) as other_thread:
            undisturbed.setattr(where, name, function)
            made.append(other_thread.submit(way, post).result())
        return returned

    with monkeypatch.context() as disturbed:
        disturbed.setattr(where, name, interrupted)
        yield made


@pytest.mark.parametrize("way", [plain, found])
@pytest.mark.parametrize("mine", SEEN[::5])
def test_threads_that_share_a_card_get_their_own(monkeypatch, way, mine):
    """Another thread fills the card between the two steps of this one: it is filled, and its HTML is taken."""
    for other in others_than(mine):  # else it is not filled again
        expected = [made_anew(way, post) for post in (mine, other)]
        with another_thread_after(monkeypatch, Refillable, "fill", way, other) as made:
            assert [way(mine), *made] == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mine", SEEN[::5])
def test_a_thread_that_keeps_a_new_card_gets_its_own(monkeypatch, way, mine):
    """Another thread fills the new card for another viewer as soon as it is kept."""
    for other in others_than(mine):
        expected = [made_anew(way, post) for post in (mine, other)]
        Memory.clear_all()
        with another_thread_after(monkeypatch, post_cards._cards, "put", way, other) as made:
            assert [way(mine), *made] == expected


@pytest.mark.parametrize("seconds", [1, -1, 60, 86400, -86400])
def test_a_clock_that_leaps_or_steps_back_leads_to_the_age_of_that_moment(clock, seconds):
    clock.now += 100_000
    before = plain(SEEN[0])
    clock.now += seconds
    after = plain(SEEN[0])
    assert after == made_anew(plain, SEEN[0])
    clock.now -= seconds
    assert plain(SEEN[0]) == before
