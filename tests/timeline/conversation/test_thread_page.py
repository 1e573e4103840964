"""The page of a post: what it answers above it, the answers below it as branches, and the composer."""

import re

import pytest
from hypothesis import given, strategies as st

from accounts.users.entities import State, User
from retwis_site.store.local_cache import Memory
from tests.support.apps import App
from tests.support.http.page_text import CANONICAL, meta_tags, page_of, post_ids, text_of
from tests.support.stored_posts import delete_answered, write_answer, write_posts
from timeline.conversation.repository import A_PAGE, DEEPEST, IN_THREAD, UNSEEN_IN_A_ROW, branches
from timeline.posts.entities import DeletedBy, Links, Post, PostCounts, Unavailable
from timeline.relations.relations import BlockedPeople, Follows, Mutes

DELETED = "This post was deleted by its author."
REMOVED = "The moderators have removed this post."


@pytest.fixture
def shown(browser, alice, bob, carol):
    """The ids on a page, in its order; as a visitor sees it, or a signed-in user."""
    return lambda path, login=None: post_ids(browser(login).get(path))


def write_chain(raw, uid, first, last):
    """Posts that answer one another, from `first` on."""
    write_posts(raw, uid, [first])
    for pid in range(first + 1, last + 1):
        write_answer(raw, uid, pid, parent=pid - 1)


def test_a_post_stands_below_what_it_answers_and_above_its_answers(shown, raw):
    write_posts(raw, 1, [1])
    write_answer(raw, 2, 2, parent=1)
    write_answer(raw, 3, 3, parent=2)
    write_answer(raw, 1, 4, parent=3)
    write_answer(raw, 1, 5, parent=1)
    assert shown("/@Alice/1/") == [1, 5, 2, 3, 4]
    assert shown("/@bob/2/") == [1, 2, 3, 4]
    assert shown("/@Alice/4/") == [1, 2, 3, 4]
    assert shown("/@Alice/5/") == [1, 5]


def test_the_author_stands_beside_the_post_and_can_be_followed_there(shown, browser, raw, store, alice, bob):
    write_posts(raw, 1, [1, 2])
    write_answer(raw, 2, 3, parent=1)

    def beside(path, login=None):
        page = browser(login).get(path).content.decode()
        return re.findall(r'aria-label="Author"(.*?)</aside>', page, re.DOTALL)

    [card] = beside("/@Alice/1/", bob)
    assert re.findall(r"<strong>(\d+)</strong> (\w+)", card) == [("2", "posts"), ("0", "following"), ("0", "followers")]
    assert 'action="/@Alice/follow/"' in card
    Follows(store).follow(2, 1)
    [card] = beside("/@Alice/1/", bob)
    assert 'action="/@Alice/unfollow/"' in card
    assert "<strong>1</strong> follower<" in card
    assert "<form" not in beside("/@Alice/1/", alice)[0] + beside("/@Alice/1/")[0]
    delete_answered(raw, 1)
    assert beside("/@Alice/1/", bob) == []


def test_the_authors_answers_come_first_then_those_of_followed_people_then_the_others(shown, raw, store, bob):
    write_posts(raw, 1, [1])
    for uid, pid in ((2, 2), (3, 3), (1, 4), (2, 5), (3, 6), (1, 7)):
        write_answer(raw, uid, pid, parent=1)
    assert shown("/@Alice/1/") == [1, 4, 7, 2, 3, 5, 6]
    Follows(store).follow(2, 3)
    assert shown("/@Alice/1/", bob) == [1, 4, 7, 3, 6, 2, 5]


def test_the_order_is_the_same_for_someone_who_follows_many(shown, raw, store, bob):
    write_posts(raw, 1, [1])
    for uid, pid in ((2, 2), (3, 3)):
        write_answer(raw, uid, pid, parent=1)
    raw.zadd("following:2", {"3": 1, **{str(100 + number): 5 for number in range(120)}})
    assert shown("/@Alice/1/", bob) == [1, 3, 2]


def test_a_page_shows_twenty_posts_above_and_leads_to_the_first_of_them(shown, browser, raw):
    write_chain(raw, 1, 1, 25)
    assert shown("/@Alice/24/") == [*range(4, 26)]
    page = browser().get("/@Alice/24/").content.decode()
    assert re.search(r'href="/@Alice/4/">Show the posts above<', page)
    assert shown("/@Alice/21/") == [*range(1, 26)]
    assert "Show the posts above" not in browser().get("/@Alice/21/").content.decode()


