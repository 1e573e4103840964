"""The pages of the key browser: who sees them, and what stands on them."""

import html

import pytest

from accounts.community.acts import Roles
from accounts.inspector import views
from accounts.users.entities import Role
from retwis_site.exceptions import StoreRefused
from retwis_site.inspector import key_browser
from retwis_site.inspector.key_browser import line_of
from retwis_site.store import kinds
from retwis_site.store.kinds import EVERYONE, KINDS, TEXT, OfTwo, String
from retwis_site.telemetry.redaction import HIDDEN
from tests.support.http import page_text
from tests.support.maintenance.copied_sites import make_site_with_every_key
from tests.support.stored_keys import everything
from tests.support.stored_posts import write_posts

pytestmark = pytest.mark.usefixtures("inspected")

PAGES = ("/inspect/", "/inspect/user:1", "/inspect/nothing-here")
ELSEWHERE = {"REMOTE_ADDR": "198.51.100.7"}


@pytest.fixture
def page(browser, alice):
    """The text of a page as a visitor on the same machine reads it."""
    return lambda address: text_of(browser().get(address))


def text_of(answer):
    return html.unescape(page_text.text_of(answer))


# ---- who sees it


def test_without_inspect_there_is_no_such_page(browser, alice, store, settings):
    settings.INSPECT = False
    Roles(store).give(alice.user.uid, Role.ADMIN)
    for address in PAGES:
        assert browser(alice).get(address).status_code == 404


def test_everyone_on_the_same_machine_sees_it(browser, alice):
    for client in (browser(), browser(alice)):
        assert client.get("/inspect/").status_code == 200
        assert client.get("/inspect/user:1").status_code == 200


@pytest.mark.parametrize(
    "asked_from", [ELSEWHERE, {"HTTP_X_FORWARDED_FOR": "198.51.100.7"}], ids=["another machine", "behind a proxy"]
)
def test_from_elsewhere_it_exists_for_admins_alone(browser, store, alice, bob, carol, asked_from):
    Roles(store).give(alice.user.uid, Role.ADMIN)
    Roles(store).give(bob.user.uid, Role.MODERATOR)
    for client, status in ((browser(alice), 200), (browser(bob), 404), (browser(carol), 404), (browser(), 404)):
        for address in PAGES[:2]:
            assert client.get(address, **asked_from).status_code == status


def test_a_public_site_shows_it_to_admins_alone(browser, store, alice, settings):
    settings.PUBLIC = True
    assert browser(alice).get("/inspect/").status_code == 404
    Roles(store).give(alice.user.uid, Role.ADMIN)
    assert browser(alice).get("/inspect/").status_code == 200


def test_no_cache_keeps_it_and_no_search_engine_lists_it(browser, alice):
    for address in PAGES[:2]:
        answer = browser().get(address)
        assert answer["Cache-Control"] == "private, no-store"
        assert '<meta name="robots" content="noindex">' in answer.content.decode()


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_it_is_only_read(browser, raw, alice, method):
    before = everything(raw)
    for address in PAGES[:2]:
        assert getattr(browser(alice), method)(address).status_code == 405
    assert everything(raw) == before


@pytest.mark.one_server
def test_every_kind_of_key_has_a_page_and_looking_at_it_writes_nothing(client, raw, store, settings):
    make_site_with_every_key(raw, store)
    before = everything(raw)
    client.get("/inspect/")
    for key in before:
        assert client.get(f"/inspect/{key}").status_code == (404 if line_of(key) is None else 200), key
    assert everything(raw) == before


# ---- the families


def test_the_families_have_number_type_and_growth(raw, store, page):
    write_posts(raw, 1, [1, 2])
    text = page("/inspect/")
    assert "post:<pid> hash · 2 keys" in text
    assert "users hash · 1 key" in text
    assert "One key for each user" in text
    assert f"All {store.dbsize()} keys were looked at." in text


def test_every_family_of_the_key_table_is_named(page):
    text = page("/inspect/")
    for line in KINDS.values():
        assert line.name in text


def test_each_family_links_some_of_its_keys(browser, alice):
    page = browser().get("/inspect/").content.decode()
    assert '<a href="/inspect/user:1">' in page
    assert '<a href="/inspect/users">' in page


def test_the_names_of_keys_with_secrets_are_not_listed(raw, page):
    raw.set("idem:1:t0ken", "1")
    raw.set("reset:d1gest", "1:")
    raw.zadd("throttle:login:198.51.100.7", {"x": 1})
    text = page("/inspect/")
    for secret in ("t0ken", "d1gest", "198.51.100.7"):
        assert secret not in text


def test_the_secret_in_the_names_of_a_feature_s_own_kind_is_shown_nowhere(raw, page, monkeypatch):
    known = dict(kinds.KINDS)
    for module in (kinds, key_browser, views):
        monkeypatch.setattr(module, "KINDS", known)
    OfTwo("doors:<uid>:<pin>", String(TEXT), shown=EVERYONE, hides="pin")
    raw.set("doors:7:123456", "open")
    text = page("/inspect/")
    assert "doors:<uid>:<pin> string · 1 key" in text
    assert "123456" not in text
    assert f"doors:7:{HIDDEN}" in page("/inspect/doors:7:123456")


@pytest.mark.one_server
def test_a_large_store_is_looked_at_page_by_page(raw, browser, alice, monkeypatch):
    monkeypatch.setattr(key_browser, "AT_ONCE", 5)
    monkeypatch.setattr(key_browser, "SCANS", 1)
    write_posts(raw, 1, range(1, 41))
    client, address, pages = browser(), "/inspect/", 0
    while address:
        answer = client.get(address)
        assert answer.status_code == 200
        pages += 1
        link = answer.content.decode().partition('href="/inspect/?from=')[2].partition('"')[0]
        address = f"/inspect/?from={link.replace('&amp;', '&')}" if link else ""
        if address:
            assert f"of about {raw.dbsize()} keys" in text_of(answer)
    assert pages > 2
    assert f"All {raw.dbsize()} keys were looked at." in text_of(answer)
    assert "post:<pid> hash · 40 keys" in text_of(answer)


