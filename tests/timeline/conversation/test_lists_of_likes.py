"""The viewer's likes and bookmarks, the people who like a post or have reposted it, and the posts that quote it."""

import re

import pytest

from tests.support.http.page_text import names, post_ids, text_of, with_older
from tests.support.people import LONG_AGO
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_posts
from timeline.people.lists import PEOPLE_A_PAGE
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Likes

ALICE, BOB, CAROL = 1, 2, 3
OWN = {"/likes/": "likes:1", "/bookmarks/": "bookmarks:1"}

each_list = pytest.mark.parametrize(("page", "key"), OWN.items())


def shown_posts(response):
    page = response.content.decode()
    return [pid for pid in range(1, 60) if f'href="/@bob/{pid}/"' in page]


@each_list
def test_a_list_has_the_latest_first_and_is_only_its_owners(browser, store, raw, alice, bob, pid, page, key):
    other = publish(raw, store, bob, "Another")
    raw.zadd(key, {pid: LONG_AGO + 5, other: LONG_AGO})
    shown = text_of(browser(alice).get(page))
    assert shown.index("Hello") < shown.index("Another")
    assert "Hello" not in text_of(browser(bob).get(page))


@each_list
def test_a_list_without_posts_says_so(browser, alice, pid, page, key):
    assert "yet." in text_of(browser(alice).get(page))


@each_list
def test_pages_have_each_post_once_also_with_the_same_second(browser, raw, alice, pid, page, key):
    write_posts(raw, BOB, range(2, 46))
    raw.zadd(key, dict.fromkeys(range(2, 46), LONG_AGO))
    client, address, found = browser(alice), page, []
    while address:
        response = client.get(address)
        found += shown_posts(response)
        content = response.content.decode()
        before = content.partition("?before=")[2].partition('"')[0]
        address = f"{page}?before={before}" if "?before=" in content else None
    assert sorted(found) == list(range(2, 46))


@each_list
def test_the_round_trips_are_fixed(raw, member, pid, page, key, round_trips):
    write_posts(raw, BOB, range(2, 46))
    raw.zadd(key, dict.fromkeys(range(2, 46), LONG_AGO))
    member.get(page)
    assert len(round_trips(lambda: member.get(page)).round_trips) <= 2
    assert len(round_trips(lambda: member.get(f"{page}?before={LONG_AGO}-30")).round_trips) <= 4
    assert member.get(f"{page}?before=x").status_code == 400


def test_the_people_who_like_a_post_or_repost_it_are_listed(browser, store, pid):
    for page, said in (("likes", "liked"), ("reposts", "reposted")):
        assert f"No one has {said} this post yet." in text_of(browser().get(f"/@bob/{pid}/{page}/"))
    for uid in (ALICE, CAROL):
        Likes(store).like(uid, pid, BOB)
    Reposts(store).repost(CAROL, pid, BOB)
    assert sorted(names(browser().get(f"/@bob/{pid}/likes/"))) == ["Alice", "carol"]
    assert names(browser().get(f"/@bob/{pid}/reposts/")) == ["carol"]


def test_more_people_than_a_page_are_on_the_next_one(browser, raw, pid, round_trips):
    for uid in range(10, 40):
        raw.hset(f"user:{uid}", "username", f"person{uid}")
    raw.zadd(f"liked_by:{pid}", dict.fromkeys(range(10, 40), LONG_AGO))
    client, address = browser(), f"/@bob/{pid}/likes/"
    client.get(address)
    first = client.get(address).content.decode()
    cursor = first.partition("?before=")[2].partition('"')[0]
    second = client.get(f"{address}?before={cursor}").content.decode()
    both = [[uid for uid in range(10, 40) if f'href="/@person{uid}/"' in page] for page in (first, second)]
    assert [*map(len, both)] == [PEOPLE_A_PAGE, 30 - PEOPLE_A_PAGE]
    assert sorted(both[0] + both[1]) == list(range(10, 40))
    assert 'class="newest"' not in first
    for last in (second, client.get(f"{address}?before=1-1").content.decode()):  # the second has no one any more
        assert "That is everyone." in last
        assert "No one has liked" not in last
        assert f'<p class="newest"><a href="{address}">' in last
    assert len(round_trips(lambda: client.get(address)).round_trips) == 2


@pytest.mark.parametrize("which", ["likes", "reposts", "quotes"])
def test_a_post_that_is_not_there_has_no_lists(browser, store, alice, pid, which):
    assert browser().get(f"/@bob/99/{which}/").status_code == 404
    assert browser().get(f"/@alice/{pid}/{which}/").status_code == 404
    Posts(store).delete(BOB, pid)
    assert browser().get(f"/@bob/{pid}/{which}/").status_code == 410


# ---- The posts that quote a post, newest first.


def quote(raw, uid, pid, quoted):
    write_posts(raw, uid, [pid])
    raw.hset(f"post:{pid}", "quote", quoted)
    raw.zadd(f"quotes_of:{quoted}", {pid: pid})


def test_the_page_has_the_posts_that_quote_a_post(browser, alice, bob, raw):
    write_posts(raw, 1, [1, 2])
    quote(raw, 2, 3, quoted=1)
    quote(raw, 1, 4, quoted=1)
    quote(raw, 2, 5, quoted=2)
    assert post_ids(browser().get("/@Alice/1/quotes/")) == [4, 3]
    assert post_ids(browser(bob).get("/@alice/2/quotes/")) == [5]


def test_many_quotes_have_pages(browser, alice, bob, raw):
    write_posts(raw, 1, [1])
    for pid in range(2, 47):
        quote(raw, 2, pid, quoted=1)
    seen = [pid for page in with_older(browser(), "/@Alice/1/quotes/") for pid in post_ids(page)]
    assert seen == [*range(46, 1, -1)]


def test_a_post_without_quotes_says_so(browser, alice, raw):
    write_posts(raw, 1, [1])
    assert "No one has quoted this post yet." in text_of(browser().get("/@Alice/1/quotes/"))


def test_where_a_block_hides_all_quotes_and_likes_no_page_says_that_there_are_none(browser, store, alice, bob, raw):
    write_posts(raw, 1, [1])
    raw.set("next_post_id", 1)
    Posts(store).publish(2, NewPost("Look at this", quote=1), "token")
    for act in ("like", "repost"):
        browser(bob).post(f"/@Alice/1/{act}/")
    client = browser(alice)
    client.post("/@bob/block/")
    for kind in ("quotes", "likes", "reposts"):
        assert f"1 {kind[:-1]}" in text_of(client.get("/@Alice/1/"))
        shown = text_of(client.get(f"/@Alice/1/{kind}/"))
        assert f"No {kind} to show." in shown
        assert "No one has" not in shown


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
