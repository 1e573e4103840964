"""A profile has up to four facts and links with labels; a worker marks the links that link back as verified."""

import json
import time
from math import inf
from threading import Event
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from accounts.facts import facts
from accounts.facts.facts import MOST_FACTS, Fact
from retwis_site.jobs import outbox
from retwis_site.jobs.outbox import Claim
from retwis_site.jobs.worker import drain, rounds
from tests.support.apps import App
from tests.support.http.page_text import text_of
from tests.support.removed_accounts import delete_and_remove
from tests.support.stored_keys import noted
from tests.support.stores.seam import each_moment, killed_before_round_trip

SITE = "https://alice.example/"


@pytest.fixture
def asked(monkeypatch):
    """What was asked about each link, and which of them link back: `asked.back`."""

    class Asked(list):
        back: set[str] = set()

    found = Asked()

    def linking_back(links, profile):
        found.append((set(links), profile))
        return found.back & set(links)

    monkeypatch.setattr(facts, "linking_back", linking_back)
    monkeypatch.setattr(facts, "_looks", {})
    return found


def fill_in(client, *pairs, **more):
    fields = {"name": "", "bio": ""}
    for number in range(MOST_FACTS):
        label, value = pairs[number] if number < len(pairs) else ("", "")
        fields |= {f"label_{number + 1}": label, f"value_{number + 1}": value}
    return client.post("/settings/", fields | more)


def test_facts_and_links_stand_on_the_profile(browser, raw, member, asked):
    assert fill_in(member, ("Pronouns", "she/her"), ("Web", SITE), ("<b>", "<i>")).status_code == 302
    assert json.loads(raw.hget("user:1", "facts")) == [["Pronouns", "she/her"], ["Web", SITE], ["<b>", "<i>"]]
    page = browser().get("/@alice/").content.decode()
    assert "<bdi>Pronouns</bdi>" in page
    assert f'<a href="{SITE}" rel="nofollow me">{SITE}</a>' in page
    assert "&lt;i&gt;" in page
    assert "<i>" not in page
    assert 'value="she/her"' in member.get("/settings/").content.decode()
    member.post("/settings/", {"name": "Alice L.", "bio": "x"})  # a form without these fields
    assert "she/her" in text_of(member.get("/@alice/"))
    fill_in(member)
    assert "Pronouns" not in text_of(member.get("/@alice/"))
    assert raw.hget("user:1", "facts") == "[]"


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (("Web", ""), "Fill in both the label and the text, or neither."),
        (("", SITE), "Fill in both the label and the text, or neither."),
        (("\u200b", SITE), "Fill in both the label and the text, or neither."),
        (("a" * 31, SITE), "1 character too many."),
        (("Web", "a" * 201), "1 character too many."),
    ],
)
def test_a_form_with_errors_keeps_what_was_typed(browser, raw, alice, pair, said):
    answer = fill_in(browser(alice), pair, bio="about me")
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert "about me" in answer.content.decode()
    assert not raw.hexists("user:1", "facts")


@pytest.mark.parametrize("value", ["https://ann.example", "http://ann.example:8000/a?b#c", "https://\u00fc.example/"])
def test_a_whole_web_address_is_a_link(value):
    assert Fact("Website", value).is_link


@pytest.mark.parametrize(
    "value",
    [
        *("javascript:alert(1)", "ann.example", "https://", "https://a b.example/", "https://a:b@c.example/"),
        *("https://[", "https://a.example:x/", "HTTPS//a.example", 'https://a.example/"', "data:text/html,x"),
    ],
)
def test_nothing_else_is_a_link(value):
    assert not Fact("Website", value).is_link


@pytest.mark.parametrize(
    "value",
    [
        *("https://paypal.com\u2215signin.evil.example/", "https://paypal.com\u30cesignin.evil.example/"),
        *("https://2130706433/", "https://\u05d0.\u05d0/1.example", "https://\u05d0.\u05d0:8000/a"),
    ],
    ids=["a slash that is none", "a letter like a slash", "a number", "digits that move", "a port that moves"],
)
def test_a_host_that_reads_as_another_one_is_no_link(browser, raw, member, asked, value):
    fill_in(member, ("Web", value))
    assert not Fact("Website", value).is_link
    assert f'href="{value}"' not in browser().get("/@alice/").content.decode()
    assert noted(raw) == []