def test_an_answer_of_an_import_that_names_no_posts_above_shows_the_one_it_answers(shown, raw):
    write_chain(raw, 1, 1, 3)
    raw.hdel("post:3", "above", "root")
    assert shown("/@Alice/3/") == [2, 3]


def test_a_branch_that_forks_often_continues_on_the_page_of_its_last_post(shown, browser, raw):
    write_posts(raw, 1, [1])
    write_answer(raw, 2, 2, parent=1)
    for last in range(2, 12, 2):
        write_answer(raw, 2, last + 1, parent=last)
        write_answer(raw, 3, last + 2, parent=last)
    assert shown("/@Alice/1/") == [1, 2, 3, 4, 5, 6, 7, 8]
    page = browser().get("/@Alice/1/").content.decode()
    assert re.search(r'href="/@carol/8/">Continue this thread<', page)
    assert sorted(shown("/@carol/8/")[-4:]) == [9, 10, 11, 12]


def test_a_long_thread_continues_behind_a_link(shown, browser, raw):
    write_posts(raw, 1, [1])
    answers = range(2, 2 * A_PAGE + 52)
    for pid in answers:
        write_answer(raw, 2 + pid % 2, pid, parent=1)
    path, seen, pages = "/@Alice/1/", [], 0
    while path:
        answer = browser().get(path)
        top, *rest = post_ids(answer)
        assert top == 1
        seen += rest
        pages += 1
        more = re.search(r'href="(\?after=\d+)"', answer.content.decode())
        path = more and f"/@Alice/1/{more[1]}"
    assert seen == [*answers]
    assert pages == 3


def test_a_later_page_leads_back_to_the_first_answers(browser, alice, raw):
    write_posts(raw, 1, [1])
    write_answer(raw, 1, 2, parent=1)
    page = browser().get("/@Alice/1/?after=2").content.decode()
    assert re.search(r'href="/@Alice/1/">Back to the first replies<', page)
    assert CANONICAL.findall(page) == []
    assert browser().get("/@Alice/1/?after=x").status_code == 400


# ---- deleted and hidden posts


def test_a_deleted_post_keeps_its_place_above_and_below(shown, browser, raw):
    write_chain(raw, 1, 1, 4)
    delete_answered(raw, 2)
    for path in ("/@Alice/1/", "/@Alice/3/", "/@Alice/4/"):
        assert shown(path) == [1, 2, 3, 4]
        answer = browser().get(path)
        assert text_of(answer).count(DELETED) == 1
        assert "post 2" not in answer.content.decode()


def test_the_page_of_a_deleted_post_with_answers_shows_them_and_says_that_it_is_gone(shown, browser, raw):
    write_chain(raw, 1, 1, 3)
    delete_answered(raw, 2)
    answer = browser().get("/@Alice/2/")
    assert answer.status_code == 410
    assert shown("/@Alice/2/") == [1, 2, 3]
    assert DELETED in text_of(answer)
    assert "og:title" not in meta_tags(answer.content.decode())
    assert CANONICAL.findall(answer.content.decode()) == []


def test_a_post_that_staff_has_deleted_says_so_in_its_place_and_on_its_page(shown, browser, raw):
    write_chain(raw, 1, 1, 3)
    delete_answered(raw, 2)
    raw.hset("post:2", "deleted", "5:staff")
    for path, status in (("/@Alice/1/", 200), ("/@Alice/2/", 410), ("/@Alice/3/", 200)):
        answer = browser().get(path)
        assert answer.status_code == status
        assert text_of(answer).count(REMOVED) == 1
        assert DELETED not in text_of(answer)


@pytest.mark.parametrize(("deleted", "text"), [("5", DELETED), ("5:staff", REMOVED)])
def test_the_page_of_a_deleted_post_without_answers_is_gone_and_says_by_whom(browser, alice, raw, deleted, text):
    write_chain(raw, 1, 1, 2)
    raw.hset("post:2", mapping={"deleted": deleted, "body": ""})
    answer = browser().get("/@Alice/2/")
    assert text in text_of(answer)
    assert 'id="post-1"' not in page_of(answer, 410)


