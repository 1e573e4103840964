"""One post of a user may stand first on their profile."""

import re

import pytest

from tests.support.http.page_text import text_of
from tests.support.maintenance.site_files import empty, export, import_, make_full_site
from tests.support.stored_posts import delete_answered, write_answer, write_posts
from timeline.posts.repository import Posts

POST = re.compile(r'id="post-(\d+)"')


@pytest.fixture
def shown(browser, alice, bob):
    return lambda path="/@Alice/": [int(pid) for pid in POST.findall(browser().get(path).content.decode())]


def test_a_pinned_post_stands_first_and_only_there(shown, browser, alice, raw):
    write_posts(raw, 1, range(1, 4))
    answer = browser(alice).post("/@Alice/2/pin/", follow=True)
    assert "Pinned to your profile." in text_of(answer)
    assert raw.hget("user:1", "pinned") == "2"
    assert shown() == [2, 3, 1]
    assert shown("/@Alice/replies/") == [3, 2, 1]
    assert "Pinned" in text_of(browser().get("/@Alice/"))


def test_a_pinned_post_of_a_later_page_stands_there_too(shown, raw):
    write_posts(raw, 1, range(1, 31))
    raw.hset("user:1", "pinned", 5)
    assert shown() == [5, *range(30, 10, -1)]
    assert shown("/@Alice/?before=11") == [*range(10, 0, -1)]


def test_another_pin_replaces_the_first(shown, browser, alice, raw):
    write_posts(raw, 1, range(1, 4))
    for pid in (1, 2):
        browser(alice).post(f"/@Alice/{pid}/pin/")
    assert shown() == [2, 3, 1]


def test_a_post_can_be_unpinned(shown, browser, alice, raw):
    write_posts(raw, 1, range(1, 4))
    client = browser(alice)
    client.post("/@Alice/2/pin/")
    client.post("/@Alice/1/unpin/")  # on an old page
    assert shown() == [2, 3, 1]
    client.post("/@Alice/2/unpin/")
    assert shown() == [3, 2, 1]
    assert raw.hget("user:1", "pinned") is None


def test_the_profile_offers_its_owner_to_unpin(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    raw.hset("user:1", "pinned", 1)
    button = 'form="act" formaction="/@Alice/1/unpin/"'
    html = browser(alice).get("/@Alice/").content.decode()
    assert button in html
    assert "/@Alice/1/pin/" not in html
    assert button not in browser(alice).get("/@Alice/1/").content.decode()  # the menu there knows nothing of pins
    assert button not in browser(bob).get("/@Alice/").content.decode()
    assert button not in browser().get("/@Alice/").content.decode()


def test_an_answer_to_someone_can_be_pinned(shown, raw):
    write_posts(raw, 2, [1])
    write_answer(raw, 1, 2, parent=1)
    raw.hset("user:1", "pinned", 2)
    assert shown() == [2]


def test_a_deleted_post_is_not_pinned_any_more(shown, browser, alice, store, raw):
    write_posts(raw, 1, range(1, 4))
    raw.hset("user:1", "pinned", 2)
    Posts(store).delete(1, 2)
    assert shown() == [3, 1]
    assert browser(alice).post("/@Alice/2/pin/").status_code == 410
    delete_answered(raw, 3)


@pytest.mark.parametrize("pinned", ["9", "x", "0"])
def test_an_id_that_leads_to_no_own_post_is_skipped(shown, raw, pinned):
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [9])
    raw.hset("user:1", "pinned", pinned)
    assert shown() == [1]


def test_only_own_posts_can_be_pinned(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [2])
    client = browser(bob)
    assert client.post("/@Alice/1/pin/").status_code == 403
    assert client.post("/@Alice/1/unpin/").status_code == 403
    assert client.post("/@bob/1/pin/").status_code == 404
    assert client.get("/@bob/2/pin/").status_code == 405
    assert "/login/" in browser().post("/@bob/2/pin/").headers["Location"]
    assert raw.hget("user:2", "pinned") is None


def test_a_repost_cannot_be_pinned(browser, alice, raw):
    raw.hset("post:1", mapping={"user_id": 1, "time": 1, "repost_of": 7})
    raw.zadd("updates:1", {"1": 1})
    assert browser(alice).post("/@Alice/1/pin/").status_code == 404


def test_the_feed_has_a_pinned_post_in_its_place(browser, alice, raw):
    write_posts(raw, 1, range(1, 4))
    raw.hset("user:1", "pinned", 1)
    feed = browser().get("/@Alice/atom/").content.decode()
    assert re.findall(r"<id>http://testserver/@Alice/(\d)/</id>", feed) == ["3", "2", "1"]


def test_an_import_of_the_whole_site_brings_pinned_posts_back(raw, store, tmp_path):
    make_full_site(raw, store)
    export(tmp_path / "site.jsonl")
    empty(raw)
    import_(tmp_path / "site.jsonl")
    assert raw.hget("user:1", "pinned") == "1"
    assert raw.hget("user:2", "pinned") is None
