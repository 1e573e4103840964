"""Caching of feeds: ETag, Last-Modified, 304."""

import pytest
from django.conf import settings
from django.utils.http import http_date

from retwis_site.store.local_cache import Memory
from tests.support.http.feed_xml import FEEDS
from tests.support.stored_keys import publish
from timeline.posts.repository import Posts

WHEN = 1_700_000_000
ID = {"x-request-id": "of-each-request"}  # an answer has the id of its request


@pytest.fixture
def posts(raw, store, alice):
    """alice has two old posts."""
    for number in (1, 2):
        publish(raw, store, alice, f"post number {number}")
        raw.hset(f"post:{number}", "time", WHEN + number)


def ask_again(client, url, answer, *names):
    """Ask with these headers of an earlier answer."""
    conditions = {"ETag": "if-none-match", "Last-Modified": "if-modified-since"}
    return client.get(url, headers={conditions[name]: answer[name] for name in names})


@pytest.mark.parametrize("url", FEEDS)
def test_a_feed_has_max_age_validators_and_language(browser, posts, url):
    answer = browser().get(url)
    assert answer["Cache-Control"] == "public, max-age=60"
    assert answer["Last-Modified"] == http_date(WHEN + 2)
    assert answer["ETag"].startswith('"')
    assert answer["Content-Language"] == settings.LANGUAGE_CODE


@pytest.mark.parametrize("url", [*FEEDS, "/robots.txt", "/sitemap.xml", "/sitemap-people.xml"])
@pytest.mark.parametrize("damaged", ["csrftoken", "auth", "messages", "language", "theme", "draft", "since"])
def test_a_public_answer_sets_no_cookie_and_does_not_depend_on_any(browser, posts, url, damaged):
    expected = browser().get(url, headers=ID)
    client = browser()
    client.cookies[damaged] = "damaged"
    answer = client.get(url, headers={"accept-language": "de"} | ID)
    assert not answer.cookies
    assert not answer.has_header("Vary")
    assert (answer.content, answer.headers) == (expected.content, expected.headers)


@pytest.mark.parametrize("url", FEEDS)
def test_a_feed_has_the_same_bytes_until_something_changes(browser, posts, url, monkeypatch):
    first = browser().get(url)
    monkeypatch.setattr("time.time", lambda: WHEN + 10_000_000)
    Memory.clear_all()
    second = browser().get(url)
    assert second.content == first.content
    assert second["ETag"] == first["ETag"]


@pytest.mark.parametrize("url", ["/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"])
def test_an_empty_feed_has_the_same_bytes_and_no_date(browser, alice, url, monkeypatch):
    first = browser().get(url)
    monkeypatch.setattr("time.time", lambda: WHEN + 10_000_000)
    assert browser().get(url).content == first.content
    assert "Last-Modified" not in first
    assert ask_again(browser(), url, first, "ETag").status_code == 304


@pytest.mark.parametrize("names", [["ETag"], ["Last-Modified"], ["ETag", "Last-Modified"]])
@pytest.mark.parametrize("url", FEEDS)
def test_a_current_copy_is_answered_with_304(browser, posts, url, names):
    answer = browser().get(url)
    unchanged = ask_again(browser(), url, answer, *names)
    assert unchanged.status_code == 304
    assert unchanged.content == b""
    assert "Content-Type" not in unchanged
    for name in ("ETag", "Last-Modified", "Cache-Control"):
        assert unchanged[name] == answer[name]
    assert not unchanged.cookies


@pytest.mark.parametrize("given", ["*", '"other", {}', "W/{}"])
@pytest.mark.parametrize("url", FEEDS)
def test_if_none_match_may_be_a_list_a_weak_etag_or_a_star(browser, posts, url, given):
    etag = browser().get(url)["ETag"]
    assert browser().get(url, headers={"if-none-match": given.format(etag)}).status_code == 304
    assert browser().get(url, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("url", FEEDS)
def test_after_a_new_post_the_feed_is_sent_again(browser, raw, store, alice, posts, url):
    answer = browser().get(url)
    publish(raw, store, alice, "news")
    for names in (["ETag"], ["Last-Modified"], ["ETag", "Last-Modified"]):
        changed = ask_again(browser(), url, answer, *names)
        assert changed.status_code == 200
        assert b"news" in changed.content


@pytest.mark.parametrize("pid", [1, 2])
@pytest.mark.parametrize("url", FEEDS)
def test_after_a_deletion_the_feed_is_sent_again_without_a_newer_date(browser, store, posts, url, pid):
    answer = browser().get(url)
    Posts(store).delete(1, pid)
    for names in (["ETag"], ["ETag", "Last-Modified"]):
        changed = ask_again(browser(), url, answer, *names)
        assert changed.status_code == 200
        assert f"post number {pid}".encode() not in changed.content
    assert changed["Last-Modified"] <= answer["Last-Modified"]


@pytest.mark.parametrize("url", FEEDS)
def test_after_a_new_display_name_the_feed_is_sent_again_without_a_newer_date(browser, raw, posts, url):
    answer = browser().get(url)
    raw.hset("user:1", "name", "Ann")
    Memory.clear_all()
    changed = ask_again(browser(), url, answer, "ETag", "Last-Modified")
    assert changed.status_code == 200
    assert "Ann\u2069: post number 2" in changed.content.decode()
    assert changed["Last-Modified"] == answer["Last-Modified"]


@pytest.mark.parametrize("url", [*FEEDS, "/robots.txt", "/sitemap.xml", "/sitemap-people.xml", "/sitemap-pages.xml"])
def test_head_has_the_same_headers_and_no_body(browser, posts, url):
    answer = browser().get(url, headers=ID)
    head = browser().head(url, headers=ID)
    assert head.status_code == 200
    assert head.content == b""
    assert dict(head.headers) == dict(answer.headers)
    assert browser().head(url, headers={"if-none-match": answer["ETag"]}).status_code == 304


@pytest.mark.parametrize("url", [*FEEDS, "/robots.txt", "/sitemap.xml", "/sitemap-people.xml"])
def test_post_is_not_allowed(browser, posts, url):
    answer = browser().post(url, {})
    assert answer.status_code == 405
    assert answer["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("url", FEEDS)
def test_each_host_has_its_own_etag(browser, posts, url):
    etag = browser().get(url)["ETag"]
    other = browser().get(url, headers={"if-none-match": etag, "host": "localhost"})
    assert other.status_code == 200
    assert other["ETag"] != etag
