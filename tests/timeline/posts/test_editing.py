"""The author of a post may change its text. Everyone may read the earlier ones."""

import re

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.store.client import answer
from tests.support.http.page_text import page_of
from tests.support.people import LONG_AGO
from tests.support.protocols.small_site import finish_jobs
from tests.support.stored_keys import publish
from tests.support.stores.seam import away
from timeline.posts import repository
from timeline.posts.entities import DeletedBy, NewPost, NoSuchPost, PostDeleted, PostRemoved, TooManyEdits
from timeline.posts.reading.records import Version, ask_versions
from timeline.posts.repository import MOST_TEXTS, Posts
from timeline.posts.settling import Settling
from timeline.timelines.profile import Pins


@pytest.fixture
def now(monkeypatch):
    """The time, which stands still: a list with one number."""
    seconds = [LONG_AGO + 100]
    monkeypatch.setattr(repository.time, "time", lambda: seconds[0])
    return seconds


@pytest.fixture
def post(store, alice, bob, now, raw):
    """Post 1 by alice; post 2 by bob answers it, and post 3 quotes it."""
    for pid, (uid, new) in enumerate(
        [(1, NewPost("first")), (2, NewPost("well", reply_to=1)), (2, NewPost("look", quote=1))], start=1
    ):
        Posts(store).publish(uid, new, str(pid))
        raw.hset(f"post:{pid}", "time", str(LONG_AGO))


def versions(store, pid):
    return answer(store, ask_versions, pid)


def test_an_edit_replaces_the_text_and_keeps_the_earlier_ones(store, post, now, raw):
    assert Posts(store).edit(1, 1, "second")
    now[0] += 60
    assert Posts(store).edit(1, 1, "third")
    assert raw.hmget("post:1", "body", "edited", "time") == ["third", str(now[0]), str(LONG_AGO)]
    assert raw.hgetall("edits:1") == {str(LONG_AGO): "first", str(now[0] - 60): "second", str(now[0]): "third"}
    assert [text for _, text in versions(store, 1)] == ["first", "second", "third"]
    assert raw.keys("outbox*") == []


def test_two_edits_in_one_second_have_two_seconds(store, post, now, raw):
    Posts(store).edit(1, 1, "second")
    Posts(store).edit(1, 1, "third")
    assert versions(store, 1) == (Version(LONG_AGO, "first"), Version(now[0], "second"), Version(now[0] + 1, "third"))
    assert raw.hget("post:1", "body") == "third"


def test_an_edit_by_a_clock_that_is_behind_is_still_the_newest(store, post, now, raw):
    Posts(store).edit(1, 1, "second")
    now[0] = 5
    Posts(store).edit(1, 1, "third")
    assert raw.hget("post:1", "body") == "third"


def test_only_the_author_edits(store, post, raw):
    for uid, pid in ((2, 1), (1, 99)):
        with pytest.raises(NoSuchPost):
            Posts(store).edit(uid, pid, "mine")
    raw.hset("post:9", mapping={"user_id": "1", "time": "1", "repost_of": "2"})
    with pytest.raises(NoSuchPost):
        Posts(store).edit(1, 9, "a repost has no text")
    assert raw.keys("edits:*") == []


def test_a_post_that_staff_has_removed_meanwhile_says_so(store, post, raw):
    Posts(store).delete(1, 1, DeletedBy.STAFF)
    for act in (lambda: Posts(store).edit(1, 1, "Bye"), lambda: Pins(store).pin(1, 1)):
        with pytest.raises(PostRemoved):
            act()


def test_a_deleted_post_is_not_edited(store, post, raw):
    Posts(store).delete(1, 1)
    with pytest.raises(PostDeleted):
        Posts(store).edit(1, 1, "again")


