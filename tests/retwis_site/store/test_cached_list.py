"""Parsing a cached list: tokens, complete-down-to ids, labels and padding; and the merge of the sources."""

from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from retwis_site.store import ids as store_ids
from retwis_site.store.cached_list import (
    CUT_ABOVE,
    FIRST_READ,
    FIRST_TRUSTED,
    KEPT,
    TRUSTED,
    Slice,
    merge,
    parse_head,
    parse_whole,
)
from retwis_site.store.ids import LARGEST_ID, good_ids, parse_id, stored_numbers

KEY = "posts:1"
ids = st.integers(min_value=1, max_value=5000)
ODD = ["", "0", "007", "-7", "+7", " 7", "1,2", "1_0", "٧", "\udcff", "x", str(LARGEST_ID + 1), "9" * 5000]
TEXTS = st.lists(st.integers(1, LARGEST_ID).map(str), max_size=5)


def test_a_rebuilt_list_is_complete_down_to_its_id():
    content = parse_whole(KEY, ["9", "b1", "-5", "7", "5", "3"])
    assert content.complete
    assert content.complete_down_to == 5
    assert content.ids == [9, 7, 5]


def test_a_complete_down_to_id_of_zero_means_the_beginning():
    content = parse_whole(KEY, ["b1", "0", "2", "1"])
    assert (content.complete, content.complete_down_to, content.ids) == (True, 0, [2, 1])


def test_the_highest_complete_down_to_id_counts():
    assert parse_whole(KEY, ["b2", "-4", "b1", "-2", "6", "5", "4", "3"]).ids == [6, 5, 4]


def test_a_list_whose_first_ids_are_those_of_a_rebuild_that_is_gone_is_not_complete():
    its_own, of_the_other = ["b2:", "9", "8"], ["b1:", "8", "7"]
    assert parse_whole(KEY, ["b2", "-8", *its_own, *of_the_other]).ids == [9, 8]
    late = ["b2", "-8", *of_the_other, *its_own]
    assert not parse_whole(KEY, late).complete
    assert not parse_head(KEY, [*late, *(str(pid) for pid in range(7, 0, -1))] * 20).complete
    assert parse_whole(KEY, ["b1", "b2", "-8", *of_the_other, *its_own]).complete


def test_a_list_without_a_complete_down_to_id_is_not_complete():
    assert not parse_whole(KEY, []).complete
    assert not parse_whole(KEY, ["3", "2", "1"]).complete
    assert not parse_whole(KEY, ["4", "b1", "3", "2"]).complete


def test_of_a_long_list_that_was_cut_only_the_highest_ids_are_used():
    entries = [str(pid) for pid in range(1000, 0, -1)]
    content = parse_whole(KEY, entries)
    assert content.complete
    assert len(content.ids) == TRUSTED
    assert content.complete_down_to == content.ids[-1] == 201


def test_a_long_list_is_not_complete_during_a_rebuild():
    assert not parse_whole(KEY, [*(str(pid) for pid in range(1000, 0, -1)), "b1"]).complete


def test_the_head_of_a_longer_list_is_complete_except_during_a_rebuild():
    head = [str(pid) for pid in range(700, 699 - FIRST_READ, -1)]
    assert parse_head(KEY, head).complete
    assert not parse_head(KEY, [*head[:-1], "b1"]).complete
    assert parse_head(KEY, [*head[:100], "b1", "0", *head[102:]]).complete


def test_padding_is_skipped():
    assert parse_whole(KEY, ["x", "3", "b1", "0", "x", "2"]).ids == [3, 2]


def test_the_head_is_complete_down_to_its_lowest_used_id():
    content = parse_head(KEY, ["b1", "0", *(str(pid) for pid in range(700, 701 - FIRST_READ, -1))])
    assert content.complete_down_to == content.ids[-1]
    assert len(content.ids) == FIRST_TRUSTED


@given(st.lists(ids, max_size=CUT_ABOVE), st.sampled_from([parse_head, parse_whole]), st.integers(0, 5000))
def test_ids_are_unique_newest_first_and_not_below_the_complete_down_to_id(pids, parse, complete_down_to):
    content = parse(KEY, ["b1", str(-complete_down_to), *map(str, pids)])
    assert content.ids == sorted(set(content.ids), reverse=True)
    assert set(content.ids) <= set(pids)
    assert all(pid >= content.complete_down_to >= 0 for pid in content.ids)
    assert content.complete_down_to >= complete_down_to


sources = st.lists(st.sets(ids, max_size=40), min_size=1, max_size=12)


@given(sources, st.integers(1, 15), st.integers(1, 60))
def test_a_merge_lacks_no_id_above_its_complete_down_to_id(id_sets, length, keep):
    cut = [sorted(source, reverse=True)[:length] for source in id_sets]
    merged = merge([Slice(piece, len(piece) == length) for piece in cut], keep)
    expected = set().union(*id_sets)
    assert merged.ids == sorted((pid for pid in expected if pid >= merged.complete_down_to), reverse=True)
    assert len(merged.ids) <= max(keep, 1)


@given(sources)
def test_a_merge_of_uncut_sources_reaches_to_the_beginning(id_sets):
    merged = merge([Slice(sorted(source, reverse=True), has_more=False) for source in id_sets], KEPT)
    assert merged.complete_down_to == 0
    assert set(merged.ids) == set().union(*id_sets)


# ---- ids that are all good are parsed together, with the same result as one by one


@given(TEXTS)
def test_good_ids_are_parsed_in_their_order(texts):
    assert good_ids(texts) == ([int(text) for text in texts] or None)


@given(TEXTS, st.sampled_from(ODD) | st.text(max_size=3), TEXTS)
def test_one_text_that_is_no_id_is_found_among_good_ones(before, odd, after):
    if parse_id(odd) is None:
        assert good_ids([*before, odd, *after]) is None


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_number_is_left_out(odd):
    expected = [1, 0, 2] if odd == "0" else [1, 2]
    assert stored_numbers("recent", ["1", odd, "2"]) == expected


def test_the_entries_of_a_good_list_are_not_looked_at_one_by_one():
    with patch.object(store_ids, "parse_number", side_effect=AssertionError):
        assert parse_head("timeline", ["3", "2", "3", "1"] * 25).ids == [3, 2, 1]
