"""The posts that quote a post, newest first."""

import re

from tests.support.http.page_text import text_of
from tests.support.stored_posts import delete_answered, write_posts

POST = re.compile(r'id="post-(\d+)"')


def quote(raw, uid, pid, quoted):
    write_posts(raw, uid, [pid])
    raw.hset(f"post:{pid}", "quote", quoted)
    raw.zadd(f"quotes_of:{quoted}", {pid: pid})


def shown(client, path):
    return [int(pid) for pid in POST.findall(client.get(path).content.decode())]


def test_the_page_has_the_posts_that_quote_a_post(browser, alice, bob, raw):
    write_posts(raw, 1, [1, 2])
    quote(raw, 2, 3, quoted=1)
    quote(raw, 1, 4, quoted=1)
    quote(raw, 2, 5, quoted=2)
    assert shown(browser(), "/@Alice/1/quotes/") == [4, 3]
    assert shown(browser(bob), "/@alice/2/quotes/") == [5]


def test_a_deleted_quote_is_left_out(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    quote(raw, 2, 2, quoted=1)
    quote(raw, 2, 3, quoted=1)
    delete_answered(raw, 3)
    assert shown(browser(), "/@Alice/1/quotes/") == [2]


def test_many_quotes_have_pages(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    for pid in range(2, 47):
        quote(raw, 2, pid, quoted=1)
    seen, path = [], "/@Alice/1/quotes/"
    while path:
        seen += shown(browser(), path)
        older = re.search(r'href="(\?before=\d+)"', browser().get(path).content.decode())
        path = older and f"/@Alice/1/quotes/{older[1]}"
    assert seen == [*range(46, 1, -1)]


def test_a_post_without_quotes_says_so(browser, alice, raw):
    write_posts(raw, 1, [1])
    assert "No one has quoted this post yet." in text_of(browser().get("/@Alice/1/quotes/"))


def test_a_post_that_is_not_there_has_no_quotes(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    assert browser().get("/@bob/1/quotes/").status_code == 404
    assert browser().get("/@Alice/2/quotes/").status_code == 404
    delete_answered(raw, 1)
    assert browser().get("/@Alice/1/quotes/").status_code == 410


def test_the_page_takes_as_many_round_trips_for_many_quotes(browser, alice, bob, raw, round_trips):
    write_posts(raw, 1, [1])
    for pid in range(2, 300):
        quote(raw, 2, pid, quoted=1)
    client = browser(bob)
    client.get("/@Alice/1/quotes/")
    assert len(round_trips(lambda: client.get("/@Alice/1/quotes/")).round_trips) <= 2


def test_the_page_of_a_post_leads_to_its_quotes(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    assert "/quotes/" not in browser().get("/@Alice/1/").content.decode()
    raw.hset("post:1", "quotes", 2)
    assert re.search(
        r'href="/@Alice/1/quotes/"><strong>2</strong> quotes<', browser().get("/@Alice/1/").content.decode()
    )
