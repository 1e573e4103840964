"""The composer stands on each page of posts and on a page of its own. A post leads back to where its author was."""

import re

import pytest

from tests.support.stored_posts import write_posts, write_tag

COMPOSER = re.compile(r'<form class="panel composer"')


@pytest.mark.parametrize(
    "address",
    ["/", "/timeline/", "/@alice/", "/@bob/", "/@bob/?before=5", "/compose/", "/tags/", "/likes/", "/bookmarks/"],
)
def test_members_have_a_composer_and_visitors_have_none(browser, alice, bob, address):
    assert len(COMPOSER.findall(browser(alice).get(address).content.decode())) == 1
    assert not COMPOSER.search(browser().get(address).content.decode())


@pytest.mark.parametrize("address", ["/tags/redis/", "/@alice/1/quotes/"])
def test_the_pages_of_a_tag_and_of_quotes_have_a_composer_too(browser, raw, alice, address):
    write_posts(raw, 1, [1])
    write_tag(raw, "redis", [1])
    assert len(COMPOSER.findall(browser(alice).get(address).content.decode())) == 1
    assert not COMPOSER.search(browser().get(address).content.decode())


def test_the_composer_beside_quotes_quotes_the_post_and_says_so(browser, raw, alice):
    write_posts(raw, 1, [1])
    page = browser(alice).get("/@alice/1/quotes/").content.decode()
    assert '<input type="hidden" name="quote" value="1">' in page
    assert ">Your quote</label>" in page


def test_a_visitor_logs_in_to_compose(browser):
    assert browser().get("/compose/")["Location"] == "/login/?next=%2Fcompose%2F"


@pytest.mark.parametrize(
    ("page", "after"),
    [
        ("/", "/"),
        ("/timeline/", "/timeline/"),
        ("/timeline/?before=7", "/timeline/?before=7"),
        ("/@bob/", "/@bob/"),
        ("/compose/", "/"),
        ("/post/", "/"),
    ],
)
def test_a_post_leads_back_to_the_page_of_its_form(browser, alice, bob, raw, page, after):
    client = browser(alice)
    referer = {"referer": f"http://testserver{page}"}
    answer = client.post("/post/", {"body": "Hello", "token": "t"}, headers=referer)
    assert (answer.status_code, answer["Location"]) == (302, after)
    assert "Posted." in client.get("/timeline/").content.decode()
    assert raw.hget("post:1", "body") == "Hello"


def test_a_form_with_errors_comes_back_on_the_page_of_the_composer(browser, alice):
    answer = browser(alice).post("/post/", {"body": "x" * 281, "token": "t"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "<h1>Write a post</h1>" in page
    assert f"{'x' * 281}</textarea>" in page
    assert "1 character too many." in page
