"""The page of a tag: its posts, newest first, at the folded address."""

import re
from urllib.parse import quote

import pytest

from tests.support.http.page_text import post_ids
from tests.support.stored_posts import write_posts, write_tag


def test_the_newest_posts_with_the_tag_are_shown(browser, raw, alice, bob):
    write_posts(raw, 1, [1, 2, 3])
    write_posts(raw, 2, [4])
    write_tag(raw, "Redis", [1, 3, 4])
    for client in (browser(), browser(alice)):
        answer = client.get("/tags/redis/")
        assert answer.status_code == 200
        assert post_ids(answer) == [4, 3, 1]
        assert "<h1><bdi>#Redis</bdi></h1>" in answer.content.decode()


@pytest.mark.parametrize("spelling", ["REDIS", "Redis", "ｒｅｄｉｓ"])
def test_each_spelling_leads_to_the_folded_address(browser, raw, alice, spelling):
    write_tag(raw, "Redis", [])
    answer = browser().get(f"/tags/{quote(spelling)}/?before=7")
    assert answer.status_code == 301
    assert answer["Location"] == "/tags/redis/?before=7"


def test_tags_of_other_scripts_have_addresses(browser, raw, alice):
    write_posts(raw, 1, [1])
    write_tag(raw, "日本語", [1])
    answer = browser().get(f"/tags/{quote('日本語')}/")
    assert post_ids(answer) == [1]
    assert f'<link rel="canonical" href="http://testserver/tags/{quote("日本語")}/">' in answer.content.decode()


@pytest.mark.parametrize("name", ["never", "1", "a b", "a+b", "%23a", "a" * 101, "%00", "..", "_"])
def test_a_tag_that_was_never_used_is_not_found(browser, raw, alice, name):
    write_tag(raw, "used", [])
    answer = browser().get(f"/tags/{name}/")
    assert answer.status_code == 404
    assert "<h1>" in answer.content.decode()


def test_a_tag_whose_posts_are_gone_has_an_empty_page(browser, raw, alice):
    write_tag(raw, "Used", [])
    answer = browser().get("/tags/used/")
    assert answer.status_code == 200
    assert "No posts have this tag now." in answer.content.decode()


def test_older_posts_stand_on_the_next_page(browser, raw, alice):
    write_posts(raw, 1, range(1, 51))
    write_tag(raw, "many", range(1, 51))
    client, address, seen = browser(), "/tags/many/", []
    while address:
        answer = client.get(address)
        seen.append(post_ids(answer))
        older = re.search(r'href="(\?before=\d+)" rel="next"', answer.content.decode())
        address = f"/tags/many/{older[1]}" if older else None
    assert seen == [list(range(50, 30, -1)), list(range(30, 10, -1)), list(range(10, 0, -1))]


def test_deleted_posts_make_room_for_older_ones(browser, raw, alice):
    write_posts(raw, 1, range(1, 41))
    write_tag(raw, "many", range(1, 41))
    for pid in range(31, 41):
        raw.hset(f"post:{pid}", "deleted", 1)
    assert post_ids(browser().get("/tags/many/")) == list(range(30, 10, -1))


@pytest.mark.parametrize("value", ["0", "x", "-1", ""])
def test_a_bad_cursor_is_refused(browser, raw, alice, value):
    write_tag(raw, "used", [])
    assert browser().get(f"/tags/used/?before={value}").status_code == 400


def test_bad_values_in_the_store_are_skipped(browser, raw, alice):
    write_posts(raw, 1, [1])
    write_tag(raw, "used", [1])
    raw.zadd("tag:used", {"x": 5, "007": 7})
    assert post_ids(browser().get("/tags/used/")) == [1]


def test_a_hostile_spelling_is_escaped(browser, raw, alice):
    raw.hset("tags", "used", "<script>")
    page = browser(alice).get("/tags/used/").content.decode()
    assert "<script>" not in page.replace("<script src=", "")
    assert "#&lt;script&gt;" in page
