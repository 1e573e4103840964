"""/explore/: tags of the week, posts of the day, people to follow."""

import os

import pytest

from accounts.users.deletion import AccountDeletion
from accounts.users.entities import User
from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import names, post_ids, text_of
from tests.support.processes.fresh_process import run_code
from tests.support.stored_posts import DAY, HOUR, like, repost, write_recent
from timeline.explore.exploring import MOST_SHOWN
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows


def test_the_page_shows_posts_tags_and_people(browser, raw, store, alice, bob, carol):
    for pid, uid in enumerate((1, 2, 3), 1):
        write_recent(raw, pid, uid, body="Rye #Bread")
    like(raw, 1, 2, 3)
    repost(raw, 3, 1, 2, 4)
    Follows(store).follow(1, 3)
    page = browser().get("/explore/")
    assert page.status_code == 200
    assert post_ids(page) == [3, 1]
    text = text_of(page)
    assert "#Bread 3 people · 3 posts" in text
    assert "Posts of the day" in text
    assert names(page)[-1] == "carol"  # the only person with followers
    assert 'href="/tags/bread/"' in page.content.decode()


def test_a_visitor_gets_no_buttons(browser, raw, store, alice, bob):
    write_recent(raw, 1)
    like(raw, 1, 2, 3)
    Follows(store).follow(1, 2)
    page = browser().get("/explore/").content.decode()
    assert "/@bob/" in page
    assert 'method="post"' not in page


def test_a_user_may_follow_the_people_and_act_on_the_posts(browser, raw, store, alice, bob, carol):
    write_recent(raw, 1, uid=2)
    like(raw, 1, 1, 3)
    Follows(store).follow(2, 3)
    page = browser(alice).get("/explore/").content.decode()
    assert 'action="/@carol/follow/"' in page
    assert 'formaction="/@bob/1/unlike/"' in page


@pytest.mark.parametrize("who", ["a visitor", "alice"])
def test_an_empty_site_says_what_will_appear(browser, alice, who):
    text = text_of((browser(alice) if who == "alice" else browser()).get("/explore/"))
    assert "Tags that at least three people use in a week appear here." in text
    assert "Posts that at least two people like or repost appear here." in text


def test_a_quiet_day_shows_the_week(browser, raw, alice):
    write_recent(raw, 1, ago=2 * DAY)
    like(raw, 1, 2, 3)
    page = browser().get("/explore/")
    assert post_ids(page) == [1]
    assert "Posts of the week" in text_of(page)


def test_at_most_twenty_posts_are_shown(browser, raw, alice):
    for pid in range(1, 31):
        write_recent(raw, pid)
        like(raw, pid, 2, 3)
    assert len(post_ids(browser().get("/explore/"))) == MOST_SHOWN == 20


def test_a_post_that_is_deleted_after_it_was_found_is_not_shown(browser, raw, store, alice, bob):
    for pid, uid in ((1, 1), (2, 2), (3, 2)):
        write_recent(raw, pid, uid)
        like(raw, pid, 3, 4)
    client = browser()
    assert post_ids(client.get("/explore/")) == [3, 2, 1]
    Posts(store).delete(1, 1)
    assert post_ids(client.get("/explore/")) == [3, 2]
    AccountDeletion(store).delete(User(2, "bob"), bob.secret)
    assert post_ids(client.get("/explore/")) == []


@pytest.mark.parametrize("keys", [("blocked:1", "blocked_by:2"), ("blocked:2", "blocked_by:1"), ("muted:1", "")])
def test_people_whom_the_viewer_hides_are_not_shown(browser, raw, alice, bob, carol, keys):
    for pid, uid in ((1, 2), (2, 3)):
        write_recent(raw, pid, uid)
        like(raw, pid, 4, 5)
    for key in filter(None, keys):
        raw.zadd(key, {"1" if key.endswith("2") else "2": "+inf" if key.startswith("muted") else 1})
    assert post_ids(browser(alice).get("/explore/")) == [2]
    assert post_ids(browser().get("/explore/")) == [2, 1]


def test_a_process_looks_anew_every_five_minutes(browser, raw, alice, monkeypatch):
    write_recent(raw, 1)
    like(raw, 1, 2, 3)
    client = browser()
    assert post_ids(client.get("/explore/")) == [1]
    write_recent(raw, 2)
    like(raw, 2, 2, 3, 4)
    raw.delete("timeline")
    assert post_ids(client.get("/explore/")) == [1]
    Memory.clear_all()
    assert post_ids(client.get("/explore/")) == [2, 1]


def test_explore_writes_nothing(browser, raw, alice, bob, round_trips):
    write_recent(raw, 1, ago=HOUR, body="#bread")
    like(raw, 1, 2, 3)
    client = browser(alice)
    client.get("/timeline/")  # which makes the list of everyone's posts
    Memory.clear_all()
    recorded = round_trips(lambda: client.get("/explore/"))
    written = {command[0] for command in recorded.commands} & {"SET", "ZADD", "HSET", "RPUSH", "LPUSH", "EXPIRE"}
    assert written == set()


def test_every_page_leads_there(browser, alice):
    for client in (browser(), browser(alice)):
        assert client.get("/people/").content.decode().count('href="/explore/"') == 2


def test_the_sitemap_names_it(browser, raw):
    assert "/explore/</loc>" in browser().get("/sitemap-pages.xml").content.decode()


OFF = """
import django
django.setup()
from django.conf import settings
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, Resolver404, resolve, reverse
from timeline.feeds.sitemap import FixedPages
try:
    print(resolve("/explore/"))
except Resolver404:
    print("404")
print("explore" in FixedPages().items(), "/explore/" in render_to_string("retwis_site/base.html"))
"""


@pytest.mark.parametrize(("value", "said"), [("0", "404\nFalse False\n"), ("off", "404\nFalse False\n")])
def test_a_setting_turns_it_off(value, said):
    run = run_code(OFF, {**os.environ, "EXPLORE": value})
    assert run.stdout == said, run.stderr
