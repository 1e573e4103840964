"""The ids in many texts are parsed together when all are good, with the same result as one by one."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retwis_site.store import ids
from retwis_site.store.cached_list import parse_head

ODD = ["", "0", "007", "-7", "+7", " 7", "1,2", "1_0", "٧", "\udcff", "x", str(ids.LARGEST_ID + 1), "9" * 5000]
TEXTS = st.lists(st.integers(1, ids.LARGEST_ID).map(str), max_size=5)


@given(TEXTS)
def test_good_ids_are_parsed_in_their_order(texts):
    assert ids.good_ids(texts) == ([int(text) for text in texts] or None)


@given(TEXTS, st.sampled_from(ODD) | st.text(max_size=3), TEXTS)
def test_one_text_that_is_no_id_is_found_among_good_ones(before, odd, after):
    if ids.parse_id(odd) is None:
        assert ids.good_ids([*before, odd, *after]) is None


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_number_is_left_out(odd):
    expected = [1, 0, 2] if odd == "0" else [1, 2]
    assert ids.stored_numbers("recent", ["1", odd, "2"]) == expected


def test_the_entries_of_a_good_list_are_not_looked_at_one_by_one():
    with patch.object(ids, "parse_number", side_effect=AssertionError):
        assert parse_head("timeline", ["3", "2", "3", "1"] * 25).ids == [3, 2, 1]
