"""Atom and RSS feeds of profiles and of everyone: well-formed, complete, the same as a visitor's page, and cached."""

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from django.conf import settings
from django.utils.http import http_date
from django.utils.translation import get_language

from retwis_site.store.local_cache import Memory
from tests.support.http.answers import LINK_RELATION
from tests.support.http.feed_xml import FEEDS, Html, all_of, one, root, text, texts
from tests.support.http.hostile_values import MARKER
from tests.support.http.page_text import CANONICAL, meta_tags
from tests.support.processes.fake_store import FAKE
from tests.support.processes.fresh_process import in_a_process
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_posts
from tests.support.texts.shown_links import LINKED, Shown
from timeline.feeds import views
from timeline.posts.repository import Posts

WHEN = 1_700_000_000
SITEMAPS = ["/sitemap.xml", "/sitemap-pages.xml", "/sitemap-people.xml"]
AGES = {**dict.fromkeys(FEEDS, 60), "/robots.txt": 3600, **dict.fromkeys(SITEMAPS, views.SITEMAP_AGE)}
HOSTILE = [
    MARKER,
    "]]> <![CDATA[ ]]]]><![CDATA[>",
    "<script>alert(1)</script> &lt;script&gt; &amp;amp; &#x3c;",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e 'e'>]> &e;",
    "emoji \U0001f600 \U0001f469\u200d\U0001f680 and \U0001f1e9\U0001f1ea",
    "right to left: \u0645\u0631\u062d\u0628\u0627 @Alice, \u202eevil\u202c",
    "two  spaces,\ta tab",
    "{{ x }} {% now 'U' %} %(name)s {0}",
]


@pytest.fixture
def post(raw, store, alice):
    """`post(text)` writes a post of alice with a known time. The form would refuse some of these texts."""

    def write(body):
        pid = publish(raw, store, alice, f"post {int(raw.get('next_post_id') or 0) + 1}")
        raw.hset(f"post:{pid}", mapping={"body": body, "time": WHEN + pid})

    return write


def items(feed):
    return all_of(feed, "atom:entry") or all_of(feed, "channel/item")


def contents(feed):
    """The HTML of each item."""
    return texts(feed, "atom:entry/atom:content") or texts(feed, "channel/item/description")


def titles(feed):
    return texts(feed, "atom:entry/atom:title") or texts(feed, "channel/item/title")


# ---- content


@pytest.mark.parametrize(
    ("url", "title", "subtitle", "page"),
    [
        ("/@Alice/atom/", "@Alice on Retwis", "Posts by @Alice, newest first", "/@Alice/"),
        ("/timeline/atom/", "Everyone on Retwis", "All posts, newest first", "/timeline/"),
    ],
)
def test_atom_has_every_required_element(browser, post, url, title, subtitle, page):
    post("Hello, see redis.io")
    answer = browser().get(url)
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = root(answer)
    assert feed.tag == "{http://www.w3.org/2005/Atom}feed"
    assert feed.get("{http://www.w3.org/XML/1998/namespace}lang") == settings.LANGUAGE_CODE
    assert text(feed, "atom:title") == title
    assert text(feed, "atom:subtitle") == subtitle
    assert text(feed, "atom:id") == f"http://testserver{page}"
    assert text(feed, "atom:updated") == "2023-11-14T22:13:21+00:00"
    links = {link.get("rel"): link.get("href") for link in all_of(feed, "atom:link")}
    assert links == {"self": f"http://testserver{url}", "alternate": f"http://testserver{page}"}
    [entry] = items(feed)
    assert text(entry, "atom:title") == "@Alice: Hello, see redis.io"
    assert text(entry, "atom:id") == one(entry, "atom:link").get("href") == "http://testserver/@Alice/1/"
    assert text(entry, "atom:published") == text(entry, "atom:updated") == "2023-11-14T22:13:21+00:00"
    assert text(entry, "atom:author/atom:name") == "@Alice"
    assert text(entry, "atom:author/atom:uri") == "http://testserver/@Alice/"
    content = one(entry, "atom:content")
    assert content.get("type") == "html"
    assert content.text == (
        f'<p dir="auto">Hello, see <a href="http://redis.io" rel="{LINK_RELATION}" dir="ltr">redis.io</a></p>'
    )
    assert all_of(entry, "atom:summary") == []


