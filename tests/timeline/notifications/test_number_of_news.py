"""The number of new notices: in the navigation and in the title of every page, and in the answer to the poll. Which
kinds are turned off, and how they are grouped."""

import re
import time

import pytest
from hypothesis import given, strategies as st

from retwis_site.exceptions import BadCursor
from tests.support.http.page_text import page_of
from tests.support.people import LONG_AGO, register
from tests.support.runs.python_calls import python_calls
from tests.support.stored_keys import publish
from timeline.notices import BY_POSTS, CAN_BE_QUIET, MARK, Notice, NoticeKind, Row, parse_notice
from timeline.notifications.repository import Only, below, group_of, grouped, read_cursor
from timeline.people.lists import Cursor, cursor
from timeline.relations.relations import BlockedPeople, Follows, Likes, Mutes

PAGES = ["/", "/timeline/", "/people/", "/settings/", "/@Alice/", "/@Alice/1/", "/settings/notifications/"]


@pytest.fixture
def site(store, raw, alice, bob):
    publish(raw, store, alice, "Hello")
    return raw


def number(html):
    """What the navigation and the title say."""
    [shown] = re.findall(r'id="news" data-count="([^"]*)"', html)
    [title] = re.findall(r"<title>(\(\S+\) )?", html)
    return shown, title


@pytest.mark.parametrize("url", PAGES)
def test_every_page_has_the_number(site, member, url):
    assert number(member.get(url).content.decode()) == ("", "")
    site.zadd("notices:1", {"follow:1:2": LONG_AGO, "like:1:2": LONG_AGO + 1, MARK: LONG_AGO})
    assert number(member.get(url).content.decode()) == ("1", "(1) ")


def test_it_ends_at_99(browser, site, alice):
    site.zadd("notices:1", {f"like:{pid}:2": LONG_AGO for pid in range(1, 101)})
    assert number(browser(alice).get("/people/").content.decode()) == ("99+", "(99+) ")


def test_the_page_of_notices_has_none_any_more(site, member):
    site.zadd("notices:1", {"follow:1:2": LONG_AGO})
    assert number(member.get("/notifications/?only=mentions").content.decode()) == ("1", "(1) ")
    assert number(member.get("/notifications/").content.decode()) == ("", "")
    assert number(member.get("/people/").content.decode()) == ("", "")


def test_what_was_read_while_a_clock_was_ahead_hides_nothing_new_after_a_visit(site, member):
    now = int(time.time())
    site.zadd("notices:1", {"follow:1:2": now + 9000, "like:1:2": now - 9, MARK: now + 9000})
    site.hset("user:1", "noticed", now + 9000)
    member.get("/notifications/")
    assert now <= site.zscore("notices:1", MARK) == int(site.hget("user:1", "noticed")) < now + 60
    assert site.zscore("notices:1", "follow:1:2") == site.zscore("notices:1", MARK)
    assert number(member.get("/people/").content.decode()) == ("", "")
    site.zadd("notices:1", {"repost:1:2": now + 60})
    assert number(member.get("/people/").content.decode()) == ("1", "(1) ")


@pytest.mark.parametrize("mark", [None, LONG_AGO - 1])
def test_a_visit_writes_a_mark_that_was_lost(site, member, mark):
    """A store without memory for it, or a failover of its server: only the user's hash says that they are read."""
    site.zadd("notices:1", {"follow:1:2": LONG_AGO})
    member.get("/notifications/")
    site.zrem("notices:1", MARK)
    if mark is not None:
        site.zadd("notices:1", {MARK: mark})
    assert number(member.get("/people/").content.decode()) == ("1", "(1) ")
    member.get("/notifications/")
    assert number(member.get("/people/").content.decode()) == ("", "")
    assert site.zscore("notices:1", MARK) == LONG_AGO


def test_a_visitor_has_none(browser, site):
    assert 'id="news"' not in browser().get("/timeline/").content.decode()


def test_an_error_page_has_none(browser, site, alice):
    assert 'id="news"' not in page_of(browser(alice).get("/@nobody_at_all/"), 404)


def test_the_poll_answers_only_what_is_not_known(browser, site, member, round_trips):
    assert member.get("/notifications/number/?known=").status_code == 204
    site.zadd("notices:1", {"follow:1:2": LONG_AGO})
    assert member.get("/notifications/number/?known=1").status_code == 204
    answers = []
    recorded = round_trips(lambda: answers.append(member.get("/notifications/number/?known=")))
    assert 'data-count="1"' in answers[0].content.decode()
    assert len(recorded.round_trips) == 1
    assert len(recorded.commands) == 4
    assert browser().get("/notifications/number/?known=").status_code == 204


