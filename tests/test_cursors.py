"""Cursors: every one that a page hands out is read back, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retwis_site.exceptions import BadCursor
from timeline.converters import UsernameConverter
from timeline.cursors import LARGEST_ID, EdgeCursor, edge_cursor, parse_id, post_cursor

ids = st.integers(1, LARGEST_ID)


@given(ids)
def test_a_post_cursor_is_read_back(pid):
    assert post_cursor(str(pid)) == pid


@given(st.integers(0, LARGEST_ID), ids)
def test_an_edge_cursor_is_read_back(since, uid):
    assert edge_cursor(str(EdgeCursor(since, uid))) == EdgeCursor(since, uid)


def test_no_cursor_is_the_first_page():
    assert post_cursor(None) is None
    assert edge_cursor(None) is None


@given(st.text(max_size=50))
def test_any_text_is_a_cursor_or_a_bad_cursor(text):
    try:
        found = post_cursor(text)
    except BadCursor:
        assert parse_id(text) is None
    else:
        assert found == int(text)
    try:
        edge = edge_cursor(text)
    except BadCursor:
        return
    since, uid = text.split("-")
    assert (edge.since, edge.uid) == (int(since), int(uid))


@pytest.mark.parametrize("number", [0, -1, LARGEST_ID + 1, 10**40])
def test_numbers_that_no_post_has_are_no_ids(number):
    assert parse_id(str(number)) is None


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_every_name_survives_its_address(name):
    converter = UsernameConverter()
    segment = converter.to_url(name)
    assert "/" not in segment
    assert converter.to_python(segment) == name
