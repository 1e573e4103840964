"""Notices of follows, likes and published posts, and how many are new."""

import pytest
from hypothesis import given, strategies as st

from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from retwis_site.store.client import answer
from tests.support.command_output import doctor_findings
from tests.support.people import LONG_AGO
from tests.support.removed_accounts import delete_and_remove
from tests.support.runs.python_calls import python_calls
from tests.support.stored_keys import everything, publish
from timeline.notices import KEPT, MARK, Inbox, Notice, NoticeKind, ask_new, parse_notice, queue_add, rows_of
from timeline.notifications.repository import Only, below, grouped
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Likes

# ---- Notices of follows and likes: written with the mirror, removed by the undo, and none where they are not
# welcome.


ALICE, BOB, CAROL = 1, 2, 3


def notices(raw, uid=BOB):
    return raw.zrange(f"notices:{uid}", 0, -1)


def test_a_like_gives_the_author_a_notice_with_its_date(store, raw, pid):
    Likes(store).like(ALICE, pid, BOB)
    assert raw.zrange("notices:2", 0, -1, withscores=True) == [(f"like:{pid}:1", raw.zscore("likes:1", pid))]
    assert raw.keys("notices:*") == ["notices:2"]


def test_a_follow_gives_the_followed_a_notice(store, raw, alice, bob):
    Follows(store).follow(ALICE, BOB)
    assert raw.zrange("notices:2", 0, -1, withscores=True) == [("follow:2:1", raw.zscore("following:1", BOB))]


def test_an_undo_removes_the_notice(store, raw, pid):
    before = everything(raw)
    Likes(store).like(ALICE, pid, BOB)
    Likes(store).unlike(ALICE, pid, BOB)
    Follows(store).follow(ALICE, BOB)
    Follows(store).unfollow(ALICE, BOB)
    assert everything(raw) == before


def test_a_second_like_keeps_the_notice_as_it_is(store, raw, pid):
    Likes(store).like(ALICE, pid, BOB)
    raw.zadd("notices:2", {f"like:{pid}:1": LONG_AGO})
    Likes(store).like(ALICE, pid, BOB)
    assert raw.zscore("notices:2", f"like:{pid}:1") == LONG_AGO


def test_a_like_of_ones_own_post_gives_no_notice(store, raw, pid):
    Likes(store).like(BOB, pid, BOB)
    assert raw.keys("notices:*") == []


@pytest.mark.parametrize(
    ("key", "member", "score"),
    [("blocked:2", "1", LONG_AGO), ("blocked:1", "2", LONG_AGO), ("muted:2", "1", "+inf"), ("muted:2", "1", 2**40)],
)
def test_blocked_and_muted_people_cause_no_notice(store, raw, pid, key, member, score):
    raw.zadd(key, {member: score})
    Likes(store).like(ALICE, pid, BOB)
    assert notices(raw) == []
    assert raw.zscore("likes:1", pid) is not None


@pytest.mark.parametrize(("key", "member", "score"), [("muted:2", "1", LONG_AGO), ("muted:1", "2", "+inf")])
def test_a_mute_that_has_ended_and_one_by_the_other_change_nothing(store, raw, pid, key, member, score):
    """Otherwise the muted would learn of it."""
    raw.zadd(key, {member: score})
    Likes(store).like(ALICE, pid, BOB)
    assert notices(raw) == [f"like:{pid}:1"]


@pytest.mark.parametrize("is_reply", [False, True])
def test_a_muted_thread_gives_no_notice(store, raw, pid, is_reply):
    if is_reply:
        raw.hset(f"post:{pid}", "root", "77")
    raw.zadd("muted_threads:2", {"77" if is_reply else pid: LONG_AGO})
    Likes(store).like(ALICE, pid, BOB)
    assert notices(raw) == []


def test_the_newest_thousand_are_kept(store, raw, pid):
    raw.zadd("notices:2", {f"like:{number}:3": number for number in range(1, KEPT + 50)})
    Likes(store).like(ALICE, pid, BOB)
    assert KEPT <= raw.zcard("notices:2") <= KEPT + 1
    assert notices(raw)[-1] == f"like:{pid}:1"
    assert raw.zscore("notices:2", "like:1:3") is None


def test_a_notice_costs_no_round_trip(store, raw, pid, round_trips):
    raw.zadd("notices:2", {f"like:{number}:3": number for number in range(1, KEPT)})
    assert len(round_trips(lambda: Likes(store).like(ALICE, pid, BOB)).round_trips) == 7


def test_the_mark_of_the_reader_is_no_notice_and_stays(store, raw, pid):
    Inbox(store, BOB).set_read(LONG_AGO)
    Likes(store).like(ALICE, pid, BOB)
    assert notices(raw) == [MARK, f"like:{pid}:1"]
    Likes(store).unlike(ALICE, pid, BOB)
    assert notices(raw) == [MARK]


# ---- How many notices are new: one round trip counts them, whatever was read before.


def new(store):
    return answer(store, ask_new, ALICE)


def add(store, pid, when):
    pipe = store.pipeline()
    queue_add(pipe, ALICE, Notice(NoticeKind.LIKE, pid, 2), when)
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


@pytest.mark.parametrize("kind", NoticeKind)
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