@pytest.mark.parametrize(
    ("url", "title", "description", "page"),
    [
        ("/@Alice/rss/", "@Alice on Retwis", "Posts by @Alice, newest first", "/@Alice/"),
        ("/timeline/rss/", "Everyone on Retwis", "All posts, newest first", "/timeline/"),
    ],
)
def test_rss_has_every_required_element(browser, post, url, title, description, page):
    post("Hello, see redis.io")
    answer = browser().get(url)
    assert answer["Content-Type"] == "application/rss+xml; charset=utf-8"
    feed = root(answer)
    assert (feed.tag, feed.get("version")) == ("rss", "2.0")
    channel = one(feed, "channel")
    assert text(channel, "title") == title
    assert text(channel, "description") == description
    assert text(channel, "link") == f"http://testserver{page}"
    assert text(channel, "language") == settings.LANGUAGE_CODE
    assert parsedate_to_datetime(text(channel, "lastBuildDate")) == datetime.fromtimestamp(WHEN + 1, UTC)
    myself = one(channel, "atom:link")
    assert (myself.get("rel"), myself.get("href")) == ("self", f"http://testserver{url}")
    item = one(channel, "item")
    assert text(item, "title") == "@Alice: Hello, see redis.io"
    assert text(item, "link") == text(item, "guid") == "http://testserver/@Alice/1/"
    assert one(item, "guid").get("isPermaLink") == "true"
    assert parsedate_to_datetime(text(item, "pubDate")) == datetime.fromtimestamp(WHEN + 1, UTC)
    assert text(item, "dc:creator") == "@Alice"
    assert text(item, "description") == (
        f'<p dir="auto">Hello, see <a href="http://redis.io" rel="{LINK_RELATION}" dir="ltr">redis.io</a></p>'
    )


@pytest.mark.parametrize(("page", "number"), [("/@Alice/", 20), ("/timeline/", 50)])
@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_a_feed_has_the_newest_posts_in_order(browser, raw, store, alice, page, number, kind):
    write_posts(raw, 1, range(1, 61))
    feed = root(browser().get(f"{page}{kind}/"))
    found = [link.rsplit("/", 2)[1] for link in texts(feed, ".//guid") or texts(feed, "atom:entry/atom:id")]
    assert [int(pid) for pid in found] == list(range(60, 60 - number, -1))


def test_a_profile_feed_has_one_author_and_the_timeline_feed_everyone(browser, raw, store, alice, bob):
    publish(raw, store, alice, "of alice")
    publish(raw, store, bob, "of bob")
    for kind in ("atom", "rss"):
        assert titles(root(browser().get(f"/@bob/{kind}/"))) == ["@bob: of bob"]
        assert titles(root(browser().get(f"/timeline/{kind}/"))) == ["@bob: of bob", "@Alice: of alice"]


@pytest.mark.parametrize("url", FEEDS)
def test_a_title_has_the_beginning_of_the_text_and_the_content_all_of_it(browser, post, url):
    long = "A text of more than sixty characters, " + "which goes on and on " * 5
    post(long.strip())
    feed = root(browser().get(url))
    assert titles(feed) == ["@Alice: A text of more than sixty characters, which goes on and on …"]
    assert [Html(content).words for content in contents(feed)] == [long.strip()]


def test_feeds_leave_reposts_out_and_have_what_was_written_before_them(browser, raw, round_trips, alice, bob):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2])
    for pid in range(3, 63):
        raw.hset(f"post:{pid}", mapping={"user_id": 1, "time": WHEN + pid, "repost_of": 1 + pid % 2})
        raw.zadd("updates:1", {pid: pid})
    answers = []
    for most in (6, 2):  # the second time this process knows which of them are reposts
        sent = round_trips(lambda: answers.append(browser().get("/@Alice/atom/")))
        assert len(sent.round_trips) <= most
        assert titles(root(answers[-1])) == ["@Alice: post 2"]


def test_an_entry_says_when_its_text_was_changed(browser, raw, alice):
    write_posts(raw, 1, [1])
    raw.hset("post:1", "edited", 1_800_000_000)
    [entry] = all_of(root(browser().get("/@Alice/atom/")), "atom:entry")
    assert text(entry, "atom:published") < text(entry, "atom:updated") == "2027-01-15T08:00:00+00:00"


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_an_empty_feed_is_valid(browser, alice, kind):
    for url in (f"/@Alice/{kind}/", f"/timeline/{kind}/"):
        answer = browser().get(url)
        assert answer.status_code == 200
        assert items(root(answer)) == []
        assert "1970" in (texts(root(answer), "atom:updated") or texts(root(answer), "channel/lastBuildDate"))[0]


# ---- links


@pytest.mark.parametrize("url", FEEDS)
def test_a_feed_has_the_links_of_the_page_with_absolute_addresses(browser, post, url):
    for body, _ in LINKED:
        post(body)
    expected = [Shown(body).html.replace('href="/', 'href="http://testserver/') for body, _ in LINKED]
    shown = dict(zip([body for body, _ in LINKED], expected, strict=True))
    found = {Html(content).words: content for content in contents(root(browser().get(url)))}
    assert len(found) >= 18
    for words, content in found.items():
        assert content == f'<p dir="auto">{shown[words]}</p>'


