"""A published post tells the people whom it concerns; its deletion, and that of an account, takes that back."""

from accounts.users.deletion import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.people import LONG_AGO
from tests.support.removed_accounts import delete_and_remove, doctor_findings
from tests.support.stored_keys import publish
from timeline.notices import MARK, Inbox
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Likes


def test_an_answer_that_mentions_gives_one_notice_each(store, raw, alice, bob, carol):
    pid = publish(raw, store, bob, "Hello")
    answer = Posts(store).publish(1, NewPost("Hi @bob and @carol", reply_to=pid), "t").pid
    assert raw.zrange("notices:2", 0, -1) == [f"reply:{answer}:1"]
    assert raw.zrange("notices:3", 0, -1) == [f"mention:{answer}:1"]
    Posts(store).delete(1, answer)
    assert raw.keys("notices:*") == []


def test_an_edit_tells_new_people_and_takes_back_what_it_no_longer_says(store, raw, alice, bob, carol):
    pid = publish(raw, store, alice, "Hi @bob")
    Posts(store).edit(1, pid, "Hi @carol")
    assert raw.keys("notices:*") == ["notices:3"]
    assert raw.zrange("notices:3", 0, -1) == [f"mention:{pid}:1"]
    Posts(store).edit(1, pid, "Hi")
    assert raw.keys("notices:*") == []


def test_the_author_of_an_answer_keeps_the_notice_though_the_name_goes(store, raw, alice, bob):
    pid = publish(raw, store, bob, "Hello")
    answer = Posts(store).publish(1, NewPost("Hi @bob", reply_to=pid), "t").pid
    Posts(store).edit(1, answer, "Hi")
    assert raw.zrange("notices:2", 0, -1) == [f"reply:{answer}:1"]


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


# ---- An account is deleted with its notices, and with what it has caused at others.


ALICE, BOB, CAROL = 1, 2, 3


def notices(raw, uid=BOB):
    return raw.zrange(f"notices:{uid}", 0, -1)


def test_what_a_deleted_account_has_caused_goes_with_it(store, raw, pid, alice):
    Likes(store).like(ALICE, pid, BOB)
    Likes(store).like(CAROL, pid, BOB)
    Follows(store).follow(ALICE, BOB)
    delete_and_remove(store, alice)
    assert notices(raw) == [f"like:{pid}:3"]


def test_the_notices_of_a_deleted_account_are_removed(store, raw, pid, bob):
    Follows(store).follow(ALICE, BOB)
    Inbox(store, BOB).set_read(LONG_AGO)
    delete_and_remove(store, bob)
    assert raw.keys("notices:*") == []


def test_what_is_left_of_a_deleted_account_is_found(store, raw, bob, capsys):
    delete_and_remove(store, bob)
    raw.zadd("notices:1", {MARK: LONG_AGO})
    errors, _ = doctor_findings(capsys)
    assert errors["deleted accounts with data left"] == 1
    doctor_findings(capsys, "--fix")
    assert raw.keys("notices:*") == []
