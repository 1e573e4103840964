"""How many notices are new: one round trip counts them, whatever was read before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retwis_site.store import keys
from tests.support.people import LONG_AGO
from timeline.notices.entities import Kind, Notice, parse_notice
from timeline.notices.inbox import KEPT, Inbox, ask_new, queue_add, rows_of

ALICE = 1


def new(store):
    pipe = store.pipeline()
    number = ask_new(pipe, ALICE)
    pipe.execute()
    return number.value


def add(store, pid, when):
    pipe = store.pipeline()
    queue_add(pipe, ALICE, Notice(Kind.LIKE, pid, 2), when)
    pipe.execute()


def test_without_a_mark_all_are_new(store):
    assert new(store) == 0
    add(store, 1, LONG_AGO)
    assert new(store) == 1


def test_those_above_the_mark_are_new(store, raw):
    for number in range(5):
        add(store, number + 1, LONG_AGO + number)
    Inbox(store, ALICE).set_read(LONG_AGO + 2)
    assert raw.hget("user:1", "noticed") == str(LONG_AGO + 2)
    assert new(store) == 2


@pytest.mark.parametrize("kind", Kind)
def test_notices_of_the_second_that_was_read_last_are_read(store, raw, kind):
    raw.zadd("notices:1", {f"{kind}:9:2": LONG_AGO})
    Inbox(store, ALICE).set_read(LONG_AGO)
    assert new(store) == 0


def test_a_mark_that_is_older_than_all_that_is_kept_goes_with_the_oldest(store, raw):
    Inbox(store, ALICE).set_read(LONG_AGO)
    raw.zadd("notices:1", {f"like:{number}:3": LONG_AGO + number for number in range(1, KEPT + 1)})
    assert new(store) == KEPT
    add(store, 5000, LONG_AGO + 5000)
    assert new(store) == KEPT + 1


@given(st.sampled_from(Kind), st.integers(1, 2**53 - 1), st.integers(1, 2**53 - 1))
def test_each_notice_is_read_as_it_was_written(kind, what, who):
    notice = Notice(kind, what, who)
    assert parse_notice(notice.member) == notice


@given(st.text(), st.text(), st.text())
def test_no_text_is_an_error(kind, what, who):
    for text in (kind, f"{kind}:{what}", f"{kind}:{what}:{who}", f"like:{what}:{who}", f"like:1:2:{who}"):
        notice = parse_notice(text)
        assert notice is None or notice.member == text


def test_bad_members_are_skipped_and_logged(caplog):
    rows = rows_of(keys.notices(1), [("like:1:2", 5.0), ("like:x:2", 4.0), ("wave:1:2", 3.0), ("up_to_here", 2.0)])
    assert [row.notice.member for row in rows] == ["like:1:2"]
    assert [record.args[1] for record in caplog.records] == ["like:x:2", "wave:1:2"]
