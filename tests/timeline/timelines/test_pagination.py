"""A page that becomes too short reads on once: as many ids as will surely fill it, and no more than that takes."""

from hypothesis import given
from hypothesis import strategies as st

from timeline.timelines.pagination import READ_MORE, fill, further_ids

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
    assert [post.listed for post in fill(PIDS, SIZE, shown, SPARE).posts] == [
        pid for pid in range(999, 0, -1) if pid % 10
    ][:SIZE]
    assert [len(call) for call in calls] == [SIZE + SPARE]


def test_a_page_that_lacks_two_posts_reads_a_few_more():
    shown, calls = read_by(lambda pid: 980 < pid < 988)
    filled = fill(PIDS, SIZE, shown, SPARE)
    assert len(filled.posts) == SIZE
    assert [len(call) for call in calls] == [25, 12]
    assert filled.older == filled.posts[-1].listed


def test_a_page_of_which_nothing_is_shown_reads_as_many_as_it_may():
    shown, calls = read_by(lambda pid: pid > 900)
    assert len(fill(PIDS, SIZE, shown, SPARE).posts) == SIZE
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
