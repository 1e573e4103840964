"""robots.txt: crawlers may read pages, but not forms, settings and addresses that only take POST."""

import re

import pytest

from tests.support.http.security_headers import addresses

READABLE = {"/", "/timeline/", "/people/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/@Alice/following/"}
READABLE |= {"/explore/", "/@Alice/replies/", "/@Alice/1/quotes/", "/@Alice/1/likes/", "/@Alice/1/reposts/"}
READABLE |= {"/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"}
READABLE |= {"/tags/", "/tags/redis/", "/tags/redis/atom/"}
READABLE |= {"/robots.txt", "/sitemap.xml", "/sitemap-people.xml", "/.well-known/security.txt"}
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


@pytest.mark.parametrize(("host", "secure"), [("testserver", False), ("retwis.example", True)])
def test_it_names_the_sitemap_of_the_requested_host(browser, settings, host, secure):
    settings.ALLOWED_HOSTS = ["testserver", "retwis.example"]
    answer = browser().get("/robots.txt", secure=secure, headers={"host": host})
    address = f"{'https' if secure else 'http'}://{host}/sitemap.xml"
    assert f"\nSitemap: {address}\n" in answer.content.decode()
    assert browser().get("/sitemap.xml", secure=secure, headers={"host": host}).status_code == 200


def test_it_costs_no_round_trip_and_is_the_same_for_everyone(browser, alice, round_trips):
    client = browser(alice)
    client.cookies["messages"] = "x"
    recorded = round_trips(lambda: client.get("/robots.txt"))
    assert recorded.round_trips == []
    answer = client.get("/robots.txt")
    assert "Vary" not in answer
    assert not answer.cookies
    assert answer["Cache-Control"] == "public, max-age=3600"
    assert browser().get("/robots.txt", headers={"if-none-match": answer["ETag"]}).status_code == 304
