"""A post that answers or quotes another one is written below that one, and keeps both while it waits."""

import re

import pytest

from tests.support.people import PASSWORD
from tests.support.stored_keys import publish
from timeline.posts.repository import Posts


@pytest.fixture
def bobs(raw, store, bob):
    """A post of bob."""
    return publish(raw, store, bob, "To be answered")


def named(page):
    return dict(re.findall(r'<input type="hidden" name="(reply_to|quote)" value="([^"]*)"', page))


@pytest.mark.parametrize("what", ["reply_to", "quote"])
def test_the_composer_stands_below_the_named_post(browser, alice, bobs, what):
    page = browser(alice).get(f"/compose/?{what}={bobs}").content.decode()
    assert page.index("To be answered") < page.index("<textarea")
    assert named(page) == {what: str(bobs)}


def test_the_composer_of_a_reply_says_so(browser, alice, bobs):
    page = browser(alice).get(f"/compose/?reply_to={bobs}").content.decode()
    assert '<label class="unseen" for="reply_body">Your reply</label>' in page
    assert 'id="reply_body"' in page
    assert re.search(r">Reply</button>", page)


@pytest.mark.parametrize("query", ["reply_to=99", "quote=99", "reply_to=x", "quote=", "reply_to=1&quote=99"])
def test_a_post_that_is_not_there_is_not_found(browser, alice, bobs, query):
    assert browser(alice).get(f"/compose/?{query}").status_code == 404


def test_the_text_is_posted_with_what_it_names(browser, alice, bobs, raw):
    form = {"body": "Yes", "token": "t", "reply_to": bobs, "quote": bobs}
    assert browser(alice).post("/post/", form).status_code == 302
    assert raw.hmget("post:2", "body", "reply_to", "quote") == ["Yes", "1", "1"]


@pytest.mark.parametrize(
    ("page", "after"),
    [
        ("/@bob/1/", "/@bob/1/#post-2"),
        ("/@bob/1/?after=7", "/@bob/1/#post-2"),
        ("/timeline/", "/@Alice/2/"),
        ("/compose/?reply_to=1", "/@Alice/2/"),
    ],
)
def test_a_reply_leads_to_the_thread(browser, alice, bobs, page, after):
    form = {"body": "Yes", "token": "t", "reply_to": bobs}
    answer = browser(alice).post("/post/", form, headers={"referer": f"http://testserver{page}"})
    assert answer["Location"] == after


def test_errors_come_back_below_the_named_post(browser, alice, bobs):
    answer = browser(alice).post("/post/", {"body": "", "token": "t", "reply_to": bobs})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert page.index("To be answered") < page.index("<textarea")
    assert named(page) == {"reply_to": str(bobs)}


@pytest.mark.parametrize("value", ["99", "x", "<b>", "0"])
def test_a_post_that_cannot_be_answered_is_named_in_an_error(browser, alice, bobs, raw, value):
    answer = browser(alice).post("/post/", {"body": "My text", "token": "t", "reply_to": value})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "The post that you reply to or quote does not exist." in page
    assert "My text</textarea>" in page
    assert raw.zcard("updates:1") == 0


def test_a_deleted_post_cannot_be_answered_and_the_text_is_kept(browser, alice, bob, bobs, store):
    Posts(store).delete(bob.user.uid, bobs)
    answer = browser(alice).post("/post/", {"body": "My text", "token": "t", "reply_to": bobs})
    assert answer.status_code == 422
    assert "My text</textarea>" in answer.content.decode()


def test_a_reply_waits_for_its_author_with_the_post_that_it_answers(browser, alice, bobs, raw):
    client = browser()
    answer = client.post("/post/", {"body": "Yes", "token": "t", "reply_to": bobs, "as": "1"})
    assert answer["Location"] == "/login/?next=%2Fcompose%2F%3Freply_to%3D1"
    form = {"username": "alice", "password": PASSWORD, "next": "/compose/?reply_to=1"}
    page = client.post("/login/", form, follow=True).content.decode()
    assert "Yes</textarea>" in page
    assert named(page) == {"reply_to": "1"}
    assert "Yes</textarea>" not in client.get("/").content.decode()  # there it would be no reply


def test_a_reply_of_another_user_keeps_the_post_that_it_answers(browser, alice, bob, bobs):
    page = browser(bob).post("/post/", {"body": "Yes", "token": "t", "reply_to": bobs, "as": "1"}).content.decode()
    assert 'name="reply_to" value="1"' in page
