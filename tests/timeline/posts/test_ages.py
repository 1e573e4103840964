"""The age of a post in words, those with which the script lets it grow, and dates outside the calendar."""

import html
import re
import time

import pytest
from hypothesis import given, strategies as st

from retwis_site.rendering.dates import LAST, iso
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.local_cache import Memory
from tests.support.clock import Clock
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_posts
from timeline.posts import html as post_cards
from timeline.posts.html import age, holds_until, phrases
from timeline.relations.edges import Edges
from timeline.relations.relation import to_person
from timeline.relations.relations import FOLLOW

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


def test_a_german_date_has_a_full_stop_after_what_is_shortened():
    assert [age(NOW - days * 86400, NOW, "de").short for days in (3, 400)] == ["11. Nov.", "10. Okt. 2022"]


@given(st.integers(-200_000, 10**7), st.integers(1, 60))
def test_an_age_never_gets_smaller(seconds, later):
    assert in_seconds(age_of(seconds + later)) >= in_seconds(age_of(seconds))


AGES = st.integers(-200, 200) | st.integers(-90_000, 400_000) | st.integers(0, 10**9)  # seconds, some in the future


@given(st.integers(0, 4 * 10**9), AGES, st.lists(st.floats(0, 1), max_size=20))
def test_an_age_stays_the_same_until_it_may_be_another(written, seconds, moments):
    now = written + seconds
    until = holds_until(written, now)
    assert until > now
    between = [now + int(moment * (until - 1 - now)) for moment in moments]
    assert {age(written, moment, "en") for moment in (*between, until - 1)} == {age(written, now, "en")}


@pytest.mark.parametrize("seconds", [-1, 0, 59, 60, 3599, 3600, 86399, 86400, 200_000])
def test_it_is_another_at_the_latest_with_the_second_turn(seconds):
    """A day after the writing, and each midnight, may change the words or the date."""
    turn = holds_until(NOW, NOW + seconds)
    second = holds_until(NOW, turn)
    assert age(NOW, second, "en") != age(NOW, NOW + seconds, "en")


def age_of(seconds):
    return age(NOW - seconds, NOW, "en").words


def in_seconds(words):
    number, unit = re.fullmatch(r"posted (\d+) (second|minute|hour|day)s? ago via web", words).groups()
    return int(number) * {"second": 1, "minute": 60, "hour": 3600, "day": 86400}[unit]


def test_each_page_shows_the_present_age(browser, raw, store, alice, bob, monkeypatch):
    publish(raw, store, alice, "mine")
    written, clock = int(raw.hget("post:1", "time")), Clock()
    monkeypatch.setattr(post_cards, "time", clock)
    for seconds, words in [(0, "0 seconds"), (7, "7 seconds"), (61, "1 minute"), (4000, "1 hour"), (90_000, "1 day")]:
        clock.now = written + seconds
        for viewer in (alice, bob):  # alice has the delete button, bob has not
            [age] = re.findall('title="posted (.*) ago via web', browser(viewer).get("/@Alice/").content.decode())
            assert age == words


# ---- The words with which the script lets ages grow are those of the server.


TODAY = 1_790_000_000
CATEGORIES = {"en": {1: "one"}, "de": {1: "one"}, "ar": {1: "one", 2: "two", 3: "few", 10: "few", 11: "many"}}


def by_name(lines):
    """The lines as the script reads them."""
    return dict(line.split("=") for line in html.unescape(lines).split("\n"))


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize(("unit", "seconds"), [("minute", 60), ("hour", 3600), ("day", 86400)])
def test_each_age_is_that_of_the_server(language, unit, seconds):
    found = by_name(phrases(language))
    for number in (1, 2, 3, 10, 11, 20):
        category = CATEGORIES[language].get(number, "other")
        if language == "ar" and number == 20:
            category = "many"  # 11 to 99
        says = found.get(f"{unit}.{category}", found[f"{unit}.other"])
        words = says.replace("#", str(number)).split("|")
        shown = age(TODAY - number * seconds, TODAY, language)
        assert words == [html.unescape(text) for text in (shown.words, shown.short)[: len(words)]]
        assert len(words) == (1 if unit == "day" else 2)


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_after_a_day_it_is_the_servers_date(language):
    months = by_name(phrases(language))["months"].split("|")
    for number in range(3):
        written = TODAY - (30 * number + 2) * 86400
        shown = html.unescape(age(written, TODAY, language).short)
        day = time.gmtime(written)
        assert months[day.tm_mon - 1].replace("#", str(day.tm_mday)) == shown


# ---- Dates outside the calendar: a foreign database may have times in milliseconds, or any number.


PAGES = ["/", "/timeline/", "/@bob/", "/@bob/1/", "/@bob/followers/", "/people/", "/@bob/atom/", "/timeline/rss/"]


@pytest.mark.parametrize("when", ["1800000000000", "99999999999999999999"])
@pytest.mark.parametrize("url", PAGES)
def test_pages_and_feeds_show_times_after_the_calendar_as_its_last_second(browser, raw, alice, bob, when, url):
    write_posts(raw, 2, [1])
    raw.hset("post:1", "time", when)
    raw.zadd("users_by_time", {"bob": when})
    raw.zadd("followers:2", {"1": when})
    raw.zadd("following:1", {"2": when})
    Memory.clear_all()
    for client in (browser(), browser(alice)):
        page = client.get(url)
        assert page.status_code == 200
        assert b"9999" in page.content or url == "/people/"


@pytest.mark.parametrize("url", ["/@bob/", "/@bob/followers/", "/@bob/following/", "/people/", "/settings/download/"])
@pytest.mark.parametrize("when", ["inf", "-inf"])
def test_infinite_times_are_no_error(browser, raw, alice, bob, when, url):
    raw.zadd("users_by_time", {"bob": when})
    for key, member in (("followers:2", "1"), ("following:1", "2"), ("followers:1", "2"), ("following:2", "1")):
        raw.zadd(key, {member: when})
    Memory.clear_all()
    assert browser(bob).get(url).status_code == 200


def test_a_follow_with_an_infinite_time_is_repaired(store, raw, alice, bob):
    raw.zadd("following:1", {"2": "inf"})
    Edges(store, FOLLOW).mend([to_person(1, 2)])
    assert raw.zscore("followers:2", "1") == LARGEST_ID


@pytest.mark.parametrize(("seconds", "written"), [(-5, "1970-01-01T00:00:00Z"), (LAST, "9999-12-31T23:59:59Z")])
def test_a_written_time_stays_within_the_calendar(seconds, written):
    assert iso(seconds) == written