def test_a_post_has_at_most_a_hundred_texts(store, post, raw):
    for number in range(2, MOST_TEXTS + 1):
        Posts(store).edit(1, 1, f"text {number}")
    with pytest.raises(TooManyEdits):
        Posts(store).edit(1, 1, "one more")
    assert raw.hlen("edits:1") == MOST_TEXTS
    assert not Posts(store).edit(1, 1, f"text {MOST_TEXTS}")


def test_an_edit_leaves_thread_and_numbers_as_they_are(store, post, raw):
    Posts(store).edit(2, 2, "well, well")
    Posts(store).edit(2, 3, "look, look")
    Posts(store).edit(1, 1, "second")
    assert raw.zrange("thread:1", 0, -1) == raw.zrange("replies_to:1", 0, -1) == ["2"]
    assert raw.zrange("quotes_of:1", 0, -1) == ["3"]
    assert raw.hmget("post:1", "replies", "quotes") == ["1", "1"]
    assert raw.hmget("post:2", "body", "reply_to") == ["well, well", "1"]


def test_one_that_is_sent_again_after_a_failure_of_the_store_is_shown_at_once(store, post, now, raw, monkeypatch):
    """The server with the post was away. Until a worker comes, a minute later, the text before would stand."""
    with monkeypatch.context() as patched:
        patched.setattr(Settling, "queue", away)
        with pytest.raises(StoreError):
            Posts(store).edit(1, 1, "second #redis @bob")
    assert raw.hget("post:1", "body") == "first"
    assert Posts(store).edit(1, 1, "second #redis @bob")
    assert raw.hmget("post:1", "body", "mentions") == ["second #redis @bob", "2"]
    assert raw.zrange("tag:redis", 0, -1) == ["1"]
    assert versions(store, 1) == (Version(LONG_AGO, "first"), Version(LONG_AGO + 100, "second #redis @bob"))
    finish_jobs(store, raw)
    assert "mention:1:1" in raw.zrange("notices:2", 0, -1)
    assert not Posts(store).edit(1, 1, "second #redis @bob")


def test_an_edit_takes_six_round_trips(store, post, round_trips):
    assert len(round_trips(lambda: Posts(store).edit(1, 1, "second")).round_trips) == 6
    assert len(round_trips(lambda: Posts(store).edit(1, 1, "second")).round_trips) == 1


def test_bad_values_in_the_texts_are_skipped(store, post, raw):
    raw.hset("edits:1", mapping={"yesterday": "bad", str(LONG_AGO): "first"})
    Posts(store).edit(1, 1, "second")
    assert raw.hget("post:1", "body") == "second"


# ---- Authors change the texts of their posts; everyone may read the earlier ones.


@pytest.fixture
def alices_post(raw, store, alice, bob):
    """Post 1, of alice."""
    return publish(raw, store, alice, "The frist text")


def test_the_author_gets_a_form_with_the_text(browser, alice, alices_post):
    assert "The frist text</textarea>" in page_of(browser(alice).get("/@alice/1/edit/"))


def test_the_new_text_stands_and_the_page_of_the_post_follows(member, alices_post, raw):
    answer = member.post("/@alice/1/edit/", {"body": "The first text\r\n\r\n\r\nwith more"}, follow=True)
    assert answer.redirect_chain == [("/@Alice/1/", 302)]
    assert "Saved." in answer.content.decode()
    assert raw.hget("post:1", "body") == "The first text\n\nwith more"
    assert "The frist text" in raw.hvals("edits:1")


def test_the_same_text_changes_nothing(browser, alice, alices_post, raw):
    answer = browser(alice).post("/@alice/1/edit/", {"body": "The frist text"}, follow=True)
    assert answer.redirect_chain == [("/@Alice/1/", 302)]
    assert "Saved." not in answer.content.decode()
    assert not raw.exists("edits:1")
    assert raw.hget("post:1", "edited") is None


@pytest.mark.parametrize(("body", "error"), [("", "Write something first."), ("x" * 281, "1 character too many.")])
def test_a_wrong_text_comes_back_with_its_error(browser, alice, alices_post, raw, body, error):
    page = page_of(browser(alice).post("/@alice/1/edit/", {"body": body}), 422)
    assert f"{body}</textarea>" in page
    assert error in page
    assert raw.hget("post:1", "body") == "The frist text"


