"""What search engines get: the sitemap and robots.txt."""

import re

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.http.feed_xml import root, texts
from tests.support.http.hostile_values import MARKER
from tests.support.http.security_headers import addresses

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


# ---- robots.txt: crawlers may read pages, but not forms, settings and addresses that only take POST.


READABLE = {"/", "/timeline/", "/people/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/@Alice/following/"}
READABLE |= {"/explore/", "/@Alice/replies/", "/@Alice/1/quotes/", "/@Alice/1/likes/", "/@Alice/1/reposts/"}
READABLE |= {"/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"}
READABLE |= {"/tags/", "/tags/redis/", "/tags/redis/atom/"}
READABLE |= {"/manifest.webmanifest", "/service-worker.js"}
READABLE |= {
    "/robots.txt",
    "/sitemap.xml",
    "/sitemap-people.xml",
    "/.well-known/security.txt",
    "/.well-known/change-password",
}
READABLE |= {f"/media/{'0' * 40}.webp"}
READABLE |= {"/about/", "/rules/", "/privacy/"}
READABLE |= {"/book/", "/book/keys-and-hashes/", "/book/keys-and-hashes.svg"}
READABLE |= {"/livez", "/readyz", "/static/retwis.css", "/apple-touch-icon.png", "/@settings/", "/@Alice/?before=5"}


@pytest.fixture
def rules(browser):
    """The lines of robots.txt that name addresses."""
    answer = browser().get("/robots.txt")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    return [line.partition(": ")[2] for line in answer.content.decode().splitlines() if line.startswith("Disallow: ")]


def forbidden(rules, url):
    """As in RFC 9309: a rule is the beginning of a path, and `*` stands for any characters."""
    return any(re.match(re.escape(rule).replace(r"\*", ".*"), url) for rule in rules)


def test_there_is_one_group_for_all_crawlers(browser):
    lines = browser().get("/robots.txt").content.decode().splitlines()
    assert lines[0] == "User-agent: *"
    kinds = [line.partition(": ")[0] for line in lines if line]
    assert kinds == ["User-agent", *["Disallow"] * (len(kinds) - 2), "Sitemap"]
    assert lines[-1] == "Sitemap: http://testserver/sitemap.xml"


def test_pages_are_allowed(rules):
    assert {url for url in READABLE if forbidden(rules, url)} == set()


def test_all_other_addresses_are_disallowed(rules):
    known = {url for name, url in addresses().items()}
    assert len(known) > 20
    disallowed = {url for url in known if forbidden(rules, url)}
    assert known - disallowed <= READABLE
    assert {"/login/", "/register/", "/new/", "/settings/password/", "/post/", "/@Alice/follow/"} <= disallowed


def test_addresses_that_only_take_post_are_disallowed(browser, rules, alice):
    only_forms = [url for url in addresses().values() if browser().get(url).status_code == 405]
    assert len(only_forms) >= 5
    assert [url for url in only_forms if not forbidden(rules, url)] == []