def test_a_link_that_links_back_is_verified_until_it_is_changed(browser, raw, store, alice, asked):
    client, asked.back = browser(alice), {SITE}
    fill_in(client, ("Web", SITE), ("Other", "https://other.example/"))
    assert "Verified" not in text_of(client.get("/@alice/"))
    assert drain(store, "worker") == 1
    assert asked == [({SITE, "https://other.example/"}, "http://testserver/@Alice/")]
    assert json.loads(raw.hget("user:1", "verified_links")).keys() == {SITE}
    page = client.get("/@alice/").content.decode()
    assert f'<a href="{SITE}" rel="me">' in page
    assert page.count('class="tag verified"') == 1
    raw.hset("user:1", "verified_links", json.dumps({SITE: 1_700_000_000}))
    fill_in(client, ("Web", SITE))
    drain(store, "worker")
    assert json.loads(raw.hget("user:1", "verified_links")) == {SITE: 1_700_000_000}  # since when
    fill_in(client, ("Web", f"{SITE}new"))
    assert "Verified" not in text_of(client.get("/@alice/"))
    drain(store, "worker")
    assert raw.hget("user:1", "verified_links") == "{}"
    assert noted(raw) == []


def test_the_profile_is_at_the_address_that_the_operator_has_given(browser, store, settings, alice, asked):
    """A client chooses among ALLOWED_HOSTS, and any port: what is there may be another site's."""
    settings.ALLOWED_HOSTS = [".retwis.example", "testserver"]
    settings.GIVEN_ADDRESS = "https://retwis.example"
    client = browser(alice)
    client.defaults["HTTP_HOST"] = "other.retwis.example:8443"
    fill_in(client, ("Web", SITE))
    drain(store, "worker")
    sent = {"fields_attributes[0][name]": "Web", "fields_attributes[0][value]": f"{SITE}new"}
    App(alice).json("PATCH", "/api/v1/accounts/update_credentials", sent)
    drain(store, "worker")
    assert len(asked) == 2
    assert {profile for _, profile in asked} == {"https://retwis.example/@Alice/"}


def test_links_that_change_meanwhile_are_looked_at_again(browser, raw, store, alice, asked, monkeypatch):
    client, other = browser(alice), "https://other.example/"
    fill_in(client, ("Web", SITE))

    def change_meanwhile(links, profile):
        if SITE in links:
            raw.hset("user:1", "facts", json.dumps([["Web", other]]))
        return set(links)

    monkeypatch.setattr(facts, "linking_back", change_meanwhile)
    drain(store, "worker")
    assert json.loads(raw.hget("user:1", "verified_links")).keys() == {other}
    assert noted(raw) == []


def test_of_many_saves_at_once_the_last_one_is_looked_at(browser, raw, store, alice, asked, monkeypatch):
    """Else a member who saves sixty links to slow pages holds up all jobs of the site for five minutes."""
    client, asked.back = browser(alice), {SITE}
    for number in range(5):
        fill_in(client, ("Web", f"{SITE}{number}"))
    fill_in(client, ("Web", SITE))
    for job in noted(raw):  # all of this was five seconds ago
        raw.zincrby("outbox", -5, job)
    with monkeypatch.context() as then:
        then.setattr(facts, "time", SimpleNamespace(time=lambda: time.time() - 5))
        drain(store, "worker")
    assert [links for links, _ in asked] == [{SITE}]
    assert json.loads(raw.hget("user:1", "verified_links")).keys() == {SITE}
    assert noted(raw) == []
    asked.back = set()  # the page is another one by now
    fill_in(client, ("Web", SITE))
    drain(store, "worker")
    assert (len(asked), raw.hget("user:1", "verified_links")) == (2, "{}")


def test_a_save_that_is_killed_is_finished_by_a_worker(browser, raw, store, alice, asked):
    asked.back = {SITE}
    for step in each_moment():
        raw.hdel("user:1", "facts", "verified_links")
        killed_before_round_trip(
            step,
            lambda: facts.save_profile(
                store, alice.user, "New name", "", [facts.Fact("Web", SITE)], "https://x/@Alice/"
            ),
        )
        for job in noted(raw):
            raw.zadd("outbox", {job: 1})
        drain(store, "worker")
        assert raw.hexists("user:1", "facts") == raw.hexists("user:1", "verified_links"), step
        assert noted(raw) == [], step