def test_a_post_with_too_many_texts_keeps_the_one_it_has(member, alices_post, raw, monkeypatch):
    monkeypatch.setattr(repository, "MOST_TEXTS", 2)
    member.post("/@alice/1/edit/", {"body": "second"})
    page = page_of(member.post("/@alice/1/edit/", {"body": "third"}), 422)
    assert "This post was edited too often." in page
    assert "third</textarea>" in page
    assert raw.hget("post:1", "body") == "second"


def made_of(page):
    return re.search(r'name="made_of" value="(.*?)"', page)[1]


def test_what_was_saved_meanwhile_is_shown_before_it_is_replaced(member, alices_post, raw):
    """Two windows have the form of one text."""
    form = {"made_of": made_of(page_of(member.get("/@alice/1/edit/")))}
    member.post("/@alice/1/edit/", {**form, "body": "From one window"})
    page = page_of(member.post("/@alice/1/edit/", {**form, "body": "x" * 281}), 422)
    assert made_of(page) == form["made_of"]
    page = page_of(member.post("/@alice/1/edit/", {**form, "body": "From the other"}), 422)
    assert "Saving again replaces what it says now:" in page
    assert "From one window</blockquote>" in page
    assert "From the other</textarea>" in page
    assert raw.hget("post:1", "body") == "From one window"
    member.post("/@alice/1/edit/", {"made_of": made_of(page), "body": "From the other"})
    assert raw.hget("post:1", "body") == "From the other"


def test_a_form_that_is_sent_twice_or_says_nothing_of_its_text_is_saved(member, alices_post, raw):
    form = {"made_of": made_of(page_of(member.get("/@alice/1/edit/"))), "body": "second"}
    for _ in range(2):
        assert member.post("/@alice/1/edit/", form).status_code == 302
    assert member.post("/@alice/1/edit/", {"body": "third"}).status_code == 302
    assert raw.hget("post:1", "body") == "third"


def test_nobody_else_may_edit_and_their_text_is_kept(browser, bob, alices_post, raw):
    client = browser(bob)
    assert client.get("/@alice/1/edit/").status_code == 403
    page = page_of(client.post("/@alice/1/edit/", {"body": "Not mine"}), 403)
    assert "You are logged in as @bob." in page
    assert "Not mine</textarea>" in page
    assert raw.hget("post:1", "body") == "The frist text"


@pytest.mark.parametrize("address", ["/@alice/2/edit/", "/@bob/1/edit/", "/@nobody/1/edit/", "/@alice/2/history/"])
def test_a_post_that_is_not_there_is_not_found(browser, alice, alices_post, address):
    assert browser(alice).get(address).status_code == 404


@pytest.mark.parametrize("page", ["edit", "history"])
def test_a_deleted_post_has_neither_page(browser, alice, alices_post, store, raw, page):
    Posts(store).edit(1, 1, "second")
    Posts(store).delete(1, 1)
    assert raw.keys("edits:*") == []
    assert "frist" not in page_of(browser(alice).get(f"/@alice/1/{page}/"), 410)


def test_everyone_reads_all_texts_the_newest_first(browser, alices_post, store):
    Posts(store).edit(1, 1, "second & @bob")
    Posts(store).edit(1, 1, "third")
    page = browser().get("/@alice/1/history/").content.decode()
    texts = re.findall(r'<p class="body" dir="auto">(.*?)</p>', page)
    assert [re.sub("<.*?>", "", text) for text in texts] == ["third", "second &amp; @bob", "The frist text"]
    assert page.count("Current text") == 1
    assert page.index("Current text") < page.index("third")


def test_a_post_that_was_never_edited_has_one_text(browser, alices_post):
    assert browser().get("/@alice/1/history/").content.decode().count('<p class="body"') == 1
