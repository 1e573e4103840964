"""The age of a post in words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.stored_keys import publish
from timeline.posts.html import post_cards
from timeline.posts.html.post_cards import age

NOW = 1_700_000_000  # unix seconds: 14 November 2023, 22:13


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 seconds"),  # the clock of the writing process is ahead
        (0, "0 seconds"),
        (1, "1 seconds"),  # as in the official Retwis
        (59, "59 seconds"),
        (60, "1 minute"),
        (119, "1 minute"),
        (120, "2 minutes"),
        (3599, "59 minutes"),
        (3600, "1 hour"),
        (7200, "2 hours"),
        (86399, "23 hours"),
        (86400, "1 day"),
        (10**9, "11574 days"),
    ],
)
def test_an_age_is_shown_in_its_largest_unit(seconds, words):
    assert age_of(seconds) == f"posted {words} ago via web"


@pytest.mark.parametrize(
    ("seconds", "short"),
    [
        (-5, "now"),
        (59, "now"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (86399, "23 h"),
        (86400, "13 Nov"),  # a day before NOW
        (86400 * 317, "1 Jan"),
        (86400 * 318, "31 Dec 2022"),
        (10**9, "7 Mar 1992"),
    ],
)
def test_a_card_shows_a_short_age_and_after_a_day_the_date(seconds, short):
    assert age(NOW - seconds, NOW, "en").short == short


@given(st.integers(-200_000, 10**7), st.integers(1, 60))
def test_an_age_never_gets_smaller(seconds, later):
    assert in_seconds(age_of(seconds + later)) >= in_seconds(age_of(seconds))


def age_of(seconds):
    return age(NOW - seconds, NOW, "en").words


def in_seconds(words):
    number, unit = re.fullmatch(r"posted (\d+) (second|minute|hour|day)s? ago via web", words).groups()
    return int(number) * {"second": 1, "minute": 60, "hour": 3600, "day": 86400}[unit]


def test_each_page_shows_the_present_age(browser, raw, store, alice, bob, monkeypatch):
    publish(raw, store, alice, "mine")
    written = int(raw.hget("post:1", "time"))

    class Clock:
        now = written

        def time(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(post_cards, "time", clock)
    for seconds, words in [(0, "0 seconds"), (7, "7 seconds"), (61, "1 minute"), (4000, "1 hour"), (90_000, "1 day")]:
        clock.now = written + seconds
        for viewer in (alice, bob):  # alice has the delete button, bob has not
            [age] = re.findall('title="posted (.*) ago via web', browser(viewer).get("/@Alice/").content.decode())
            assert age == words
