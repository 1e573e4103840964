"""Cursors: each cursor of a page is parsed to the same value; any other text is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retwis_site.exceptions import BadCursor
from retwis_site.http.url_converters import UsernameConverter
from retwis_site.store.ids import LARGEST_ID
from timeline.people.entities import By, Show
from timeline.people.lists import NameCursor, ScoreCursor, choice, name_cursor, score_cursor
from timeline.timelines.pagination import parse_id, post_cursor

ids = st.integers(1, LARGEST_ID)


@given(ids)
def test_a_post_cursor_is_parsed_back(pid):
    assert post_cursor(str(pid)) == pid


@given(st.integers(0, LARGEST_ID), ids)
def test_a_score_cursor_is_parsed_back(since, uid):
    assert score_cursor(str(ScoreCursor(since, uid))) == ScoreCursor(since, uid)


def test_without_a_cursor_it_is_the_first_page():
    assert post_cursor(None) is None
    assert score_cursor(None) is None


@given(st.text(max_size=50))
def test_any_text_is_a_cursor_or_a_bad_cursor(text):
    try:
        pid = post_cursor(text)
    except BadCursor:
        assert parse_id(text) is None
    else:
        assert pid == int(text)
    try:
        edge = score_cursor(text)
    except BadCursor:
        return
    since, uid = text.split("-")
    assert (edge.score, edge.uid) == (int(since), int(uid))


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
    assert name_cursor(str(NameCursor(since, name))) == NameCursor(since, name)


@given(st.text(max_size=50))
def test_any_text_is_a_name_cursor_or_a_bad_cursor(text):
    try:
        cursor = name_cursor(text)
    except BadCursor:
        return
    since, _, name = text.partition("-")
    assert (cursor.since, cursor.name) == (int(since), name)


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
