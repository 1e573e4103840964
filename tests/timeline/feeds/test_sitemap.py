"""The sitemap: an index, the fixed pages, and all profiles in parts. Each part costs at most four round trips."""

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from tests.support.http.feed_xml import root, texts
from tests.support.http.hostile_values import MARKER
from timeline.feeds import sitemap

LOC = "map:sitemap/map:loc"
URL = "map:url/map:loc"
PEOPLE = "http://testserver/sitemap-people.xml"
SITEMAPS = ["/sitemap.xml", "/sitemap-pages.xml", "/sitemap-people.xml"]


@pytest.fixture
def crowd(raw):
    """2,500 users, registered in reverse alphabetical order."""
    uids = {f"person{9_999 - number}": 10 + number for number in range(2_500)}
    raw.hset("users", mapping=uids)
    raw.zadd("users_by_time", {name: 1_700_000_000 + uid for name, uid in uids.items()})
    with raw.pipeline(transaction=False) as pipe:
        for name, uid in uids.items():
            pipe.hset(f"user:{uid}", "username", name)
        pipe.execute()


def test_the_index_leads_to_the_pages_and_to_all_profiles(browser, alice, bob):
    index = browser().get("/sitemap.xml")
    assert index["Content-Type"] == "application/xml; charset=utf-8"
    assert root(index).tag.endswith("}sitemapindex")
    parts = texts(root(index), LOC)
    assert parts == ["http://testserver/sitemap-pages.xml", PEOPLE]
    found = [texts(root(browser().get(part.removeprefix("http://testserver"))), URL) for part in parts]
    assert found == [
        [f"http://testserver{path}" for path in ("/", "/timeline/", "/people/", "/explore/", "/book/")],
        ["http://testserver/@Alice/", "http://testserver/@bob/"],
    ]
    for urls in found:
        for url in urls:
            assert browser().get(url.removeprefix("http://testserver")).status_code == 200


def test_a_site_without_users_has_a_sitemap(browser):
    assert texts(root(browser().get("/sitemap.xml")), LOC)[1:] == [PEOPLE]
    assert texts(root(browser().get("/sitemap-people.xml")), URL) == []


def test_profiles_are_in_parts_in_the_order_of_registration(browser, crowd):
    parts = texts(root(browser().get("/sitemap.xml")), LOC)
    assert parts[1:] == [PEOPLE, f"{PEOPLE}?p=2", f"{PEOPLE}?p=3"]
    found = [texts(root(browser().get(part.removeprefix("http://testserver"))), URL) for part in parts[1:]]
    assert [len(part) for part in found] == [1000, 1000, 500]
    expected = [f"http://testserver/@person{9_999 - number}/" for number in range(2_500)]
    assert [url for part in found for url in part] == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    list(zip(SITEMAPS, [[["ZCARD"]], [], [["ZCARD"], ["ZRANGE"], ["HMGET"], ["HMGET"]]], strict=True)),
)
@pytest.mark.parametrize("site", ["a small site", "a large one"])
def test_the_costs_do_not_depend_on_the_number_of_users(browser, request, alice, round_trips, url, expected, site):
    if site == "a large one":
        request.getfixturevalue("crowd")
    for part in (url, f"{url}?p=3") if site == "a large one" and "people" in url else (url,):
        recorded = round_trips(lambda part=part: browser().get(part))
        assert [sorted({command[0] for command in trip.commands}) for trip in recorded.round_trips] == expected


def test_a_part_reads_no_more_than_it_shows(browser, crowd, round_trips):
    recorded = round_trips(lambda: browser().get("/sitemap-people.xml?p=3"))
    assert ("ZRANGE", "users_by_time", 2000, 2499) in recorded.commands
    assert len([command for command in recorded.commands if command[0] == "HMGET"]) == 1 + 500


def test_a_missing_part_is_not_found(browser, crowd):
    for part in ("0", "-1", "4", "x", "1.5", "", "9" * 5000, "\u00b2", MARKER):
        answer = browser().get("/sitemap-people.xml", {"p": part})
        assert answer.status_code == 404, part
        assert "ETag" not in answer, part


def test_an_unknown_sitemap_is_not_found(browser, alice):
    for url in ("/sitemap-posts.xml", "/sitemap-.xml", "/sitemap", "/sitemap.xml/"):
        assert browser().get(url).status_code == 404, url


def test_a_username_of_any_characters_is_escaped_in_addresses(browser, raw):
    for number, name in enumerate([MARKER, "a/b%c", "\x01", "]]>", "&amp;", "\u0639\u0644\u064a", "\U0001f600"], 1):
        raw.hset(f"user:{number}", mapping={"username": name, "password": "x", "auth": "s"})
        raw.hset("users", name, number)
        raw.zadd("users_by_time", {name: number})
    urls = texts(root(browser().get("/sitemap-people.xml")), URL)
    assert len(urls) == 7
    for url in urls:
        assert url.isascii()
        assert browser().get(url.removeprefix("http://testserver")).status_code == 200, url


@pytest.mark.parametrize("url", SITEMAPS)
def test_all_addresses_have_the_requested_host(browser, alice, settings, url):
    settings.ALLOWED_HOSTS = ["retwis.example", "testserver"]
    here = browser().get(url).content.decode()
    there = browser().get(url, secure=True, headers={"host": "retwis.example"}).content.decode()
    assert there == here.replace("http://testserver/", "https://retwis.example/")
    assert there != here


@pytest.mark.parametrize("url", SITEMAPS)
def test_it_is_the_same_for_everyone_and_has_a_max_age(browser, alice, url):
    seen = browser().get(url)
    assert seen["Cache-Control"] == f"public, max-age={sitemap.MAX_AGE}"
    answer = browser(alice).get(url)
    assert answer.content == seen.content
    assert "Vary" not in answer
    assert not answer.cookies
    assert browser().get(url, headers={"if-none-match": seen["ETag"]}).status_code == 304


def test_a_registration_changes_it(browser, store, alice, request):
    etag = browser().get("/sitemap-people.xml")["ETag"]
    request.getfixturevalue("bob")
    assert browser().get("/sitemap-people.xml", headers={"if-none-match": etag}).status_code == 200


def test_a_removed_username_is_not_in_it(browser, raw, alice, bob):
    raw.zrem("users_by_time", "Alice")
    assert texts(root(browser().get("/sitemap-people.xml")), URL) == ["http://testserver/@bob/"]


@pytest.mark.parametrize(("state", "listed"), [("frozen", True), ("hidden", False), ("suspended", False)])
def test_who_is_hidden_or_suspended_is_not_in_it_until_that_ends(browser, raw, alice, bob, state, listed):
    raw.hset("user:1", mapping={"state": state, "state_until": "0"})
    urls = texts(root(browser().get("/sitemap-people.xml")), URL)
    assert urls == ["http://testserver/@Alice/"] * listed + ["http://testserver/@bob/"]
    Memory.clear_all()
    raw.hset("user:1", "state_until", "1")
    assert len(texts(root(browser().get("/sitemap-people.xml")), URL)) == 2


@pytest.mark.parametrize("url", ["/sitemap.xml", "/sitemap-people.xml"])
def test_a_store_failure_is_an_error_page_not_an_empty_sitemap(browser, alice, monkeypatch, url):
    def fail(self, key):
        raise StoreError("down")

    monkeypatch.setattr(Store, "zcard", fail, raising=False)
    answer = browser().get(url)
    assert answer.status_code == 503
    assert answer["Cache-Control"] == "no-store"