def test_the_poll_of_home_carries_it(store, site, member, bob):
    assert 'data-asks="/notifications/number/"' not in member.get("/").content.decode()
    assert member.get("/new/?after=99&known=").status_code == 204
    site.zadd("notices:1", {"follow:1:2": LONG_AGO})
    answer = member.get("/new/?after=99&known=").content.decode()
    assert 'id="news" data-count="1"' in answer
    assert 'id="arrived"' not in answer
    assert member.get("/new/?after=99&known=1").status_code == 204


@pytest.mark.parametrize("address", ["/notifications/number/?known=", "/new/?after=99&known="])
def test_a_page_of_another_session_is_told_to_load_itself_anew(browser, site, member, bob, address):
    script = {"HX-Request": "true"}
    assert member.get(f"{address}&me=/@Alice/", headers=script).status_code == 204
    for other in (browser(), browser(bob)):
        answer = other.get(f"{address}&me=/@Alice/", headers=script)
        assert (answer.status_code, answer.content) == (205, b"")
        assert other.get(f"{address}&me=/@Alice/").status_code == 204  # a window that another site has opened


def test_other_pages_ask_for_themselves(site, member):
    for url in ("/people/", "/?before=1", "/settings/"):
        assert 'data-asks="/notifications/number/"' in member.get(url).content.decode(), url


# ---- Each kind of notice can be turned off.


ADDRESS = "/settings/notifications/"


def test_all_kinds_are_on_at_first(browser, alice):
    assert browser(alice).get(ADDRESS).content.decode().count("checked") == len(CAN_BE_QUIET)


def test_a_kind_that_is_turned_off_stays_off_and_causes_nothing(store, raw, alice, member, bob):
    pid = publish(raw, store, alice, "Hello")
    wanted = {kind: "on" for kind in CAN_BE_QUIET if kind not in (NoticeKind.LIKE, NoticeKind.MENTION)}
    response = member.post(ADDRESS, wanted)
    assert (response.status_code, response["Location"]) == (302, ADDRESS)
    assert set(raw.hget("user:1", "quiet").split()) == {"like", "mention"}
    assert member.get(ADDRESS).content.decode().count("checked") == len(CAN_BE_QUIET) - 2
    Likes(store).like(2, pid, 1)
    Follows(store).follow(2, 1)
    assert raw.zrange("notices:1", 0, -1) == ["follow:1:2"]
    member.post(ADDRESS, dict.fromkeys(NoticeKind, "on"))
    assert raw.hget("user:1", "quiet") == ""


@pytest.mark.parametrize("sent", [{}, {"kinds": "all"}])
def test_all_kinds_can_be_off(browser, raw, alice, sent):
    browser(alice).post(ADDRESS, sent)
    assert raw.hget("user:1", "quiet").split() == list(CAN_BE_QUIET)


def test_changes_are_limited(member, monkeypatch):
    assert [member.post(ADDRESS).status_code for _ in range(61)][-2:] == [302, 429]


# ---- Notices in groups: whole groups, the newest first, and pages without gaps or repetitions.


DAY = 86400

notices = st.builds(Notice, st.sampled_from(NoticeKind), st.integers(1, 4), st.integers(1, 6))
stored = st.dictionaries(notices, st.integers(0, 3 * DAY)).map(
    lambda scored: [
        Row(when, notice.member)
        for notice, when in sorted(scored.items(), key=lambda item: (item[1], item[0].member), reverse=True)
    ]
)


def row(kind, what, who, when):
    return Row(when, Notice(kind, what, who).member)


def test_likes_are_grouped_by_post_and_follows_by_day():
    rows = [
        row(NoticeKind.LIKE, 7, 3, DAY + 50),
        row(NoticeKind.FOLLOW, 1, 4, DAY + 40),
        row(NoticeKind.LIKE, 8, 3, DAY + 30),
        row(NoticeKind.LIKE, 7, 2, DAY + 20),
        row(NoticeKind.FOLLOW, 1, 5, DAY + 10),
        row(NoticeKind.FOLLOW, 1, 6, DAY - 1),
    ]
    assert [(group.kind, group.what, group.people) for group in map(group_of, grouped(rows))] == [
        (NoticeKind.LIKE, 7, (3, 2)),
        (NoticeKind.FOLLOW, 1, (4, 5)),
        (NoticeKind.LIKE, 8, (3,)),
        (NoticeKind.FOLLOW, 0, (6,)),
    ]


def test_a_group_of_a_thousand_people_takes_no_steps_for_each():
    """Each step once made the group anew, with all its people: the page took three times as long."""
    rows = [row(NoticeKind.LIKE, 7, uid, DAY - uid) for uid in range(1, 1001)]
    assert [group.people for group in map(group_of, grouped(rows))] == [tuple(range(1, 1001))]
    assert python_calls(lambda: [*map(group_of, grouped(rows))]).total() < 20