@pytest.mark.one_server
def test_a_page_of_families_costs_a_bounded_number_of_round_trips(raw, browser, alice, round_trips, monkeypatch):
    """How many it is depends on the server, which says how many keys a SCAN returns."""
    monkeypatch.setattr(key_browser, "AT_ONCE", 2)
    write_posts(raw, 1, range(1, 201))
    recorded = round_trips(lambda: browser().get("/inspect/"))
    assert [command[0] for command in recorded.commands].count("SCAN") == key_browser.SCANS
    assert len(recorded.round_trips) <= key_browser.SCANS + 4


@pytest.mark.parametrize(
    "query", ["from=x", "from=0.x", "from=9.0", "seen=1", "from=0.0&seen=1.1", "from=0.18446744073709551616"]
)
def test_a_wrong_cursor_is_a_400(browser, alice, query):
    assert browser().get(f"/inspect/?{query}").status_code == 400


def test_a_typed_key_leads_to_its_page(browser, alice):
    answer = browser().get("/inspect/", {"key": " user:1 "})
    assert (answer.status_code, answer["Location"]) == (302, "/inspect/user:1")


@pytest.mark.parametrize("key", ["tag:a/b", "tag:a\nb", "tag:?x#y", "//evil.example", "tag:%2e%2e", "<b>"])
def test_a_typed_key_of_any_kind_stays_on_this_site(browser, alice, key):
    answer = browser().get("/inspect/", {"key": key})
    assert answer["Location"].startswith("/inspect/")
    assert browser().get(answer["Location"]).status_code == 404


def test_what_the_server_refuses_is_said_on_the_page(page, monkeypatch):
    def refuse(*_):
        raise StoreRefused("the store refused SCAN: no permission. Give the site's user all rights")

    monkeypatch.setattr(key_browser, "scan", refuse)
    text = page("/inspect/")
    assert "the store refused SCAN" in text
    assert "users hash · 1 key" in text


# ---- one key


def test_a_key_shows_what_the_key_table_says(page):
    text = page("/inspect/following:1") + page("/inspect/user:1")
    assert "user:<uid>" in text
    assert "official, truth" in text
    assert "username (as typed)" in text


def test_a_key_that_is_not_there_is_a_404_that_says_so(browser, alice):
    answer = browser().get("/inspect/user:99")
    assert answer.status_code == 404
    assert "There is no such key now." in text_of(answer)


def test_a_key_of_another_program_does_not_exist(browser, raw):
    raw.set("another-program", "x")
    assert browser().get("/inspect/another-program").status_code == 404


def test_ids_link_the_people_and_posts(raw, browser, alice, bob):
    write_posts(raw, 2, [7])
    raw.zadd("following:1", {"2": 1_700_000_000})
    page = browser().get("/inspect/following:1").content.decode()
    assert '<a href="/inspect/user:2">' in page
    assert '<a href="/@bob/">' in page
    assert "2023-11-14T22:13:20Z" in page
    page = browser().get("/inspect/updates:2").content.decode()
    assert '<a href="/inspect/post:7">' in page
    assert '<a href="/@bob/7/">' in page


def test_the_id_in_the_name_of_a_key_is_linked(raw, browser, alice):
    write_posts(raw, 1, [7])
    assert '<a href="/@Alice/">' in browser().get("/inspect/updates:1").content.decode()
    assert '<a href="/@Alice/7/">' in browser().get("/inspect/post:7").content.decode()


def test_what_is_deleted_has_no_link_to_a_page(raw, browser, alice):
    raw.rpush("posts:1", "99")
    page = browser().get("/inspect/posts:1").content.decode()
    assert '<a href="/inspect/post:99">' in page
    assert "/99/" not in page


def test_private_keys_are_shown_to_their_owner_alone(raw, browser, alice, bob):
    raw.zadd("muted_words:1", {"home hide the finale": "+inf"})
    assert "the finale" in text_of(browser(alice).get("/inspect/muted_words:1"))
    for client in (browser(), browser(bob)):
        text = text_of(client.get("/inspect/muted_words:1"))
        assert "the finale" not in text
        assert "Only the size of this key is shown" in text


def test_a_large_key_has_a_link_to_the_rest(raw, browser, alice, monkeypatch):
    monkeypatch.setattr(key_browser, "A_PAGE", 2)
    write_posts(raw, 1, [1, 2, 3])
    page = browser().get("/inspect/updates:1").content.decode()
    assert 'href="?from=2"' in page
    assert "/inspect/post:1" not in page
    assert "/inspect/post:1" in browser().get("/inspect/updates:1?from=2").content.decode()


def test_what_a_post_holds_is_text_on_the_page(raw, browser, alice):
    write_posts(raw, 1, [1])
    raw.hset("post:1", "body", "<script>alert(1)</script>")
    page = browser().get("/inspect/post:1").content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


@pytest.mark.real_server
def test_encoding_and_memory_are_on_the_page(raw, page):
    text = page("/inspect/users")
    assert f"Encoding{raw.object('encoding', 'users')}" in text


def test_a_key_of_the_wrong_type_is_told(raw, page):
    raw.unlink("user:1")
    raw.rpush("user:1", "x")
    assert "It should be a hash." in page("/inspect/user:1")
    raw.unlink("user:1")
    raw.sadd("user:1", "x")
    said = page("/inspect/user:1")
    assert "It should be a hash." in said
    assert "Length" not in said
