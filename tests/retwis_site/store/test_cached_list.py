"""Reading a timeline's list: marks, horizons, and the merge that a rebuild makes."""

from hypothesis import given
from hypothesis import strategies as st

from retwis_site.store.cached_list import CUT_ABOVE, FIRST_TRUSTED, KEPT, TRUSTED, Slice, merge, parse_head, parse_whole

ids = st.integers(min_value=1, max_value=5000)


def test_a_finished_list_is_complete_down_to_its_mark():
    content = parse_whole(["9", "b1", "-5", "7", "5", "3"])
    assert content.complete
    assert content.complete_down_to == 5
    assert content.ids == [9, 7, 5]


def test_a_mark_of_zero_reaches_to_the_beginning():
    content = parse_whole(["b1", "0", "2", "1"])
    assert (content.complete, content.complete_down_to, content.ids) == (True, 0, [2, 1])


def test_the_highest_of_several_marks_counts():
    assert parse_whole(["b2", "-4", "b1", "-2", "6", "5", "4", "3"]).ids == [6, 5, 4]


def test_a_list_without_a_mark_is_not_complete():
    assert not parse_whole([]).complete
    assert not parse_whole(["3", "2", "1"]).complete
    assert not parse_whole(["4", "b1", "3", "2"]).complete


def test_a_long_list_whose_marks_were_cut_off_is_complete_but_its_tail_is_not_relied_on():
    entries = [str(pid) for pid in range(1000, 0, -1)]
    content = parse_whole(entries)
    assert content.complete
    assert len(content.ids) == TRUSTED
    assert content.complete_down_to == content.ids[-1] == 201


def test_a_long_list_with_a_rebuild_under_way_is_not_complete():
    assert not parse_whole([*(str(pid) for pid in range(1000, 0, -1)), "b1"]).complete


def test_the_head_of_a_longer_list_is_complete_unless_a_rebuild_is_under_way():
    head = [str(pid) for pid in range(700, 500, -1)]
    assert parse_head(head).complete
    assert not parse_head([*head[:-1], "b1"]).complete
    assert parse_head([*head[:100], "b1", "0", *head[102:]]).complete


def test_fillers_stand_for_dead_ids_and_say_nothing():
    assert parse_whole(["x", "3", "b1", "0", "x", "2"]).ids == [3, 2]


def test_the_head_says_nothing_about_what_lies_below_it():
    content = parse_head(["b1", "0", *(str(pid) for pid in range(700, 502, -1))])
    assert content.complete_down_to == content.ids[-1]
    assert len(content.ids) == FIRST_TRUSTED


@given(st.lists(ids, max_size=CUT_ABOVE), st.sampled_from([parse_head, parse_whole]), st.integers(0, 5000))
def test_ids_come_newest_first_once_each_and_none_below_the_horizon(pids, parse, complete_down_to):
    content = parse(["b1", str(-complete_down_to), *map(str, pids)])
    assert content.ids == sorted(set(content.ids), reverse=True)
    assert set(content.ids) <= set(pids)
    assert all(pid >= content.complete_down_to >= 0 for pid in content.ids)
    assert content.complete_down_to >= complete_down_to


sources = st.lists(st.sets(ids, max_size=40), min_size=1, max_size=12)


@given(sources, st.integers(1, 15), st.integers(1, 60))
def test_a_merge_has_no_holes_above_its_horizon(everything, length, keep):
    cut = [sorted(source, reverse=True)[:length] for source in everything]
    found = merge([Slice(piece, len(piece) == length) for piece in cut], keep)
    truth = set().union(*everything)
    assert found.ids == sorted((pid for pid in truth if pid >= found.complete_down_to), reverse=True)
    assert len(found.ids) <= max(keep, 1)


@given(sources)
def test_a_merge_of_uncut_sources_reaches_to_the_beginning(everything):
    found = merge([Slice(sorted(source, reverse=True), has_more=False) for source in everything], KEPT)
    assert found.complete_down_to == 0
    assert set(found.ids) == set().union(*everything)