@given(st.sampled_from(NoticeKind), st.integers(1, 2**53 - 1), st.integers(1, 2**53 - 1))
def test_each_notice_is_read_as_it_was_written(kind, what, who):
    notice = Notice(kind, what, who)
    assert parse_notice(notice.member) == notice


@given(st.text(), st.text(), st.text())
def test_no_text_is_an_error(kind, what, who):
    for text in (kind, f"{kind}:{what}", f"{kind}:{what}:{who}", f"like:{what}:{who}", f"like:1:2:{who}"):
        notice = parse_notice(text)
        assert notice is None or notice.member == text


@pytest.mark.parametrize("number", [2**53 - 1, 9 * 10**15, 9 * 10**15 - 1, 10**15, 1])
def test_each_id_is_read_from_a_row(number, caplog):
    members = [f"{kind}:{number}:{number}" for kind in NoticeKind]
    rows = rows_of(keys.notices(1), [(member, number) for member in members])
    assert [(row.notice.member, row.when) for row in rows] == [(member, number) for member in members]
    assert not caplog.records


@pytest.mark.parametrize(
    "text", ["like:1:2\nlike:1:2", "like:01:2", "like:1:9007199254740992", "like:1:2:3", "like:1:2\n"]
)
def test_what_is_no_notice_is_no_row(text):
    assert rows_of(keys.notices(1), [(text, 5.0)]) == []


def test_a_row_takes_one_step_until_it_is_shown():
    """Each of a thousand was once read on every page and in every answer to an app, which show forty at most."""
    scored = [(f"like:{number}:2", float(number)) for number in range(KEPT, 0, -1)]
    assert (
        python_calls(lambda: below(grouped(rows_of(keys.notices(1), scored)), None, Only.MENTIONS)).total() < KEPT + 20
    )


def test_bad_members_are_skipped_and_logged(caplog):
    rows = rows_of(keys.notices(1), [("like:1:2", 5.0), ("like:x:2", 4.0), ("wave:1:2", 3.0), ("up_to_here", 2.0)])
    assert [row.notice.member for row in rows] == ["like:1:2"]
    assert [record.args[1] for record in caplog.records] == ["like:x:2", "wave:1:2"]


# ---- A published post tells the people whom it concerns; its deletion, and that of an account, takes that back.


def test_an_answer_that_mentions_gives_one_notice_each(store, raw, alice, bob, carol):
    pid = publish(raw, store, bob, "Hello")
    answer = Posts(store).publish(1, NewPost("Hi @bob and @carol", reply_to=pid), "t").pid
    assert raw.zrange("notices:2", 0, -1) == [f"reply:{answer}:1"]
    assert raw.zrange("notices:3", 0, -1) == [f"mention:{answer}:1"]
    Posts(store).delete(1, answer)
    assert raw.keys("notices:*") == []


def test_the_author_of_an_answer_keeps_the_notice_though_the_name_goes(store, raw, alice, bob):
    pid = publish(raw, store, bob, "Hello")
    answer = Posts(store).publish(1, NewPost("Hi @bob", reply_to=pid), "t").pid
    Posts(store).edit(1, answer, "Hi")
    assert raw.zrange("notices:2", 0, -1) == [f"reply:{answer}:1"]


@pytest.mark.parametrize("turned_off", ["the kinds", "the thread"])
def test_what_was_told_before_it_was_turned_off_stays_until_its_cause_goes(store, raw, alice, bob, turned_off):
    pid = publish(raw, store, bob, "Hello")
    answer = Posts(store).publish(1, NewPost("Hi", reply_to=pid), "t").pid
    Likes(store).like(ALICE, pid, BOB)
    told = notices(raw)
    if turned_off == "the kinds":
        raw.hset("user:2", "quiet", "like reply")
    else:
        raw.zadd("muted_threads:2", {pid: LONG_AGO})
    Likes(store).like(ALICE, pid, BOB)
    assert notices(raw) == told
    assert {*told} == {f"like:{pid}:1", f"reply:{answer}:1"}  # within one second they stand by their names
    Likes(store).unlike(ALICE, pid, BOB)
    Posts(store).delete(1, answer)
    assert notices(raw) == []


def test_a_post_that_a_worker_delivers_gives_its_notice_with_the_date_of_the_post(store, raw, alice, bob):
    pid = publish(raw, store, alice, "Hi @bob")
    raw.delete("notices:2")
    raw.hset(f"post:{pid}", "time", LONG_AGO)
    raw.zadd("outbox", {f"post:{pid}:x": 1})
    drain(store, "worker")
    assert raw.zrange("notices:2", 0, -1, withscores=True) == [(f"mention:{pid}:1", LONG_AGO)]


def test_a_deleted_account_leaves_no_notices_of_its_posts(store, raw, alice, bob, carol):
    pid = publish(raw, store, bob, "Hello")
    Posts(store).publish(1, NewPost("Hi @carol", quote=pid), "t")
    AccountDeletion(store).delete(alice.user, alice.secret)
    drain(store, "worker")
    assert raw.keys("notices:*") == []


def test_what_is_left_of_a_deleted_account_is_found(store, raw, bob, capsys):
    delete_and_remove(store, bob)
    raw.zadd("notices:1", {MARK: LONG_AGO})
    errors, _ = doctor_findings(capsys)
    assert errors["deleted accounts with data left"] == 1
    doctor_findings(capsys, "--fix")
    assert raw.keys("notices:*") == []
