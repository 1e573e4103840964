"""The head of the front page, of profiles and of the global timeline: OpenGraph, the canonical address, and feeds."""

import re
from html import escape, unescape

import pytest

from retwis_site.identity import forget
from retwis_site.store.local_cache import Memory
from tests.support.http.hostile_values import MARKER
from tests.support.http.page_text import CANONICAL, meta_tags, page_of
from tests.support.stored_posts import write_posts

ALTERNATE = re.compile(r'<link rel="alternate" type="([^"]+)" title="([^"]*)" href="([^"]*)">')


def head(client, url, **headers):
    page = page_of(client.get(url, **headers))
    return page.partition("</head>")[0]


def cards(page):
    return {name: text for name, text in meta_tags(page).items() if name.startswith(("og:", "profile:", "twitter:"))}


@pytest.fixture
def called(raw, alice):
    """`called("Ann")` gives alice this display name."""

    def call(name):
        raw.hset("user:1", "name", name)
        Memory.clear_all()

    return call


def test_a_profile_has_open_graph_tags_with_its_name(browser, called):
    called("Ann B.")
    page = head(browser(), "/@alice/")
    assert cards(page) == {
        "og:type": "profile",
        "og:site_name": "Retwis",
        "og:title": "\u2068Ann B.\u2069 (@Alice)",
        "og:description": "Posts by \u2068Ann B.\u2069",
        "og:url": "http://testserver/@Alice/",
        "og:image": "http://testserver/apple-touch-icon.png",
        "profile:username": "Alice",
        "twitter:card": "summary",
    }
    assert meta_tags(page)["description"] == "Posts by \u2068Ann B.\u2069"


def test_the_front_page_has_open_graph_tags_of_the_site(browser, raw, alice):
    raw.hset("site", mapping={"name": "Kiosk", "tagline": "News & talk"})
    forget()
    page = head(browser(), "/?utm_source=x")
    assert CANONICAL.findall(page) == ["http://testserver/"]
    assert cards(page) == {
        "og:type": "website",
        "og:site_name": "Kiosk",
        "og:title": "Kiosk",
        "og:description": "News & talk",
        "og:url": "http://testserver/",
        "og:image": "http://testserver/apple-touch-icon.png",
        "twitter:card": "summary",
    }
    assert meta_tags(page)["description"] == "News & talk"


def test_the_description_is_the_bio_if_there_is_one(browser, raw, alice):
    raw.hset("user:1", "bio", 'Bees & "trees"')
    page = browser().get("/@Alice/").content.decode()
    assert meta_tags(page)["og:description"] == meta_tags(page)["description"] == 'Bees & "trees"'


def test_without_a_display_name_the_title_has_the_username(browser, alice):
    assert cards(head(browser(), "/@Alice/"))["og:title"] == "@Alice"


def test_the_image_is_served_by_the_site(browser, alice):
    picture = cards(head(browser(), "/@Alice/"))["og:image"].removeprefix("http://testserver")
    answer = browser().get(picture)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "image/png"


def test_a_page_has_one_canonical_address(browser, alice):
    for asked in ("/@Alice/", "/@ALICE/", "/@alice/?utm_source=x"):
        page = head(browser(), asked)
        assert CANONICAL.findall(page) == ["http://testserver/@Alice/"]
        assert cards(page)["og:url"] == "http://testserver/@Alice/"
    assert CANONICAL.findall(head(browser(), "/timeline/?x")) == ["http://testserver/timeline/"]


def test_a_later_page_has_no_canonical_address(browser, raw, alice):
    write_posts(raw, 1, range(1, 31))
    for url in ("/@Alice/?before=9", "/timeline/?before=9"):
        assert CANONICAL.findall(head(browser(), url)) == []


@pytest.mark.parametrize(
    ("page", "titles"),
    [
        ("/@Alice/", ["Posts by \u2068Ann\u2069 (Atom)", "Posts by \u2068Ann\u2069 (RSS)"]),
        ("/timeline/", ["Everyone on Retwis (Atom)", "Everyone on Retwis (RSS)"]),
    ],
)
def test_a_page_links_to_its_feeds(browser, called, bob, page, titles):
    called("Ann")
    for client in (browser(), browser(bob)):
        answer = client.get(page).content.decode()
        kinds, names, addresses = zip(*ALTERNATE.findall(answer), strict=True)
        assert kinds == ("application/atom+xml", "application/rss+xml")
        assert list(names) == titles
        assert addresses == (f"{page}atom/", f"{page}rss/")
        assert f'<a href="{page}rss/" type="application/rss+xml">RSS</a>' in answer
        for kind, address in zip(kinds, addresses, strict=True):
            assert client.get(address)["Content-Type"] == f"{kind}; charset=utf-8"


def test_no_other_page_links_to_a_feed(browser, alice, bob):
    for url in ("/", "/login/", "/@Alice/followers/", "/@nobody/", "/settings/password/"):
        assert 'rel="alternate"' not in browser(bob).get(url).content.decode()


def test_a_page_is_not_shared_between_hosts(browser, alice, settings):
    settings.ALLOWED_HOSTS = ["testserver", "retwis.example"]
    for url in ("/", "/@Alice/", "/timeline/"):
        here = head(browser(), url)
        there = head(browser(), url, secure=True, headers={"host": "retwis.example"})
        assert CANONICAL.findall(there) == [f"https://retwis.example{url}"]
        assert "testserver" not in there
        assert there == here.replace("http://testserver", "https://retwis.example")
        assert head(browser(), url) == here


@pytest.mark.parametrize(
    "name", [MARKER, '"><script>x</script>', "{{ x }}{% y %}", "&quot;&#34;", "\u0639\u0644\u064a"]
)
def test_a_hostile_display_name_is_escaped_in_the_head(browser, called, name):
    called(name)
    page = head(browser(), "/@Alice/")
    isolated = f"\u2068{name}\u2069"
    assert meta_tags(page)["og:title"] == f"{isolated} (@Alice)"
    assert meta_tags(page)["og:description"] == meta_tags(page)["description"] == f"Posts by {isolated}"
    assert f'content="{escape(isolated)} (@Alice)"' in page
    (_, title, _), _ = ALTERNATE.findall(page)
    assert unescape(title) == f"Posts by {isolated} (Atom)"


def test_a_username_of_any_characters_is_escaped_in_addresses(browser, raw):
    name = 'J"ö/<b>'
    raw.hset("user:1", mapping={"username": name, "password": "x", "auth": "s"})
    raw.hset("users", name, 1)
    page = head(browser(), "/@J%22%C3%B6%252F%3Cb%3E/")
    assert CANONICAL.findall(page) == ["http://testserver/@J%22%C3%B6%252F%3Cb%3E/"]
    [atom, rss] = [address for _, _, address in ALTERNATE.findall(page)]
    assert atom == "/@J%22%C3%B6%252F%3Cb%3E/atom/"
    assert browser().get(atom).status_code == browser().get(rss).status_code == 200


def test_the_page_of_a_deleted_account_has_no_tags(browser, raw, alice):
    raw.hset("user:1", "deleted", 1_700_000_000)
    page = page_of(browser().get("/@Alice/"), 410)
    assert "og:" not in page
    assert "canonical" not in page
    assert "alternate" not in page