@pytest.mark.parametrize(("asked", "whole"), [("/@ALICE/{}/", "/@Alice/{}/"), ("/@alice/{}/?a=b", "/@Alice/{}/")])
@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_a_feed_has_one_canonical_address(browser, post, asked, whole, kind):
    post("Hello")
    answer = browser().get(asked.format(kind))
    assert answer.content == browser().get(whole.format(kind)).content
    myself = [link.get("href") for link in all_of(root(answer), ".//atom:link") if link.get("rel") == "self"]
    assert myself == [f"http://testserver{whole.format(kind)}"]


@pytest.mark.parametrize("url", AGES)
def test_all_addresses_have_the_requested_host(browser, post, settings, url):
    settings.ALLOWED_HOSTS = ["retwis.example", "testserver"]
    post("Hello @bob")
    first = browser().get(url).content.decode()
    other = browser().get(url, secure=True, headers={"host": "retwis.example"}).content.decode()
    assert "https://retwis.example/" in other
    assert "testserver" not in other
    assert other == first.replace("http://testserver", "https://retwis.example")
    assert browser().get(url).content.decode() == first
    assert browser().get(url, headers={"host": "evil.example"}).status_code == 400


def test_behind_a_proxy_with_https_addresses_are_public():
    code = f"""{FAKE}
import json
from tests.support.people import register
from retwis_site.store.client import connect
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
register(connect(), "Alice")
register(connect(), "bob")
Posts(connect()).publish(1, NewPost("Hello @bob"), "t")
there = {{"host": "retwis.example", "x-forwarded-proto": "https"}}
urls = {[*FEEDS, "/robots.txt", "/sitemap.xml", "/sitemap-people.xml", "/@alice/1/"]!r}
print(json.dumps([Client(headers=there).get(url).content.decode() for url in urls]))
"""
    of_a_proxy = {"HTTPS": "1", "TRUSTED_PROXIES": "1", "ALLOWED_HOSTS": "retwis.example"}
    answers = json.loads(in_a_process(code, **of_a_proxy).splitlines()[-1])
    for answer in answers:
        assert "https://retwis.example/" in answer
        assert "http://retwis.example" not in answer
    assert all("https://retwis.example/@bob/" in answer for answer in answers[: len(FEEDS)])
    assert CANONICAL.findall(answers[-1]) == ["https://retwis.example/@Alice/1/"]
    assert meta_tags(answers[-1])["article:author"] == "https://retwis.example/@Alice/"


# ---- special characters


@pytest.mark.parametrize("url", FEEDS)
@pytest.mark.parametrize("body", HOSTILE)
def test_a_text_is_shown_as_typed(browser, post, url, body):
    post(body)
    [content] = contents(root(browser().get(url)))
    html = Html(content)
    assert html.words == body
    assert [tag for tag, _ in html.elements if tag not in {"p", "a"}] == []
    assert titles(root(browser().get(url))) == [f"@Alice: {body if len(body) <= 60 else body[:59] + '…'}"]


@pytest.mark.parametrize("url", FEEDS)
def test_only_characters_that_xml_forbids_are_replaced(browser, post, url):
    forbidden = [chr(code) for code in range(32) if chr(code) not in "\t\n\r"] + ["\ufffe", "\uffff"]
    allowed = ["\t", "\x7f", "\x85", "\u2028", "\ud7ff", "\ue000", "\ufffd", "\U00010000", "\U0010ffff"]
    post("".join(f"{char}." for char in allowed + forbidden))
    [content] = contents(root(browser().get(url)))
    expected = "".join(f"{char}." for char in allowed + ["\ufffd"] * len(forbidden))
    assert Html(content).words == expected
    [title] = titles(root(browser().get(url)))
    assert title == f"@Alice: {expected[:59]}…"


@pytest.mark.parametrize("url", FEEDS)
def test_invalid_utf_8_is_replaced(browser, raw, post, url):
    post("x")
    raw.hset("post:1", "body", b"caf\xe9 \xed\xa0\x80 \xff")
    [content] = contents(root(browser().get(url)))
    assert re.fullmatch("caf\ufffd \ufffd+ \ufffd", Html(content).words)


@pytest.mark.parametrize("kind", ["atom", "rss"])
@pytest.mark.parametrize("name", [MARKER, "a/b%c", "\x01\x1b", "]]>", "\u0639\u0644\u064a", "\U0001f600", "%(name)s"])
def test_a_username_of_any_characters_has_a_feed(browser, raw, name, kind):
    raw.hset("user:1", mapping={"username": name, "password": "x", "auth": "s"})
    raw.hset("users", name, 1)
    write_posts(raw, 1, [1])
    address = "".join(f"%{byte:02X}" for byte in name.replace("%", "%25").replace("/", "%2F").encode())
    feed = root(browser().get(f"/@{address}/{kind}/"))
    shown = re.sub("[\x00-\x1f]", "\ufffd", name)
    assert text(feed, "atom:title" if kind == "atom" else "channel/title") == f"@{shown} on Retwis"
    assert titles(feed)[0].startswith(f"@{shown}: ")
    [link] = texts(feed, ".//guid") or texts(feed, "atom:entry/atom:id")
    assert browser().get(link.removeprefix("http://testserver")).status_code == 200
    [profile] = texts(feed, "channel/link") or texts(feed, "atom:id")
    assert browser().get(profile.removeprefix("http://testserver")).status_code == 200


