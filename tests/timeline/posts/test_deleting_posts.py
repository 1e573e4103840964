"""Deleting posts: the keys, the pages afterwards, and the delete button. Staff deletes anybody's. A deleted post keeps
its place in the thread while it has replies."""

import re
import time
from contextlib import suppress
from unittest import mock

import pytest
from django.core.management import call_command

from accounts.community.log import Log
from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.command_output import refuses, said
from tests.support.stored_keys import make_due, noted, publish
from tests.support.stores.seam import Killed, before_round_trip
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.posts.settling import Settling
from timeline.relations.relations import Likes


def test_the_page_of_a_deleted_post_answers_410_for_thirty_days(browser, member, raw):
    member.post("/post/", {"body": "oops", "token": "t"})
    response = member.post("/@alice/1/delete/", follow=True)
    assert "Deleted." in response.content.decode()
    assert "oops" not in response.content.decode()
    post = raw.hgetall("post:1")
    assert post["body"] == ""
    assert abs(int(post["deleted"]) - time.time()) < 10
    assert post["user_id"] == "1"
    assert 29 * 86400 < raw.ttl("post:1") <= 30 * 86400
    assert not raw.exists("updates:1")
    assert raw.zcard("outbox") == 0
    assert member.get("/@alice/1/").status_code == 410
    assert browser().get("/@alice/1/").status_code == 410


def test_the_commands_go_out_in_the_order_of_the_protocol(store, alice, sent):
    Posts(store).publish(1, NewPost("oops"), "t")
    sent.round_trips.clear()
    Posts(store).delete(1, 1)
    replies = [("ZCARD", "replies_to:1"), ("ZCARD", "unseen:replies_to:1")]
    look = [("HMGET", "user:1"), ("HMGET", "post:1"), *replies, ("HGETALL", "edits:1")]
    steps = [[(c[0], c[1]) for c in round_trip.commands] for round_trip in sent.round_trips]
    assert steps[3][:1] + steps[3][-5:] == [("ZREM", "updates:1"), *look]
    assert {name for name, _ in steps[3][1:-5]} == {"ZCARD"}  # edges to the post
    assert steps[:3] + steps[4:] == [
        [("HMGET", "post:1")],
        [("ZADD", "outbox")],
        [("HSET", "post:1")],
        [("HDEL", "post:1"), ("HDEL", "post:1"), ("EXPIRE", "post:1")],
        look,
        [("HSET", "post:1")],
        [("ZREM", "outbox")],
    ]
    assert sent.round_trips[2].commands[0][2::2] == ("deleted",)
    assert sent.round_trips[6].commands[0][2:] == ("body", "")  # the text is the last to go


def test_the_round_trips_of_a_deletion_are_those_of_its_docstring(store, alice, bob, raw, round_trips):
    first = {body: publish(raw, store, alice, body) for body in ("liked", "reposted", "answered", "alone")}
    Likes(store).like(2, first["liked"], 1)
    Reposts(store).repost(2, first["reposted"], 1)
    reply = Posts(store).publish(2, NewPost("yes", reply_to=first["answered"]), "t").pid
    written = [(2, reply), *((1, first[body]) for body in ("alone", "liked", "reposted"))]
    trips = [len(round_trips(lambda one=one: Posts(store).delete(*one)).round_trips) for one in written]
    assert trips == [8 + 2 + 1, 8, 8 + 12, 8 + 14]
    said = " ".join(Posts.delete.__doc__.split())
    assert (
        "two more each for a reply and for a quote, one more with notices, twelve more with likes, fourteen with"
        in said
    )


def test_dead_ids_that_leave_a_page_short_are_removed_from_the_list(store, member, raw):
    member.get("/")
    posts = Posts(store)
    for number in range(30):
        posts.publish(1, NewPost(f"post {number}"), f"t{number}")
    for pid in range(25, 31):
        posts.delete(1, pid)
    member.get("/")
    member.get("/timeline/")
    for key in ("posts:1", "timeline"):
        assert not {str(pid) for pid in range(25, 31)} & set(raw.lrange(key, 0, -1))


