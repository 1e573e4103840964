"""The newest posts of several tags, as one list."""

from hypothesis import given
from hypothesis import strategies as st

from timeline.tags.tag_pages import Newest, merged

LISTS = st.lists(st.sets(st.integers(1, 60)).map(lambda ids: sorted(ids, reverse=True)), max_size=6)


def read(lists, number):
    return [Newest(each[:number], len(each) >= number) for each in lists]


@given(LISTS, st.integers(1, 20))
def test_the_highest_of_all_lists_are_found(lists, number):
    every = sorted(set().union(*lists), reverse=True)
    found = merged(read(lists, number), number)
    assert found.ids == every[:number]
    assert found.has_more or every == found.ids


@given(LISTS, st.integers(1, 20))
def test_page_after_page_gives_each_id_once(lists, number):
    seen, before = [], 61
    while True:
        found = merged(read([[pid for pid in each if pid < before] for each in lists], number), number)
        seen += found.ids
        if not found.has_more or not found.ids:
            break
        before = found.ids[-1]
    assert seen == sorted(set().union(*lists), reverse=True)