def test_a_deleted_answer_without_answers_is_not_shown(shown, raw):
    write_chain(raw, 1, 1, 2)
    delete_answered(raw, 2)
    assert shown("/@Alice/1/") == [1]


def test_an_answer_of_a_deleted_account_keeps_its_place(shown, browser, raw):
    write_posts(raw, 1, [1])
    write_answer(raw, 2, 2, parent=1)
    write_answer(raw, 3, 3, parent=2)
    raw.hset("user:2", "deleted", 1)
    Memory.clear_all()
    assert shown("/@carol/3/") == [1, 2, 3]
    assert "post 2" not in browser().get("/@carol/3/").content.decode()


def test_an_id_above_that_leads_to_no_post_has_a_place(shown, raw):
    write_chain(raw, 1, 1, 3)
    raw.delete("post:1")
    assert shown("/@Alice/3/") == [1, 2, 3]


def test_bad_values_of_a_thread_are_skipped(shown, raw):
    write_chain(raw, 1, 1, 3)
    raw.zadd("replies_to:1", {"x": 1})
    raw.zadd("thread:1", {"-5": 2, "99": 99})
    raw.hset("post:3", "above", "2 y 1 0")
    assert shown("/@Alice/1/") == [1, 2, 3]
    assert shown("/@Alice/3/") == [1, 2, 3]


def test_a_post_that_claims_to_answer_itself_is_shown_once(shown, raw):
    write_posts(raw, 1, [1])
    raw.hset("post:1", mapping={"reply_to": 1, "root": 1, "above": "1"})
    raw.zadd("replies_to:1", {"1": 1})
    assert shown("/@Alice/1/") == [1]


# ---- round trips


@pytest.mark.parametrize("size", [10, 1000])
def test_a_long_thread_takes_as_many_round_trips_as_a_short_one(
    browser, alice, bob, carol, raw, clock, round_trips, size
):
    """`size` answers to the first post, and as many to the first answer, by three people in turn."""
    write_posts(raw, 1, [1])
    pipe = raw.pipeline(transaction=False)
    pids = range(2, 2 * size)
    for pid in pids:
        parent, links = (1, "1") if pid < size else (2, "2 1")
        fields = {"reply_to": parent, "root": 1, "reply_to_user": 1, "above": links}
        pipe.hset(f"post:{pid}", mapping={"user_id": pid % 3 + 1, "time": pid, "body": f"post {pid}", **fields})
        pipe.zadd(f"updates:{pid % 3 + 1}", {pid: pid})
        pipe.zadd(f"replies_to:{parent}", {pid: pid})
        pipe.zadd("thread:1", {pid: pid})
    pipe.execute()
    client = browser(bob)

    def trips(path):
        return len(round_trips(lambda: client.get(path)).round_trips)

    client.get("/@Alice/")  # who bob is, and who has the names
    client.get("/@carol/")
    for path, cold, warm, at_once in (("/@Alice/1/", 3, 2, 2), ("/@carol/2/", 4, 3, 3)):
        clock.sleep(6)  # the posts are read again
        assert trips(path) <= cold
        clock.sleep(6)
        assert trips(path) == warm
        assert trips(path) <= at_once


# ---- The answers to a post as branches: what stands below what, in which order, and where a branch is cut.


TOP = 1


def post(pid, answers, replies=0):
    return Post(pid, User(7, "alice"), f"post {pid}", 0, Links(reply_to=answers, root=TOP), PostCounts(replies=replies))


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


def test_an_answer_that_no_number_counts_does_not_stand_for_one_that_is_not_here():
    """Staff hides its author. It is seen by those who follow them, and by nobody else."""
    unseen = tombstone(3, 2)._replace(deleted_by=None, is_counted=False)
    seen = post(3, 2)._replace(author=User(8, "bob", state=State.HIDDEN))
    assert shapes(post(2, 1, replies=1), unseen) == [[2, ...]]
    assert shapes(post(2, 1, replies=1), seen) == [[2, [3], ...]]
    assert shapes(post(2, 1, replies=1), seen._replace(counts=PostCounts(replies=1)), post(4, 3)) == [[2, 3, 4]]


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


# ---- The composer on the page of a post: one answers there, and returns to one's answer.


REPLY = re.compile(r'<section id="reply".*?</section>', re.DOTALL)
FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


