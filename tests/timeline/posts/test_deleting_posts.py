"""Deleting posts: the keys, the pages afterwards, and the delete button."""

import re
import time

from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


def test_the_page_of_a_deleted_post_answers_410_for_thirty_days(browser, alice, raw):
    client = browser(alice)
    client.post("/post/", {"body": "oops", "token": "t"})
    response = client.post("/@alice/1/delete/", follow=True)
    assert "Deleted." in response.content.decode()
    assert "oops" not in response.content.decode()
    post = raw.hgetall("post:1")
    assert post["body"] == ""
    assert abs(int(post["deleted"]) - time.time()) < 10
    assert post["user_id"] == "1"
    assert 29 * 86400 < raw.ttl("post:1") <= 30 * 86400
    assert not raw.exists("updates:1")
    assert raw.zcard("outbox") == 0
    assert client.get("/@alice/1/").status_code == 410
    assert browser().get("/@alice/1/").status_code == 410


def test_the_commands_go_out_in_the_order_of_the_protocol(store, alice, sent):
    Posts(store).publish(1, NewPost("oops"), "t")
    sent.round_trips.clear()
    Posts(store).delete(1, 1)
    look = [("HMGET", "post:1"), ("ZCARD", "replies_to:1"), ("HGETALL", "edits:1")]
    steps = [[(c[0], c[1]) for c in round_trip.commands] for round_trip in sent.round_trips]
    assert steps[3][:1] + steps[3][-3:] == [("ZREM", "updates:1"), *look]
    assert {name for name, _ in steps[3][1:-3]} == {"ZCARD"}  # edges to the post
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


def test_a_deleted_post_disappears_from_every_timeline(browser, alice, bob):
    writer, reader = browser(alice), browser(bob)
    reader.post("/@alice/follow/")
    writer.post("/post/", {"body": "oops", "token": "t"})
    for page in ("/", "/timeline/", "/@alice/"):
        assert b"oops" in reader.get(page).content
    writer.post("/@alice/1/delete/")
    for page in ("/", "/timeline/", "/@alice/"):
        assert b"oops" not in reader.get(page).content


def test_dead_ids_that_leave_a_page_short_are_removed_from_the_list(browser, store, alice, raw):
    client = browser(alice)
    client.get("/")
    posts = Posts(store)
    for number in range(30):
        posts.publish(1, NewPost(f"post {number}"), f"t{number}")
    for pid in range(25, 31):
        posts.delete(1, pid)
    client.get("/")
    client.get("/timeline/")
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


def test_deleting_twice_answers_410_and_a_missing_post_404(browser, alice):
    client = browser(alice)
    client.post("/post/", {"body": "oops", "token": "t"})
    client.post("/@alice/1/delete/")
    assert client.post("/@alice/1/delete/").status_code == 410
    assert client.post("/@alice/99/delete/").status_code == 404


def test_after_deleting_the_viewer_returns_to_the_page_with_the_button(browser, alice):
    client = browser(alice)
    for number in range(2):
        client.post("/post/", {"body": "oops", "token": f"t{number}"})
    profile = client.post("/@alice/1/delete/", headers={"referer": "http://testserver/@Alice/?before=9"})
    assert profile["Location"] == "/@Alice/?before=9"
    permalink = client.post("/@alice/2/delete/", headers={"referer": "http://testserver/@alice/2/"})
    assert permalink["Location"] == "/"


def test_the_delete_button_opens_with_a_first_click_and_names_its_post(browser, store, alice, raw):
    Posts(store).publish(1, NewPost('A "quoted" text that is longer than forty characters <b>'), "t")
    page = browser(alice).get("/@alice/").content.decode()
    [details] = re.findall(r'<details class="delete">.*?</details>', page, re.DOTALL)
    named = 'aria-label="Delete this post: A &quot;quoted&quot; text that is longer than for…"'
    assert f'<summary id="delete-1" {named}>Delete</summary>' in details
    button = '<button class="danger" form="act" formaction="/@Alice/1/delete/" aria-describedby="delete-1">'
    assert f"{button}Yes, delete this post" in details
    assert " open" not in details
    assert "Delete" not in browser().get("/@alice/").content.decode()
