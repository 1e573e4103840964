"""The two tabs of a profile: posts to everyone, and these with the answers to others."""

import re

import pytest

from tests.support.http.page_text import CANONICAL
from tests.support.stored_posts import write_answer, write_posts

POST = re.compile(r'id="post-(\d+)"')


@pytest.fixture
def shown(browser, alice, bob):
    return lambda path: [int(pid) for pid in POST.findall(browser().get(path).content.decode())]


def test_posts_are_those_to_everyone_and_a_thread_of_ones_own(shown, raw):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2])
    write_answer(raw, 1, 3, parent=1)
    write_answer(raw, 1, 4, parent=2)
    assert shown("/@Alice/") == [4, 2]
    assert shown("/@Alice/replies/") == [4, 3, 2]


def test_the_tab_that_is_open_is_marked(browser, alice, raw):
    for path, name in (("/@Alice/", "Posts"), ("/@Alice/replies/", "Posts and replies")):
        page = browser().get(path).content.decode()
        assert re.search(rf'<a href="{path}" aria-current="page">{name}</a>', page)
        assert CANONICAL.findall(page) == [f"http://testserver{path}"]


@pytest.mark.parametrize("path", ["/@Alice/", "/@Alice/replies/"])
def test_each_tab_has_pages_down_to_the_first_post(shown, browser, raw, path):
    write_posts(raw, 2, [1])
    for pid in range(2, 302):
        write_posts(raw, 1, [pid]) if pid % 7 == 0 else write_answer(raw, 1, pid, parent=1)
    seen, asked = [], path
    while asked:
        seen += shown(asked)
        older = re.search(r'href="(\?before=\d+)"', browser().get(asked).content.decode())
        asked = older and path + older[1]
    assert seen == [pid for pid in range(301, 1, -1) if "replies" in path or pid % 7 == 0]


def test_a_profile_full_of_answers_to_others_costs_one_round_trip_more(browser, alice, bob, raw, round_trips):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, range(2, 42))
    client = browser(bob)

    def cost():
        client.get("/@Alice/")
        return len(round_trips(lambda: client.get("/@Alice/")).round_trips)

    before = cost()
    for pid in range(42, 142):
        write_answer(raw, 1, pid, parent=1)
    assert cost() <= before + 1


def test_the_feed_of_a_profile_has_the_posts_to_everyone(browser, alice, bob, raw):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2])
    write_answer(raw, 1, 3, parent=1)
    feed = browser().get("/@Alice/atom/").content.decode()
    assert "/@Alice/2/" in feed
    assert "/@Alice/3/" not in feed


def test_an_unknown_user_has_no_tabs(browser):
    assert browser().get("/@nobody/replies/").status_code == 404