@given(stored)
def test_every_notice_is_in_one_group_and_those_by_posts_stand_alone(rows):
    groups = [*map(group_of, grouped(rows))]
    assert sum(len(group.people) for group in groups) <= len(rows)
    for when, notice in ((row.when, row.notice) for row in rows):
        what = when // DAY if notice.kind is NoticeKind.FOLLOW else notice.what
        [group] = [group for group in groups if (group.kind, group.what) == (notice.kind, what)]
        assert notice.who in group.people
        assert group.place >= Cursor(when, notice.member)


@given(stored)
def test_the_newest_group_is_first(rows):
    places = [group_of(each).place for each in grouped(rows)]
    assert places == sorted(places, reverse=True)
    assert len(set(places)) == len(places)


@given(stored, st.integers(1, 5), st.sampled_from(Only))
def test_the_pages_together_have_each_group_once(rows, size, only):
    groups, seen, before = grouped(rows), [], None
    while page := below(groups, before, only)[:size]:
        seen += page
        before = cursor(str(group_of(page[-1]).place), parse_notice)
    assert seen == [group for group in groups if only is Only.ALL or group[0].notice.kind in BY_POSTS]


@pytest.mark.parametrize("text", ["", "5", "5-", "x-like:1:2", "5-wave:1:2", "-1-like:1:2", "5-like:1"])
def test_other_cursors_are_refused(text):
    with pytest.raises(BadCursor):
        cursor(text, parse_notice)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5"])
def test_other_dates_are_refused(text):
    with pytest.raises(BadCursor):
        read_cursor(text)


# ---- people who were muted or blocked after they had caused notices, and muted words: neither counted nor shown


ALICE, BOB, CAROL = 1, 2, 3
HIDE = {
    "bob mutes alice": lambda store: Mutes(store).mute(BOB, ALICE),
    "bob blocks alice": lambda store: BlockedPeople(store).block(BOB, ALICE),
    "alice blocks bob": lambda store: BlockedPeople(store).block(ALICE, BOB),
}


@pytest.mark.parametrize("hide", HIDE)
def test_they_are_not_counted_any_more(browser, store, raw, pid, bob, hide):
    client = browser(bob)
    raw.zadd("notices:2", {f"like:{pid}:1": LONG_AGO, "follow:2:1": LONG_AGO, f"like:{pid}:3": LONG_AGO})
    assert 'data-count="3"' in client.get("/people/").content.decode()
    HIDE[hide](store)
    assert raw.zrange("notices:2", 0, -1) == [f"like:{pid}:3"]
    assert 'data-count="1"' in client.get("/people/").content.decode()


def test_a_post_with_muted_words_is_neither_counted_nor_shown(browser, store, raw, alice, bob, pid):
    raw.zadd("muted_words:2", {"everywhere hide walrus": "+inf"})
    client = browser(bob)
    publish(raw, store, alice, "A Walrus for @bob")
    publish(raw, store, alice, "A seal for @bob")
    assert raw.zrange("notices:2", 0, -1) == ["mention:3:1"]
    assert 'data-count="1"' in client.get("/people/").content.decode()
    html = client.get("/notifications/").content.decode()
    assert "A seal" in html
    assert "Walrus" not in html


def test_words_that_are_muted_later_count_until_the_page_is_read(browser, store, raw, alice, bob, pid):
    publish(raw, store, alice, "A walrus for @bob")
    raw.zadd("muted_words:2", {"everywhere hide walrus": "+inf"})
    client = browser(bob)
    assert 'data-count="1"' in client.get("/people/").content.decode()
    assert "walrus" not in client.get("/notifications/").content.decode()
    assert 'data-count=""' in client.get("/people/").content.decode()


def test_a_mute_of_reposts_alone_removes_no_notice(store, raw, pid):
    raw.zadd("notices:2", {f"repost:{pid}:1": LONG_AGO})
    Mutes(store).mute_reposts(BOB, ALICE)
    assert raw.zcard("notices:2") == 1


def test_a_mute_takes_two_more_round_trips_however_many_notices_there_are(store, raw, pid, round_trips):
    raw.zadd("notices:2", {f"like:{pid}:{uid}": LONG_AGO for uid in range(1, 1000)})
    assert len(round_trips(lambda: Mutes(store).mute(BOB, ALICE)).round_trips) == 6
    assert len(round_trips(lambda: Mutes(store).unmute(BOB, ALICE)).round_trips) == 4


def test_a_group_stays_when_its_newest_people_are_all_hidden(browser, store, raw, pid, bob):
    """As after a copy of notices and mutes from another site."""
    hidden = [register(store, f"person{number}").user.uid for number in range(8)]
    raw.zadd("notices:2", {f"like:{pid}:{uid}": LONG_AGO + uid for uid in (CAROL, *hidden)})
    raw.zadd("muted:2", dict.fromkeys(hidden, "+inf"))
    html = browser(bob).get("/notifications/").content.decode()
    assert "carol liked your post" in " ".join(re.sub("<[^>]*>", " ", html).split())
    assert "person" not in html
