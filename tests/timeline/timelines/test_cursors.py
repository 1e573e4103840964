"""Cursors and pages: each cursor is parsed to the same value, any other text is refused, and a page that becomes too
short reads on once."""

import pytest
from hypothesis import given, strategies as st

from retwis_site.exceptions import BadCursor
from retwis_site.http.url_converters import UsernameConverter
from retwis_site.store.ids import LARGEST_ID, parse_id
from timeline.people.lists import By, Cursor, Show, choice, id_cursor, name_cursor
from timeline.timelines.pagination import READ_MORE, Part, further_ids, post_cursor

ids = st.integers(1, LARGEST_ID)


@given(ids)
def test_a_post_cursor_is_parsed_back(pid):
    assert post_cursor(str(pid)) == pid


@given(st.integers(0, LARGEST_ID), ids)
def test_a_cursor_with_an_id_is_parsed_back(since, uid):
    assert id_cursor(str(Cursor(since, str(uid)))) == Cursor(since, str(uid))


def test_without_a_cursor_it_is_the_first_page():
    assert post_cursor(None) is None
    assert id_cursor(None) is None


@given(st.text(max_size=50))
def test_any_text_is_a_cursor_or_a_bad_cursor(text):
    try:
        pid = post_cursor(text)
    except BadCursor:
        assert parse_id(text) is None
    else:
        assert pid == int(text)
    try:
        edge = id_cursor(text)
    except BadCursor:
        return
    since, uid = text.split("-")
    assert (edge.score, edge.member) == (int(since), str(int(uid)))


@pytest.mark.parametrize("number", [0, -1, LARGEST_ID + 1, 10**40])
def test_a_number_out_of_range_is_not_an_id(number):
    assert parse_id(str(number)) is None


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_every_username_is_parsed_back_from_its_url(name):
    converter = UsernameConverter()
    segment = converter.to_url(name)
    assert "/" not in segment
    assert converter.to_python(segment) == name


names = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.integers(0, LARGEST_ID), names)
def test_a_name_cursor_is_parsed_back(since, name):
    assert name_cursor(str(Cursor(since, name))) == Cursor(since, name)


@given(st.text(max_size=50))
def test_any_text_is_a_name_cursor_or_a_bad_cursor(text):
    try:
        found = name_cursor(text)
    except BadCursor:
        return
    since, _, name = text.partition("-")
    assert (found.score, found.member) == (int(since), name)


@given(st.text(max_size=20))
def test_an_unknown_choice_is_refused(text):
    for choices in (Show, By):
        if text in list(choices):
            assert choice(choices, text) == text
            continue
        with pytest.raises(BadCursor):
            choice(choices, text)
    assert choice(Show, None) is Show.ALL
    assert choice(By, None) is By.NEWEST


# ---- A page that becomes too short reads on once: as many ids as will surely fill it, and no more than that takes.


SIZE, SPARE = 20, 5
PIDS = range(1000, 0, -1)


class Shown:
    """A post on the page."""

    def __init__(self, pid):
        self.listed = pid


def read_by(hidden):
    """A reader for whom some ids are hidden, and the ids that each of its calls was given."""
    calls = []

    def shown(pids):
        calls.append([*pids])
        return [Shown(pid) for pid in pids if not hidden(pid)], []

    return shown, calls


def test_a_full_page_reads_no_further():
    shown, calls = read_by(lambda pid: pid % 10 == 0)
    assert [post.listed for post in Part(size=SIZE).fill(PIDS, shown, SPARE).posts] == [
        pid for pid in range(999, 0, -1) if pid % 10
    ][:SIZE]
    assert [len(call) for call in calls] == [SIZE + SPARE]


def test_a_page_that_lacks_two_posts_reads_a_few_more():
    shown, calls = read_by(lambda pid: 980 < pid < 988)
    filled = Part(size=SIZE).fill(PIDS, shown, SPARE)
    assert len(filled.posts) == SIZE
    assert [len(call) for call in calls] == [25, 12]
    assert filled.older == filled.posts[-1].listed


def test_a_page_of_which_nothing_is_shown_reads_as_many_as_it_may():
    shown, calls = read_by(lambda pid: pid > 900)
    assert len(Part(size=SIZE).fill(PIDS, shown, SPARE).posts) == SIZE
    assert [len(call) for call in calls] == [25, READ_MORE]


@given(st.integers(0, SIZE + SPARE), st.integers(0, 400))
def test_what_is_read_next_fills_the_page_even_if_four_times_fewer_are_shown(number, left):
    candidates = range(SIZE + SPARE + left)
    further = further_ids(candidates, SIZE + SPARE, number, SIZE)
    missing = max(SIZE - number, 0)
    assert [*further] == [*candidates][SIZE + SPARE :][: len(further)]
    assert len(further) <= min(READ_MORE, left)
    share = number / (SIZE + SPARE)
    assert len(further) * share >= 4 * missing - 1 or len(further) in {left, READ_MORE}
    assert bool(further) == bool(missing and left)
