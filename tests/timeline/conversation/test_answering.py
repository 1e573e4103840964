"""The composer on the page of a post: one answers there, and returns to one's answer."""

import re

import pytest

from tests.support.http.page_text import text_of
from tests.support.stored_posts import delete_answered, write_answer, write_posts
from timeline.posts.repository import Posts

POST = re.compile(r'id="post-(\d+)"')
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
    assert POST.findall(page.content.decode()) == ["1", "2"]
    assert "Well said" in text_of(page)
    assert "Posted." in text_of(page)
    assert raw.hget("post:2", "reply_to") == "1"


def test_an_answer_to_an_answer_belongs_to_the_thread_of_the_first_post(browser, thread, alice, bob, raw):
    answer_with(browser(bob), "Well said")
    answer_with(browser(alice), "Thanks", "/@bob/2/")
    assert raw.hget("post:3", "root") == "1"
    assert POST.findall(browser().get("/@Alice/1/").content.decode()) == ["1", "2", "3"]


def test_a_visitor_is_asked_to_log_in_and_comes_back(browser, thread):
    [section] = REPLY.findall(browser().get("/@Alice/1/").content.decode())
    assert "<textarea" not in section
    assert 'href="/login/?next=/%40Alice/1/">Log in to reply<' in section


def test_a_deleted_post_cannot_be_answered(browser, thread, bob, raw):
    write_answer(raw, 2, 2, parent=1)
    delete_answered(raw, 1)
    assert REPLY.findall(browser(bob).get("/@Alice/1/").content.decode()) == []
    assert REPLY.findall(browser().get("/@Alice/1/").content.decode()) == []


def test_an_answer_to_a_post_that_was_deleted_meanwhile_is_kept(browser, thread, store, bob):
    client = browser(bob)
    data = fields_of(client.get("/@Alice/1/")) | {"body": "Too late"}
    Posts(store).delete(1, 1)
    answer = client.post("/post/", data)
    assert answer.status_code == 422
    assert "Too late" in text_of(answer)