# ---- readers and errors


@pytest.mark.parametrize("url", FEEDS)
def test_a_feed_is_in_the_language_of_the_site(browser, monkeypatch, post, url):
    post("Hello")
    monkeypatch.setattr(views, "_", lambda text: f"{get_language()}: {text}")
    feed = root(browser().get(url, headers={"accept-language": "ar"}))
    words = [*texts(feed, "atom:title"), *texts(feed, "atom:subtitle"), *texts(feed, "channel/title"), *titles(feed)]
    assert len(words) >= 2
    assert [text for text in words if not text.startswith(f"{settings.LANGUAGE_CODE}: ")] == []


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_an_unknown_user_has_no_feed(browser, alice, kind):
    assert browser().get(f"/@nobody/{kind}/").status_code == 404
    assert browser().get(f"/@Alice/{kind}").status_code == 301
    assert browser().get("/@Alice/json/").status_code == 404


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_the_feed_of_a_deleted_account_is_gone_and_its_posts_leave_the_timeline_feed(browser, raw, post, bob, kind):
    post("of alice")
    write_posts(raw, 2, [2])
    raw.hset("user:1", "deleted", WHEN)
    Memory.clear_all()
    answer = browser().get(f"/@Alice/{kind}/")
    assert answer.status_code == 410
    assert "ETag" not in answer
    assert "Cache-Control" not in answer
    assert [title.partition(":")[0] for title in titles(root(browser().get(f"/timeline/{kind}/")))] == ["@bob"]


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_a_feed_has_display_names(browser, raw, post, kind):
    post("Hello")
    raw.hset("user:1", "name", "Ann \x01 <b> & B.")
    Memory.clear_all()
    feed = root(browser().get(f"/@alice/{kind}/"))
    shown = "Ann \ufffd <b> & B."
    isolated = f"\u2068{shown}\u2069"  # a Hebrew name must not turn the direction of the words beside it
    assert text(feed, "atom:title" if kind == "atom" else "channel/title") == f"{isolated} (@Alice) on Retwis"
    assert titles(feed) == [f"{isolated}: Hello"]
    assert texts(feed, ".//dc:creator") + texts(feed, ".//atom:name") == [shown]
    assert texts(feed, ".//guid") + texts(feed, "atom:entry/atom:id") == ["http://testserver/@Alice/1/"]


# ---- Caching of feeds: ETag, Last-Modified, 304.


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
def test_a_feed_has_validators_and_a_language(browser, posts, url):
    answer = browser().get(url)
    assert answer["Last-Modified"] == http_date(WHEN + 2)
    assert answer["ETag"].startswith('"')
    assert answer["Content-Language"] == settings.LANGUAGE_CODE


@pytest.mark.parametrize("url", AGES)
def test_a_public_answer_is_the_same_for_everyone_and_asks_for_no_session(browser, alice, posts, sent, url):
    expected = browser().get(url, headers=ID)
    assert expected["Cache-Control"] == f"public, max-age={AGES[url]}"
    sent.round_trips.clear()
    for client in (browser(), browser(alice)):
        for name in {"csrftoken", "auth", "messages", "language", "theme", "draft", "since"} - {*client.cookies}:
            client.cookies[name] = "damaged"
        answer = client.get(url, headers={"accept-language": "de"} | ID)
        assert not answer.cookies
        assert not answer.has_header("Vary")
        assert (answer.content, answer.headers) == (expected.content, expected.headers)
    assert not [command for command in sent.commands if command[1] == "auths"]


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


@pytest.mark.parametrize("url", AGES)
def test_head_has_the_same_headers_and_no_body(browser, posts, url):
    answer = browser().get(url, headers=ID)
    head = browser().head(url, headers=ID)
    assert head.status_code == 200
    assert head.content == b""
    assert dict(head.headers) == dict(answer.headers)
    assert browser().head(url, headers={"if-none-match": answer["ETag"]}).status_code == 304


@pytest.mark.parametrize("url", FEEDS)
def test_each_host_has_its_own_etag(browser, posts, url):
    etag = browser().get(url)["ETag"]
    other = browser().get(url, headers={"if-none-match": etag, "host": "localhost"})
    assert other.status_code == 200
    assert other["ETag"] != etag