def test_only_the_author_deletes(browser, alice, bob, raw):
    browser(alice).post("/post/", {"body": "mine", "token": "t"})
    assert browser(bob).post("/@alice/1/delete/").status_code == 403
    assert browser(bob).post("/@bob/1/delete/").status_code == 404
    response = browser().post("/@alice/1/delete/")
    assert response.status_code == 302
    assert response["Location"].startswith("/login/")
    assert raw.hget("post:1", "body") == "mine"


def test_deleting_twice_answers_410_and_a_missing_post_404(member):
    member.post("/post/", {"body": "oops", "token": "t"})
    member.post("/@alice/1/delete/")
    assert member.post("/@alice/1/delete/").status_code == 410
    assert member.post("/@alice/99/delete/").status_code == 404


def test_after_deleting_the_viewer_returns_to_the_page_with_the_button(member):
    for number in range(2):
        member.post("/post/", {"body": "oops", "token": f"t{number}"})
    profile = member.post("/@alice/1/delete/", headers={"referer": "http://testserver/@Alice/?before=9"})
    assert profile["Location"] == "/@Alice/?before=9"
    permalink = member.post("/@alice/2/delete/", headers={"referer": "http://testserver/@alice/2/"})
    assert permalink["Location"] == "/"


def test_the_delete_button_opens_with_a_first_click_and_names_its_post(browser, store, alice, raw):
    Posts(store).publish(1, NewPost('A "quoted" text that is longer than forty characters <b>'), "t")
    page = browser(alice).get("/@alice/1/more/").content.decode()
    [details] = re.findall(r'<details class="delete">.*?</details>', page, re.DOTALL)
    named = 'aria-label="Delete this post: A &quot;quoted&quot; text that is longer than for…"'
    assert f'<summary id="delete-1" {named}>Delete</summary>' in details
    button = '<button class="danger" formaction="/@Alice/1/delete/" aria-describedby="delete-1">'
    assert f"{button}Yes, delete this post" in details
    assert " open" not in details
    assert "Delete" not in browser().get("/@alice/1/more/").content.decode()


# ---- `post ID --delete`: staff deletes anybody's post, and the log has it also after a crash.


ALICE, BOB = 1, 2


@pytest.fixture
def site(store, raw, alice, bob):
    publish(raw, store, bob, "Buy now!")
    return raw


def test_a_post_is_printed_and_deleted_and_the_log_says_why(site, store, capsys):
    printed = said(capsys, "post", "1")
    assert "author: bob (user 2)\n" in printed  # the commands about a user take the name
    assert "text: Buy now!\n" in printed
    site.hset("post:1", "body", "Buy\x1b[2J\x9b2J\r\nnow!")  # what clears a terminal
    assert "text: Buy\ufffd[2J\ufffd2J\ufffd\nnow!\n" in said(capsys, "post", "1")
    assert said(capsys, "post", "1", "--delete", "--reason", "spam") == "Post 1 is deleted.\n"
    assert site.hget("post:1", "deleted") is not None
    [act] = Log(store).about(BOB)
    assert (act.what, act.post, act.whom, act.by, act.reason) == ("post:deleted", 1, BOB, 0, "spam")
    assert noted(site) == []


@pytest.mark.parametrize(("pid", "complaint"), [("x", "is no id"), ("99", "There is no post 99")])
def test_what_is_no_post_is_not_deleted(site, pid, complaint):
    refuses(complaint, "post", pid, "--delete")
    refuses(complaint, "post", pid)


def test_a_deleted_post_is_not_deleted_again(site, store):
    call_command("post", "1", "--delete", verbosity=0)
    refuses("deleted already", "post", "1", "--delete")
    assert len(Log(store).page()[0]) == 1
    assert noted(site) == []


# ---- tombstones


@pytest.fixture
def thread(store, alice, bob):
    """1 by alice; 2 by bob answers 1; 3 by alice answers 2; 4 by bob answers 3."""
    for pid, uid in enumerate((1, 2, 1, 2), start=1):
        Posts(store).publish(uid, NewPost(f"post {pid}", reply_to=pid - 1 or None), str(pid))


def test_a_deleted_post_with_replies_is_a_tombstone(store, thread, raw):
    Posts(store).delete(2, 2)
    assert raw.zrange("thread:1", 0, -1) == ["2", "3", "4"]
    assert raw.zrange("replies_to:1", 0, -1) == ["2"]
    assert raw.ttl("post:2") == -1
    assert raw.hmget("post:2", "body", "reply_to", "root", "above", "replies") == ["", "1", "1", "1", None]
    assert raw.hget("post:1", "replies") == "1"


