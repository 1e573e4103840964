"""The answers to a post as branches: what stands below what, in which order, and where a branch is cut."""

from hypothesis import given
from hypothesis import strategies as st

from accounts.users.entities import User
from timeline.conversation.threads import DEEPEST, branches
from timeline.posts.entities import Counts, DeletedBy, Links, Post, Unavailable

TOP = 1


def post(pid, answers, replies=0):
    return Post(pid, User(7, "alice"), f"post {pid}", 0, Links(reply_to=answers, root=TOP), Counts(replies=replies))


def tombstone(pid, answers):
    return Unavailable(pid, Links(reply_to=answers, root=TOP), DeletedBy.AUTHOR)


def oldest_first(answer):
    return 0, answer.pid


def shape(branch):
    """A branch as lists of ids: `[2, 3]` is a chain, `[2, [3], [4]]` forks, and `...` continues elsewhere."""
    return [one.pid for one in branch.posts] + [*map(shape, branch.forks)] + [...] * branch.has_more


def shapes(*answers, rank=oldest_first):
    return [shape(branch) for branch in branches(TOP, answers, rank)]


def test_a_chain_of_answers_is_one_branch_without_forks():
    assert shapes(post(2, 1), post(3, 2), post(4, 3)) == [[2, 3, 4]]


def test_a_branch_forks_only_where_a_post_has_several_answers():
    assert shapes(post(2, 1), post(3, 2), post(4, 2), post(5, 4)) == [[2, [3], [4, 5]]]


def test_several_answers_to_the_post_itself_are_several_branches():
    assert shapes(post(3, 1), post(2, 1), post(4, 2)) == [[2, 4], [3]]


def test_each_level_is_in_the_order_of_the_rank():
    assert shapes(post(2, 1), post(3, 1), post(4, 3), post(5, 3), rank=lambda one: (-one.pid, 0)) == [
        [3, [5], [4]],
        [2],
    ]


def test_the_third_indent_is_the_last_one():
    answers = [post(2, 1)]
    for last in range(2, 12, 2):  # each level forks
        answers += [post(last + 1, last), post(last + 2, last)]
    assert shapes(*answers) == [[2, [3], [4, [5], [6, [7], [8, ...]]]]]


def test_a_post_with_answers_that_are_not_here_leads_to_its_page():
    assert shapes(post(2, 1, replies=1)) == [[2, ...]]
    assert shapes(post(2, 1, replies=2), post(3, 2)) == [[2, [3], ...]]
    assert shapes(post(2, 1, replies=1), post(3, 2)) == [[2, 3]]


def test_a_deleted_post_stays_while_posts_below_it_are_shown():
    assert shapes(tombstone(2, 1), post(3, 2)) == [[2, 3]]
    assert shapes(tombstone(2, 1), tombstone(3, 2), tombstone(4, 1)) == []


def test_a_hidden_answer_does_not_lead_to_a_page_with_more_answers():
    assert shapes(post(2, 1, replies=1), tombstone(3, 2)) == [[2]]


def test_posts_of_other_branches_are_left_out():
    assert shapes(post(2, 1), post(4, 3), post(5, 4), post(6, None)) == [[2]]


def test_posts_that_answer_each_other_in_a_circle_do_no_harm():
    assert shapes(post(2, 3), post(3, 2), post(4, 4), post(5, 1)) == [[5]]
    assert shapes(post(1, 2), post(2, 1)) == [[2]]


@st.composite
def threads(draw):
    """Answers of any parents, in any order: some are deleted, some lead nowhere or in circles."""
    size = draw(st.integers(0, 40))
    pids = [*range(2, size + 2)]
    answers = []
    for pid in pids:
        parent = draw(st.one_of(st.none(), st.integers(1, size + 3)))
        answers.append(post(pid, parent, draw(st.integers(0, 3))) if draw(st.booleans()) else tombstone(pid, parent))
    return draw(st.permutations(answers))


def depth(branch):
    return 1 + max(map(depth, branch.forks), default=0)


@given(threads())
def test_any_thread_shows_each_post_once_below_the_post_that_it_answers(answers):
    found = branches(TOP, answers, oldest_first)
    by_pid = {answer.pid: answer for answer in answers}
    pids = [pid for branch in found for pid in branch.pids()]
    assert len(pids) == len(set(pids))
    assert max(map(depth, found), default=0) <= DEEPEST + 1

    def check(branch, parent):
        for answer in branch.posts:
            assert answer is by_pid[answer.pid]
            assert answer.links.reply_to == parent
            parent = answer.pid
        assert [fork.posts[0].pid for fork in branch.forks] == sorted(fork.posts[0].pid for fork in branch.forks)
        assert len(branch.forks) != 1 or branch.has_more
        assert branch.forks or branch.has_more or isinstance(branch.posts[-1], Post)
        for fork in branch.forks:
            check(fork, parent)

    for branch in found:
        check(branch, TOP)


@given(threads())
def test_any_visible_post_below_the_top_is_shown_or_behind_a_link(answers):
    found = branches(TOP, answers, oldest_first)
    below = {}
    for answer in answers:
        below.setdefault(answer.links.reply_to, []).append(answer.pid)
    reached, level = set(), [TOP]
    while level:
        level = [pid for parent in level for pid in below.get(parent, ()) if pid not in reached]
        reached |= set(level)
    visible = {answer.pid for answer in answers if isinstance(answer, Post)} & reached
    shown = {pid for branch in found for pid in branch.pids()}

    def ends(branch):
        return (
            {branch.posts[-1].pid}.union(*map(ends, branch.forks))
            if branch.has_more
            else set().union(*map(ends, branch.forks))
        )

    cut = set().union(*map(ends, found)) if found else set()
    behind, level = set(), list(cut)
    while level:
        level = [pid for parent in level for pid in below.get(parent, ()) if pid not in behind]
        behind |= set(level)
    assert visible <= shown | behind
