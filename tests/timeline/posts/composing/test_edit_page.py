"""Authors change the texts of their posts; everyone may read the earlier ones."""

import re

import pytest

from tests.support.people import LONG_AGO
from tests.support.stored_keys import publish
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.posts.writing import editing


@pytest.fixture
def post(raw, store, alice, bob):
    """Post 1, of alice."""
    return publish(raw, store, alice, "The frist text")


def test_the_author_gets_a_form_with_the_text(browser, alice, post):
    page = browser(alice).get("/@alice/1/edit/")
    assert page.status_code == 200
    assert "The frist text</textarea>" in page.content.decode()


def test_the_new_text_stands_and_the_page_of_the_post_follows(browser, alice, post, raw):
    client = browser(alice)
    answer = client.post("/@alice/1/edit/", {"body": "The first text\r\n\r\n\r\nwith more"}, follow=True)
    assert answer.redirect_chain == [("/@Alice/1/", 302)]
    assert "Saved." in answer.content.decode()
    assert raw.hget("post:1", "body") == "The first text\n\nwith more"
    assert "The frist text" in raw.hvals("edits:1")


def test_the_same_text_changes_nothing(browser, alice, post, raw):
    answer = browser(alice).post("/@alice/1/edit/", {"body": "The frist text"}, follow=True)
    assert answer.redirect_chain == [("/@Alice/1/", 302)]
    assert "Saved." not in answer.content.decode()
    assert not raw.exists("edits:1")


@pytest.mark.parametrize(("body", "error"), [("", "Write something first."), ("x" * 281, "1 character too many.")])
def test_a_wrong_text_comes_back_with_its_error(browser, alice, post, raw, body, error):
    answer = browser(alice).post("/@alice/1/edit/", {"body": body})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert f"{body}</textarea>" in page
    assert error in page
    assert raw.hget("post:1", "body") == "The frist text"


def test_a_post_with_too_many_texts_keeps_the_one_it_has(browser, alice, post, raw, monkeypatch):
    monkeypatch.setattr(editing, "MOST_TEXTS", 2)
    client = browser(alice)
    client.post("/@alice/1/edit/", {"body": "second"})
    answer = client.post("/@alice/1/edit/", {"body": "third"})
    assert answer.status_code == 422
    assert "This post was edited too often." in answer.content.decode()
    assert "third</textarea>" in answer.content.decode()
    assert raw.hget("post:1", "body") == "second"


def test_nobody_else_may_edit_and_their_text_is_kept(browser, bob, post, raw):
    client = browser(bob)
    assert client.get("/@alice/1/edit/").status_code == 403
    answer = client.post("/@alice/1/edit/", {"body": "Not mine"})
    assert answer.status_code == 403
    assert "You are logged in as @bob." in answer.content.decode()
    assert "Not mine</textarea>" in answer.content.decode()
    assert raw.hget("post:1", "body") == "The frist text"


def test_a_visitor_logs_in_first(browser, post):
    assert browser().get("/@alice/1/edit/")["Location"] == "/login/?next=%2F%40alice%2F1%2Fedit%2F"


@pytest.mark.parametrize("address", ["/@alice/2/edit/", "/@bob/1/edit/", "/@nobody/1/edit/", "/@alice/2/history/"])
def test_a_post_that_is_not_there_is_not_found(browser, alice, post, address):
    assert browser(alice).get(address).status_code == 404


def test_a_repost_has_no_text_to_edit(browser, alice, post, raw):
    raw.hset("post:2", mapping={"user_id": 1, "time": LONG_AGO, "repost_of": 1})
    raw.zadd("updates:1", {"2": 2})
    assert browser(alice).get("/@alice/2/edit/").status_code == 404


@pytest.mark.parametrize("page", ["edit", "history"])
def test_a_deleted_post_has_neither_page(browser, alice, post, store, page):
    Posts(store).edit(1, 1, "second")
    Posts(store).delete(1, 1)
    answer = browser(alice).get(f"/@alice/1/{page}/")
    assert answer.status_code == 410
    assert "frist" not in answer.content.decode()


def test_everyone_reads_all_texts_the_newest_first(browser, post, store):
    Posts(store).edit(1, 1, "second & @bob")
    Posts(store).edit(1, 1, "third")
    page = browser().get("/@alice/1/history/").content.decode()
    texts = re.findall(r'<p class="body" dir="auto">(.*?)</p>', page)
    assert [re.sub("<.*?>", "", text) for text in texts] == ["third", "second &amp; @bob", "The frist text"]
    assert page.count("Current text") == 1
    assert page.index("Current text") < page.index("third")


def test_a_post_that_was_never_edited_has_one_text(browser, post):
    page = browser().get("/@alice/1/history/").content.decode()
    assert page.count('<p class="body"') == 1


def test_a_reply_that_is_edited_stays_a_reply(browser, bob, post, store, raw):
    Posts(store).publish(bob.user.uid, NewPost("Yes", reply_to=1), "t")
    browser(bob).post("/@bob/2/edit/", {"body": "No"})
    assert raw.hmget("post:2", "body", "reply_to") == ["No", "1"]


def test_the_history_costs_two_round_trips_when_warm(browser, post, store, round_trips):
    Posts(store).edit(1, 1, "second")
    client = browser()
    client.get("/@alice/1/history/")
    assert len(round_trips(lambda: client.get("/@alice/1/history/")).round_trips) <= 2