def test_no_one_is_asked_where_the_site_says_so(browser, raw, store, alice, asked, settings):
    settings.LINK_CHECKS = False
    fill_in(browser(alice), ("Web", SITE))
    drain(store, "worker")
    assert asked == []


@pytest.mark.parametrize("bad", ["x", "{}", '[["a"]]', "[[1, 2]]", "[" * 100_000, '[["a", "b", "c"]]'])
def test_a_bad_value_in_the_store_is_skipped(browser, raw, alice, bad):
    raw.hset("user:1", mapping={"facts": bad, "verified_links": bad})
    assert browser().get("/@alice/").status_code == browser(alice).get("/settings/").status_code == 200


def test_they_go_with_the_account(raw, store, alice, browser, asked):
    fill_in(browser(alice), ("Web", SITE))
    drain(store, "worker")
    delete_and_remove(store, alice)
    assert raw.hgetall("user:1").keys() <= {"username", "deleted"}


def test_a_worker_goes_on_with_other_jobs_while_pages_are_asked(browser, raw, store, alice, asked, monkeypatch):
    """Else each member who saves a link to a page that never answers holds up all jobs of the site for five seconds."""
    monkeypatch.setattr(outbox, "TURN", 1.0)
    others_are_done, waited = Event(), []

    def linking_back(links, profile):
        waited.append(others_are_done.wait(5))
        return set(links)

    monkeypatch.setattr(facts, "linking_back", linking_back)
    for uid in range(11, 15):
        raw.hset(f"user:{uid}", mapping={"username": f"u{uid}", "facts": json.dumps([["Web", SITE]])})
        raw.zadd("outbox", {f"links:{uid}:{quote('https://x/', safe='')}:n": 1})
    raw.zadd("outbox", {"name:1:x:n": 2})
    for finished in rounds(store, "worker"):
        if finished["name"]:
            others_are_done.set()
    assert waited == [True] * 4
    assert all(json.loads(raw.hget(f"user:{uid}", "verified_links")).keys() == {SITE} for uid in range(11, 15))
    assert noted(raw) == []


def test_a_worker_asks_the_pages_of_few_members_at_once_and_of_the_others_later(raw, store, asked, monkeypatch):
    monkeypatch.setattr(facts, "MOST_LOOKS", 2)
    monkeypatch.setattr(outbox, "TURN", 1.0)
    ended = Event()
    monkeypatch.setattr(facts, "linking_back", lambda links, profile: set(links) if ended.wait(5) else set())
    for uid in range(11, 15):
        raw.hset(f"user:{uid}", mapping={"username": f"u{uid}", "facts": json.dumps([["Web", SITE]])})
        raw.zadd("outbox", {f"links:{uid}:{quote('https://x/', safe='')}:n": 1})
    raw.zadd("outbox", {f"links:11:{quote('https://x/', safe='')}:again": 1})  # of the same member: no second look
    now = time.time()
    for _ in rounds(store, "worker"):
        if len([due for _, due in raw.zrange("outbox", 0, -1, withscores=True) if due > now + 30]) == 3:
            ended.set()
    assert sum(raw.hexists(f"user:{uid}", "verified_links") for uid in range(11, 15)) == 2
    later = raw.zrange("outbox", 0, -1)
    assert len(later) == 3
    for job in later:
        raw.zadd("outbox", {job: 1})
    drain(store, "worker")
    assert all(json.loads(raw.hget(f"user:{uid}", "verified_links")).keys() == {SITE} for uid in range(11, 15))
    assert noted(raw) == []


def test_doctor_waits_for_the_pages(raw, store, asked, monkeypatch):
    monkeypatch.setattr(facts, "linking_back", lambda links, profile: set(links) if not Event().wait(0.3) else set())
    raw.hset("user:11", mapping={"username": "u11", "facts": json.dumps([["Web", SITE]])})
    claim = Claim(store, f"links:11:{quote('https://x/', safe='')}:n", attempt=2, turn=inf)
    assert facts.check_links(store, claim) is True
    assert json.loads(raw.hget("user:11", "verified_links")).keys() == {SITE}
