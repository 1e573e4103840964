"""In a long thread, what stands below and above a post that the viewer does not see can be found: no link leads on from
that post itself."""

import re

import pytest

from tests.support.apps import App
from tests.support.http.page_text import post_ids
from tests.support.stored_posts import delete_answered, write_answer, write_posts
from timeline.conversation.repository import DEEPEST, IN_THREAD, UNSEEN_IN_A_ROW
from timeline.relations.relations import BlockedPeople, Mutes

ALICE, BOB, CAROL = 1, 2, 3
LATE = IN_THREAD + 3  # no post of the thread from this id on is among those that the first page reads
HIDES = {
    "it is deleted": lambda store, raw: delete_answered(raw, 2),
    "its author is muted": lambda store, raw: Mutes(store).mute(ALICE, BOB),
    "its author is blocked": lambda store, raw: BlockedPeople(store).block(ALICE, BOB),
}


@pytest.fixture
def thread(raw, alice, bob, carol):
    """Post 1 by alice. Post 2, bob's, and post 3, carol's, answer it, and carol goes on and on."""
    write_posts(raw, ALICE, [1])
    write_answer(raw, BOB, 2, parent=1)
    write_answer(raw, CAROL, 3, parent=1)
    for pid in range(4, LATE):
        write_answer(raw, CAROL, pid, parent=3)


@pytest.mark.usefixtures("thread")
@pytest.mark.parametrize("why", HIDES)
def test_a_late_answer_to_a_post_that_is_not_seen_is_shown(member, store, raw, alice, why):
    write_answer(raw, CAROL, LATE, parent=2)
    HIDES[why](store, raw)
    assert LATE in post_ids(member.get("/@Alice/1/"))
    below = App(alice).json("GET", "/api/v1/statuses/1/context")["descendants"]
    assert str(LATE) in {status["id"] for status in below}


@pytest.mark.usefixtures("thread")
def test_so_is_one_below_several_such_posts(member, raw):
    late = [*range(LATE, LATE + UNSEEN_IN_A_ROW - 1)]
    for parent, pid in zip([2, *late], [*late, LATE + 10], strict=True):
        write_answer(raw, BOB, pid, parent)
    for pid in [2, *late]:
        delete_answered(raw, pid)
    assert LATE + 10 in post_ids(member.get("/@Alice/1/"))


@pytest.mark.usefixtures("thread")
def test_a_later_page_reads_them_too(member, raw):
    raw.zrem("replies_to:1", "2", "3")  # as if they stood on the page before
    write_answer(raw, BOB, LATE, parent=1)
    for pid in range(LATE + 1, LATE + IN_THREAD + 1):
        write_answer(raw, CAROL, pid, parent=3)
    write_answer(raw, CAROL, LATE + IN_THREAD + 1, parent=LATE)
    delete_answered(raw, LATE)
    assert post_ids(member.get(f"/@Alice/1/?after={LATE - 1}"))[1:] == [LATE, LATE + IN_THREAD + 1]


def test_a_deep_branch_that_begins_with_a_deleted_post_leads_on_from_the_post_above(member, raw, alice, bob):
    write_posts(raw, ALICE, [1])
    write_answer(raw, BOB, 2, parent=1)
    for last in range(2, 2 + 2 * DEEPEST, 2):
        write_answer(raw, ALICE, last + 1, parent=last)
        write_answer(raw, BOB, last + 2, parent=last)
    deepest = 2 + 2 * DEEPEST
    for pid in (deepest + 1, deepest + 2):
        write_answer(raw, BOB, pid, parent=deepest)
    delete_answered(raw, deepest)
    answer = member.get("/@Alice/1/")
    [at] = re.findall(r'href="(/@bob/\d+/)">Continue this thread<', answer.content.decode())
    assert at == f"/@bob/{deepest - 2}/"
    assert {deepest + 1, deepest + 2} <= {*post_ids(member.get(at))} - {*post_ids(answer)}


def test_below_a_deleted_post_the_highest_one_that_is_seen_leads_to_the_posts_above(member, raw, alice):
    write_posts(raw, ALICE, [1])
    for pid in range(2, 26):
        write_answer(raw, ALICE, pid, parent=pid - 1)
    delete_answered(raw, 4)
    page = member.get("/@Alice/24/").content.decode()  # it shows twenty posts above, the deleted one among them
    assert re.findall(r'href="(/@Alice/\d+/)">Show the posts above<', page) == ["/@Alice/5/"]
