"""Whoever has a feed already is told whether it still holds: ETag, Last-Modified, 304."""

import pytest
from django.conf import settings
from django.utils.http import http_date

from retwis_site.store.local_cache import Memory
from tests.support.http.feed_xml import FEEDS
from tests.support.stored_keys import publish
from timeline.posts.repository import Posts

WHEN = 1_700_000_000


@pytest.fixture
def posts(raw, store, alice):
    """alice has posted twice, long ago."""
    for number in (1, 2):
        publish(raw, store, alice, f"post number {number}")
        raw.hset(f"post:{number}", "time", WHEN + number)


def again(client, url, answer, *names):
    """Ask as somebody does who has that answer, by these of its headers."""
    said = {"ETag": "if-none-match", "Last-Modified": "if-modified-since"}
    return client.get(url, headers={said[name]: answer[name] for name in names})


@pytest.mark.parametrize("url", FEEDS)
def test_it_says_how_long_it_holds_and_what_it_is(browser, posts, url):
    answer = browser().get(url)
    assert answer["Cache-Control"] == "public, max-age=60"
    assert answer["Last-Modified"] == http_date(WHEN + 2)
    assert answer["ETag"].startswith('"')
    assert answer["Content-Language"] == settings.LANGUAGE_CODE


@pytest.mark.parametrize("url", [*FEEDS, "/robots.txt", "/sitemap.xml", "/sitemap-people.xml"])
@pytest.mark.parametrize("damaged", ["csrftoken", "auth", "messages", "language", "theme", "draft", "since"])
def test_whatever_cookies_somebody_sends_it_has_none_for_those_who_get_it_from_a_cache(browser, posts, url, damaged):
    expected = browser().get(url)
    client = browser()
    client.cookies[damaged] = "damaged"
    answer = client.get(url, headers={"accept-language": "de"})
    assert not answer.cookies
    assert not answer.has_header("Vary")
    assert (answer.content, answer.headers) == (expected.content, expected.headers)


@pytest.mark.parametrize("url", FEEDS)
def test_two_requests_get_the_same_bytes_while_nothing_changes(browser, posts, url, monkeypatch):
    first = browser().get(url)
    monkeypatch.setattr("time.time", lambda: WHEN + 10_000_000)
    Memory.clear_all()
    second = browser().get(url)
    assert second.content == first.content
    assert second["ETag"] == first["ETag"]


@pytest.mark.parametrize("url", ["/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"])
def test_an_empty_feed_is_the_same_each_time_too_and_has_no_date(browser, alice, url, monkeypatch):
    first = browser().get(url)
    monkeypatch.setattr("time.time", lambda: WHEN + 10_000_000)
    assert browser().get(url).content == first.content
    assert "Last-Modified" not in first
    assert again(browser(), url, first, "ETag").status_code == 304


@pytest.mark.parametrize("names", [["ETag"], ["Last-Modified"], ["ETag", "Last-Modified"]])
@pytest.mark.parametrize("url", FEEDS)
def test_whoever_has_it_gets_nothing_more(browser, posts, url, names):
    answer = browser().get(url)
    unchanged = again(browser(), url, answer, *names)
    assert unchanged.status_code == 304
    assert unchanged.content == b""
    assert "Content-Type" not in unchanged
    for name in ("ETag", "Last-Modified", "Cache-Control"):
        assert unchanged[name] == answer[name]
    assert not unchanged.cookies


@pytest.mark.parametrize("given", ["*", '"other", {}', "W/{}"])
@pytest.mark.parametrize("url", FEEDS)
def test_etags_may_be_several_weak_or_any(browser, posts, url, given):
    etag = browser().get(url)["ETag"]
    assert browser().get(url, headers={"if-none-match": given.format(etag)}).status_code == 304
    assert browser().get(url, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("url", FEEDS)
def test_a_new_post_is_told(browser, raw, store, alice, posts, url):
    answer = browser().get(url)
    publish(raw, store, alice, "news")
    for names in (["ETag"], ["Last-Modified"], ["ETag", "Last-Modified"]):
        changed = again(browser(), url, answer, *names)
        assert changed.status_code == 200
        assert b"news" in changed.content


@pytest.mark.parametrize("pid", [1, 2])
@pytest.mark.parametrize("url", FEEDS)
def test_a_deleted_post_is_told_though_nothing_is_newer(browser, store, posts, url, pid):
    answer = browser().get(url)
    Posts(store).delete(1, pid)
    for names in (["ETag"], ["ETag", "Last-Modified"]):
        changed = again(browser(), url, answer, *names)
        assert changed.status_code == 200
        assert f"post number {pid}".encode() not in changed.content
    assert changed["Last-Modified"] <= answer["Last-Modified"]


@pytest.mark.parametrize("url", FEEDS)
def test_a_new_name_is_told_though_nothing_is_newer(browser, raw, posts, url):
    answer = browser().get(url)
    raw.hset("user:1", "name", "Ann")
    Memory.clear_all()
    changed = again(browser(), url, answer, "ETag", "Last-Modified")
    assert changed.status_code == 200
    assert "Ann\u2069: post number 2" in changed.content.decode()
    assert changed["Last-Modified"] == answer["Last-Modified"]


@pytest.mark.parametrize("url", [*FEEDS, "/robots.txt", "/sitemap.xml", "/sitemap-people.xml", "/sitemap-pages.xml"])
def test_head_says_the_same_without_a_body(browser, posts, url):
    answer = browser().get(url)
    head = browser().head(url)
    assert head.status_code == 200
    assert head.content == b""
    assert dict(head.headers) == dict(answer.headers)
    assert browser().head(url, headers={"if-none-match": answer["ETag"]}).status_code == 304


@pytest.mark.parametrize("url", [*FEEDS, "/robots.txt", "/sitemap.xml", "/sitemap-people.xml"])
def test_nothing_can_be_sent_there(browser, posts, url):
    answer = browser().post(url, {})
    assert answer.status_code == 405
    assert answer["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("url", FEEDS)
def test_one_hosts_copy_is_not_anothers(browser, posts, url):
    etag = browser().get(url)["ETag"]
    other = browser().get(url, headers={"if-none-match": etag, "host": "localhost"})
    assert other.status_code == 200
    assert other["ETag"] != etag
