"""Notices of replies, quotes and mentions."""

import pytest

from tests.support.people import LONG_AGO
from tests.support.stores.seam import before_round_trip
from timeline.posts.entities import Links
from timeline.posts.reading.records import Outline
from timeline.posts.settling import PostNotices

ALICE, BOB, CAROL = 1, 2, 3
PID, QUOTED = 10, 5


@pytest.fixture(autouse=True)
def posts(raw, alice, bob, carol):
    """Post 10 is alice's, post 5 carol's."""
    raw.hset(f"post:{PID}", mapping={"user_id": ALICE, "time": LONG_AGO, "body": "Hello"})
    raw.hset(f"post:{QUOTED}", mapping={"user_id": CAROL, "time": LONG_AGO, "body": "Old"})


def post(answered=None, **given):
    return Outline(PID, ALICE, LONG_AGO, Links(reply_to_user=answered, **given))


def notices(raw):
    return {key: raw.zrange(key, 0, -1, withscores=True) for key in raw.keys("notices:*")}


@pytest.mark.parametrize(
    ("given", "carols"),
    [({"quote": QUOTED, "mentions": (ALICE, BOB, CAROL)}, "quote:10:1"), ({"mentions": (CAROL,)}, "mention:10:1")],
    ids=["a quote that also mentions", "a mention"],
)
def test_a_post_tells_each_person_once_with_its_date(store, raw, given, carols):
    PostNotices(store).write([post(answered=BOB, **given)])
    assert notices(raw) == {"notices:2": [("reply:10:1", LONG_AGO)], "notices:3": [(carols, LONG_AGO)]}


def test_a_post_that_concerns_no_one_costs_nothing(store, raw, round_trips):
    assert round_trips(lambda: PostNotices(store).write([post(mentions=(ALICE,))])).round_trips == []


@pytest.mark.parametrize(("given", "expected"), [({"answered": BOB}, 3), ({"quote": QUOTED, "answered": BOB}, 4)])
def test_the_round_trips_are_fixed(store, raw, round_trips, given, expected):
    for mentions in ((), tuple(range(20, 60))):
        recorded = round_trips(lambda: PostNotices(store).write([post(**given, mentions=mentions)]))  # noqa: B023
        assert len(recorded.round_trips) == expected


def test_a_muted_thread_is_silent(store, raw):
    raw.hset(f"post:{PID}", "root", 4)
    raw.zadd("muted_threads:2", {4: LONG_AGO})
    PostNotices(store).write([post(answered=BOB, mentions=(CAROL,))])
    assert notices(raw).keys() == {"notices:3"}


@pytest.mark.parametrize(
    ("muted", "until", "told"),
    [
        ("everywhere hide hello", "+inf", False),
        ("everywhere hide hello", LONG_AGO, True),
        ("everywhere fold hello", "+inf", True),  # its line says why it is folded
        ("home hide hello", "+inf", True),
        ("everywhere hide other", "+inf", True),
    ],
)
def test_people_whose_muted_words_hide_the_text_are_not_told(store, raw, muted, until, told):
    """The list leaves such a post out, so the number of new notices must not count it."""
    raw.zadd("muted_words:2", {muted: until})
    PostNotices(store).write([post(answered=BOB, mentions=(CAROL,))])
    assert notices(raw).keys() == {"notices:3", *(["notices:2"] if told else [])}


@pytest.mark.parametrize("step", range(3))
def test_words_muted_meanwhile_leave_no_notice(store, raw, step):
    """Before the last look."""
    with before_round_trip(step, lambda: raw.zadd("muted_words:2", {"everywhere hide hello": "+inf"})):
        PostNotices(store).write([post(answered=BOB)])
    assert notices(raw) == {}


def test_an_edit_tells_new_people_alone_and_takes_back_what_it_no_longer_says(store, raw):
    PostNotices(store).write([post(answered=BOB, mentions=(CAROL,))])
    raw.zrem("notices:2", "reply:10:1")  # so a second one would be seen
    edits = [(post(answered=BOB, mentions=(BOB,)), (CAROL,)), (post(answered=BOB), (BOB,))]
    edits.append((post(quote=QUOTED, mentions=(CAROL,)), ()))  # carol has a notice of the quote
    for edited, before in edits:
        PostNotices(store).remove_mentions(edited, before)
        PostNotices(store).write_mentions(edited, before)
        assert notices(raw) == {}
    PostNotices(store).write_mentions(post(answered=BOB, mentions=(BOB, CAROL)), before=(BOB,))
    assert notices(raw) == {"notices:3": [("mention:10:1", LONG_AGO)]}
