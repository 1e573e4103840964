"""robots.txt: pages may be read; forms, settings and what only a form may be sent to are left alone."""

import re

import pytest

from tests.support.http.security_headers import addresses

READ = {"/", "/timeline/", "/people/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/@Alice/following/"}
READ |= {"/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"}
READ |= {"/robots.txt", "/sitemap.xml", "/sitemap-people.xml"}
READ |= {"/livez", "/readyz", "/static/retwis.css", "/apple-touch-icon.png", "/@settings/", "/@Alice/?before=5"}


@pytest.fixture
def rules(browser):
    """The lines of robots.txt that name addresses."""
    answer = browser().get("/robots.txt")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    return [line.partition(": ")[2] for line in answer.content.decode().splitlines() if line.startswith("Disallow: ")]


def forbidden(rules, url):
    """As RFC 9309 has it: a rule is the beginning of a path, a star is anything."""
    return any(re.match(re.escape(rule).replace(r"\*", ".*"), url) for rule in rules)


def test_it_is_one_group_for_everybody(browser):
    lines = browser().get("/robots.txt").content.decode().splitlines()
    assert lines[0] == "User-agent: *"
    kinds = [line.partition(": ")[0] for line in lines if line]
    assert kinds == ["User-agent", *["Disallow"] * (len(kinds) - 2), "Sitemap"]


def test_what_is_for_reading_may_be_read(rules):
    assert {url for url in READ if forbidden(rules, url)} == set()


def test_all_else_is_left_alone(rules):
    known = {url for name, url in addresses().items()}
    assert len(known) > 20
    left = {url for url in known if forbidden(rules, url)}
    assert known - left <= READ
    assert {"/login/", "/register/", "/new/", "/settings/password/", "/post/", "/@Alice/follow/"} <= left


def test_what_only_takes_forms_is_left_alone(browser, rules, alice):
    only_forms = [url for url in addresses().values() if browser().get(url).status_code == 405]
    assert len(only_forms) >= 5
    assert [url for url in only_forms if not forbidden(rules, url)] == []


@pytest.mark.parametrize(("host", "secure"), [("testserver", False), ("retwis.example", True)])
def test_it_names_the_sitemap_of_the_host_that_was_asked(browser, settings, host, secure):
    settings.ALLOWED_HOSTS = ["testserver", "retwis.example"]
    answer = browser().get("/robots.txt", secure=secure, headers={"host": host})
    where = f"{'https' if secure else 'http'}://{host}/sitemap.xml"
    assert f"\nSitemap: {where}\n" in answer.content.decode()
    assert browser().get("/sitemap.xml", secure=secure, headers={"host": host}).status_code == 200


def test_it_costs_no_round_trip_and_is_the_same_for_everybody(browser, alice, round_trips):
    client = browser(alice)
    client.cookies["messages"] = "x"
    recorded = round_trips(lambda: client.get("/robots.txt"))
    assert recorded.round_trips == []
    answer = client.get("/robots.txt")
    assert "Vary" not in answer
    assert not answer.cookies
    assert answer["Cache-Control"] == "public, max-age=3600"
    assert browser().get("/robots.txt", headers={"if-none-match": answer["ETag"]}).status_code == 304
