"""Deleting posts: the keys, the pages afterwards, and the delete button. Staff deletes anybody's."""

import re
import time

import pytest
from django.core.management import call_command

from accounts.community.log import Log
from tests.support.command_output import refuses, said
from tests.support.stored_keys import publish
from tests.support.stores.key_layouts import noted
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


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
    assert "text: Buy now!\n" in said(capsys, "post", "1")
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
    assert len(Log(store).page().acts) == 1
    assert noted(site) == []