def test_tombstones_go_with_the_last_reply_below_them(store, thread, raw):
    Posts(store).delete(2, 2)
    Posts(store).delete(1, 3)
    assert raw.zrange("thread:1", 0, -1) == ["2", "3", "4"]
    Posts(store).delete(2, 4)
    assert raw.keys("thread:*") == raw.keys("replies_to:*") == raw.keys("outbox*") == []
    assert all(raw.ttl(f"post:{pid}") > 0 for pid in (2, 3, 4))
    assert raw.hget("post:1", "replies") is None


def test_a_deleted_first_post_stays_while_its_thread_does(store, thread, raw):
    Posts(store).delete(1, 1)
    assert raw.ttl("post:1") == -1
    for uid, pid in ((2, 4), (1, 3), (2, 2)):
        assert raw.ttl("post:1") == -1
        Posts(store).delete(uid, pid)
    assert raw.ttl("post:1") > 0


def test_a_deleted_quote_leaves_the_quotes_though_it_has_replies(store, alice, bob, raw):
    Posts(store).publish(1, NewPost("said"), "1")
    Posts(store).publish(2, NewPost("look", quote=1), "2")
    Posts(store).publish(1, NewPost("well", reply_to=2), "3")
    Posts(store).delete(2, 2)
    assert not raw.exists("quotes_of:1")
    assert raw.hget("post:1", "quotes") is None
    assert raw.ttl("post:2") == -1


def test_a_long_row_of_tombstones_goes_at_once(store, alice, raw):
    for pid in range(1, 31):
        Posts(store).publish(1, NewPost(f"post {pid}", reply_to=pid - 1 or None), str(pid))
    for pid in range(1, 31):
        Posts(store).delete(1, pid)
    assert raw.keys("thread:*") == raw.keys("replies_to:*") == raw.keys("outbox*") == []
    assert all(raw.ttl(f"post:{pid}") > 0 for pid in range(1, 31))


def test_a_post_deleted_before_it_was_listed_leaves_its_tags(store, alice, raw):
    """The deletion has removed the text that leads there; who lists the post knows it still."""
    with before_round_trip(6, lambda: Posts(store).delete(1, 1)):
        Posts(store).publish(1, NewPost("I like #tea"), "1")
    assert raw.hget("post:1", "deleted")
    assert raw.keys("tag:*") == raw.keys("updates:*") == raw.keys("outbox*") == []


def test_a_number_of_replies_is_right_though_the_removal_of_an_account_was_killed(store, alice, bob, raw):
    """Its reply has left `updates:` meanwhile: only the job of the reply leads to the number."""
    Posts(store).publish(1, NewPost("said"), "1")
    Posts(store).publish(2, NewPost("well", reply_to=1), "2")
    AccountDeletion(store).delete(bob.user, bob.secret)

    def killed(store, count, numbers):
        raw.zrem("updates:2", "2")
        raise Killed

    with mock.patch("timeline.posts.settling.write_counts", killed), suppress(Killed):
        drain(store, "worker")
    assert raw.hget("post:1", "replies") == "1"
    make_due(raw)
    drain(store, "another worker")
    assert raw.hget("post:1", "replies") is None
    assert raw.keys("outbox*") == []


def test_what_follows_from_a_hash_that_has_expired_makes_no_hash(store, alice, raw):
    raw.hset("post:1", mapping={"body": "too #late", "edited": "5"})
    raw.hset("edits:1", "5", "too #late")
    raw.zadd("tag:late", {"1": 1})
    Settling(store).settle([1])
    assert raw.keys("post:1") == raw.keys("edits:*") == raw.keys("tag:*") == []


@pytest.mark.parametrize("kind", ["settle", "stone"])
def test_a_job_is_finished_also_under_the_name_that_an_earlier_version_gave_it(store, thread, raw, kind):
    raw.hset("post:3", "replies", "7")
    raw.zrem("replies_to:3", 4)
    raw.zadd("outbox", {f"{kind}:4:x": 1})
    drain(store, "worker")
    assert raw.zrange("replies_to:3", 0, -1) == ["4"]
    assert raw.keys("outbox*") == []
