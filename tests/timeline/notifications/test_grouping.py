"""Notices in groups: whole groups, the newest first, and pages without gaps or repetitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retwis_site.exceptions import BadCursor
from timeline.notices.entities import BY_POSTS, Kind, Notice
from timeline.notices.inbox import Row
from timeline.notifications.repository import Only, Place, below, grouped, place_cursor, read_cursor

DAY = 86400

notices = st.builds(Notice, st.sampled_from(Kind), st.integers(1, 4), st.integers(1, 6))
stored = st.dictionaries(notices, st.integers(0, 3 * DAY)).map(
    lambda scored: [
        Row(notice, when)
        for notice, when in sorted(scored.items(), key=lambda item: (item[1], item[0].member), reverse=True)
    ]
)


def row(kind, what, who, when):
    return Row(Notice(kind, what, who), when)


def test_likes_are_grouped_by_post_and_follows_by_day():
    rows = [
        row(Kind.LIKE, 7, 3, DAY + 50),
        row(Kind.FOLLOW, 1, 4, DAY + 40),
        row(Kind.LIKE, 8, 3, DAY + 30),
        row(Kind.LIKE, 7, 2, DAY + 20),
        row(Kind.FOLLOW, 1, 5, DAY + 10),
        row(Kind.FOLLOW, 1, 6, DAY - 1),
    ]
    assert [(group.kind, group.what, group.people) for group in grouped(rows)] == [
        (Kind.LIKE, 7, (3, 2)),
        (Kind.FOLLOW, 1, (4, 5)),
        (Kind.LIKE, 8, (3,)),
        (Kind.FOLLOW, 0, (6,)),
    ]


@given(stored)
def test_every_notice_is_in_one_group_and_those_by_posts_stand_alone(rows):
    groups = grouped(rows)
    assert sum(len(group.people) for group in groups) <= len(rows)
    for notice, when in rows:
        what = when // DAY if notice.kind is Kind.FOLLOW else notice.what
        [group] = [group for group in groups if (group.kind, group.what) == (notice.kind, what)]
        assert notice.who in group.people
        assert group.place >= Place(when, notice.member)


@given(stored)
def test_the_newest_group_is_first(rows):
    places = [group.place for group in grouped(rows)]
    assert places == sorted(places, reverse=True)
    assert len(set(places)) == len(places)


@given(stored, st.integers(1, 5), st.sampled_from(Only))
def test_the_pages_together_have_each_group_once(rows, size, only):
    groups, seen, before = grouped(rows), [], None
    while page := below(groups, before, only)[:size]:
        seen += page
        before = place_cursor(str(page[-1].place))
    assert seen == [group for group in groups if only is Only.ALL or group.kind in BY_POSTS]


@pytest.mark.parametrize("text", ["", "5", "5-", "x-like:1:2", "5-wave:1:2", "-1-like:1:2", "5-like:1"])
def test_other_cursors_are_refused(text):
    with pytest.raises(BadCursor):
        place_cursor(text)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5"])
def test_other_dates_are_refused(text):
    with pytest.raises(BadCursor):
        read_cursor(text)