@pytest.fixture
def thread(alice, bob, raw):
    write_posts(raw, 1, [1])
    raw.set("next_post_id", 1)


def fields_of(answer):
    """The hidden fields of the composer for an answer."""
    [section] = REPLY.findall(answer.content.decode())
    return dict(FIELD.findall(section))


def answer_with(client, body, path="/@Alice/1/"):
    data = fields_of(client.get(path)) | {"body": body}
    return client.post("/post/", data, headers={"referer": f"http://testserver{path}"})


def test_an_answer_stands_below_the_post_and_one_returns_to_it(browser, thread, bob, raw):
    client = browser(bob)
    answer = answer_with(client, "Well said")
    assert answer.headers["Location"] == "/@Alice/1/#post-2"
    page = client.get("/@Alice/1/")
    assert post_ids(page) == [1, 2]
    assert "Well said" in text_of(page)
    assert "Posted." in text_of(page)
    assert raw.hget("post:2", "reply_to") == "1"


def test_an_answer_to_an_answer_belongs_to_the_thread_of_the_first_post(browser, thread, alice, bob, raw):
    answer_with(browser(bob), "Well said")
    answer_with(browser(alice), "Thanks", "/@bob/2/")
    assert raw.hget("post:3", "root") == "1"
    assert post_ids(browser().get("/@Alice/1/")) == [1, 2, 3]


def test_a_visitor_is_asked_to_log_in_and_comes_back(browser, thread):
    [section] = REPLY.findall(browser().get("/@Alice/1/").content.decode())
    assert "<textarea" not in section
    assert 'href="/login/?next=/%40Alice/1/">Log in to reply<' in section


def test_a_deleted_post_cannot_be_answered(browser, thread, bob, raw):
    write_answer(raw, 2, 2, parent=1)
    delete_answered(raw, 1)
    assert REPLY.findall(browser(bob).get("/@Alice/1/").content.decode()) == []
    assert REPLY.findall(browser().get("/@Alice/1/").content.decode()) == []


# ---- in a long thread, what stands below and above a post that the viewer does not see can be found


ALICE, BOB, CAROL = 1, 2, 3
LATE = IN_THREAD + 3  # no post of the thread from this id on is among those that the first page reads
HIDES = {
    "it is deleted": lambda store, raw: delete_answered(raw, 2),
    "its author is muted": lambda store, raw: Mutes(store).mute(ALICE, BOB),
    "its author is blocked": lambda store, raw: BlockedPeople(store).block(ALICE, BOB),
}


@pytest.fixture
def long_thread(raw, alice, bob, carol):
    """Post 1 by alice. Post 2, bob's, and post 3, carol's, answer it, and carol goes on and on."""
    write_posts(raw, ALICE, [1])
    write_answer(raw, BOB, 2, parent=1)
    write_answer(raw, CAROL, 3, parent=1)
    for pid in range(4, LATE):
        write_answer(raw, CAROL, pid, parent=3)


@pytest.mark.usefixtures("long_thread")
@pytest.mark.parametrize("why", HIDES)
def test_a_late_answer_to_a_post_that_is_not_seen_is_shown(member, store, raw, alice, why):
    write_answer(raw, CAROL, LATE, parent=2)
    HIDES[why](store, raw)
    assert LATE in post_ids(member.get("/@Alice/1/"))
    below = App(alice).json("GET", "/api/v1/statuses/1/context")["descendants"]
    assert str(LATE) in {status["id"] for status in below}


@pytest.mark.usefixtures("long_thread")
def test_so_is_one_below_several_such_posts(member, raw):
    late = [*range(LATE, LATE + UNSEEN_IN_A_ROW - 1)]
    for parent, pid in zip([2, *late], [*late, LATE + 10], strict=True):
        write_answer(raw, BOB, pid, parent)
    for pid in [2, *late]:
        delete_answered(raw, pid)
    assert LATE + 10 in post_ids(member.get("/@Alice/1/"))


@pytest.mark.usefixtures("long_thread")
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
    write_chain(raw, ALICE, 1, 25)
    delete_answered(raw, 4)
    page = member.get("/@Alice/24/").content.decode()  # it shows twenty posts above, the deleted one among them
    assert re.findall(r'href="(/@Alice/\d+/)">Show the posts above<', page) == ["/@Alice/5/"]
