"""The first page of everyone, and the welcome page, are kept for one second for visitors to whom they look the same."""

import pytest
import redis
from django.http import HttpResponse
from django.test import RequestFactory

from accounts.signing_in.middleware import POSTS_CHANGED as CHANGED, SITE_CHANGED
from retwis_site.rendering import pages
from retwis_site.store.local_cache import Memory
from tests.support.memory import everything
from tests.support.people import LONG_AGO, PASSWORD
from tests.support.stored_keys import publish
from tests.support.stores.seam import before_each_round_trip, broken_store
from timeline.posts.composer import DRAFT_COOKIE
from timeline.posts.repository import Posts
from timeline.timelines.html import LAST_READ_COOKIE

URLS = ["/timeline/", "/"]
FIRST, LATER = "the first words", "words that came later"

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def later(browser, raw, store, alice, bob):
    """`later(url)`: bob publishes twice, and a visitor looks at the page in between. Another process publishes the
    second post: this one does not learn that anything has changed. Both are old, so no second changes their
    ages."""

    def publish_old(words):
        raw.hset(f"post:{publish(raw, store, bob, words)}", "time", LONG_AGO)

    def publish_twice(url):
        publish_old(FIRST)
        assert FIRST in text(browser().get(url))
        before = Memory.changes
        publish_old(LATER)
        Memory.changes = before

    return publish_twice


def text(answer):
    return answer.content.decode()


# ---- For one second


@pytest.mark.parametrize("url", URLS)
def test_a_page_is_kept_for_one_second_without_a_round_trip(browser, clock, later, round_trips, url):
    later(url)
    clock.sleep(0.9)
    assert round_trips(lambda: text(browser().get(url))).commands == []
    assert LATER not in text(browser().get(url))
    clock.sleep(0.2)
    assert LATER in text(browser().get(url))


@pytest.mark.parametrize("url", URLS)
def test_looking_at_it_does_not_prolong_the_second(browser, clock, later, url):
    later(url)
    for _ in range(3):
        clock.sleep(0.4)
        answer = browser().get(url)
    assert LATER in text(answer)


@pytest.mark.parametrize("url", URLS)
def test_what_this_process_changes_is_seen_at_once(browser, raw, store, bob, url):
    pid = publish(raw, store, bob, FIRST)
    assert FIRST in text(browser().get(url))
    publish(raw, store, bob, LATER)
    assert LATER in text(browser().get(url))
    Posts(store).delete(bob.user.uid, pid)
    assert FIRST not in text(browser().get(url))
    client = browser(bob)
    client.post("/settings/", {"name": "Robert the first", "bio": ""})
    assert "Robert the first" in text(browser().get(url))


def test_the_second_begins_before_the_first_command(browser, clock, raw, store, bob):
    publish(raw, store, bob, FIRST)
    with before_each_round_trip(lambda: clock.sleep(0.3)):  # two round trips
        browser().get("/timeline/")
    before = Memory.changes
    publish(raw, store, bob, LATER)
    Memory.changes = before  # as if another process had published it
    clock.sleep(0.5)
    assert LATER in text(browser().get("/timeline/"))


def test_a_page_that_a_head_request_has_made_serves_a_get_and_the_other_way_round(browser, raw, store, bob, clock):
    publish(raw, store, bob, FIRST)
    made = browser().head("/timeline/")
    got = browser().get("/timeline/")
    kept = browser().head("/timeline/")
    assert FIRST in text(got)
    assert made.status_code == kept.status_code == 200
    assert made.content == kept.content == b""
    assert made["ETag"] == got["ETag"] == kept["ETag"]
    assert made["Content-Length"] == got["Content-Length"] == kept["Content-Length"] == str(len(got.content))


@pytest.mark.parametrize("url", URLS)
def test_a_store_failure_is_a_503_as_soon_as_the_second_is_over(browser, clock, later, url):
    later(url)
    clock.sleep(1.1)
    with broken_store(redis.ConnectionError("Connection refused")):
        for _ in range(2):
            assert browser().get(url).status_code == 503
    assert LATER in text(browser().get(url))  # the failure is not kept either


def test_an_answer_that_is_no_page_or_sets_a_cookie_is_not_kept():
    answers = [HttpResponse("busy", status=503), HttpResponse("hello"), HttpResponse("hello again")]
    answers[1].set_cookie("counted", "1")
    view = pages.kept_for_visitors(lambda request: answers.pop(0))
    request = RequestFactory().get("/a/page/", SERVER_NAME="testserver")
    assert [text(view(request)) for _ in range(4)] == ["busy", "hello", "hello again", "hello again"]


# ---- The ETag


@pytest.mark.parametrize("url", URLS)
def test_a_browser_that_has_the_page_gets_a_304(browser, clock, later, round_trips, url):
    later(url)
    has = {"If-None-Match": browser().get(url)["ETag"]}
    answer = browser().get(url, headers=has)
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer["ETag"] == has["If-None-Match"]
    assert answer["Cache-Control"] == "no-cache"
    assert answer["Vary"] == "Accept-Language, Cookie"
    weak = {"If-None-Match": f"W/{has['If-None-Match']}"}  # as nginx makes it when it compresses the page
    assert browser().get(url, headers=weak).status_code == 304
    clock.sleep(1.1)
    assert browser().get(url, headers=has).status_code == 200


def test_the_etag_is_that_of_the_content_on_each_worker(browser, later):
    later("/timeline/")
    first = browser().get("/timeline/")
    pages._kept.clear()  # as a process that has kept nothing
    second = browser().get("/timeline/")
    assert LATER in text(second)
    assert second["ETag"] != first["ETag"]
    pages._kept.clear()
    assert browser().get("/timeline/")["ETag"] == second["ETag"]


@pytest.mark.parametrize("url", URLS)
def test_a_kept_page_has_the_headers_of_the_one_that_was_made(browser, later, url):
    later(url)
    pages._kept.clear()
    made, kept = browser().get(url), browser().get(url)
    assert made.content == kept.content
    of_both = [{**answer.headers, "X-Request-ID": ""} for answer in (made, kept)]
    assert of_both[0] == of_both[1]
    assert {"Content-Security-Policy", "X-Frame-Options", "Content-Language", "Content-Length"} <= of_both[1].keys()
    assert made["X-Request-ID"] != kept["X-Request-ID"]
    assert not kept.cookies


# ---- What is personal is not kept, and nobody gets the page of another


@pytest.mark.parametrize("url", URLS)
def test_a_user_sees_what_is_new_and_a_visitor_nothing_of_a_user(browser, raw, alice, later, url):
    raw.hset(f"user:{alice.user.uid}", "name", "Alice of the garden")
    later(url)
    hers = browser(alice)
    hers.cookies["theme"] = "dark"
    pages._kept.clear()
    before = browser().get(url)
    for _ in range(2):
        page = hers.get("/timeline/")
        assert LATER in text(page)
        assert 'action="/logout/"' in text(page)
        assert page["Cache-Control"] == "private, no-cache"
        assert "ETag" not in page
    assert hers.get("/timeline/", headers={"If-None-Match": before["ETag"]}).status_code == 200
    for client in (browser(), browser()):
        page = client.get(url)
        assert page.content == before.content
        assert not [mark for mark in ("/logout/", "csrfmiddlewaretoken", "data-theme") if mark in text(page)]


@pytest.mark.parametrize("cookie", ["auth", "messages", DRAFT_COOKIE, LAST_READ_COOKIE, CHANGED, SITE_CHANGED, "other"])
@pytest.mark.parametrize("url", URLS)
def test_a_browser_with_any_other_cookie_gets_a_page_of_its_own(browser, later, url, cookie):
    later(url)
    client = browser()
    client.cookies[cookie] = "anything"
    answer = client.get(url)
    assert LATER in text(answer)
    assert "ETag" not in answer
    assert (LATER in text(browser().get(url))) is (cookie == SITE_CHANGED)  # then all pages are made anew


@pytest.mark.parametrize("url", URLS)
def test_the_cookie_of_forms_means_nothing_for_a_visitor(browser, later, url):
    later(url)
    client = browser()
    client.get("/login/")
    assert "csrftoken" in client.cookies
    assert LATER not in text(client.get(url))


def test_a_message_is_shown_once_and_to_nobody_else(browser, member, later):
    later("/")
    member.post("/logout/")
    said = text(member.get("/"))
    assert "You are logged out." in said
    assert LATER in said
    assert "You are logged out." not in text(browser().get("/"))
    assert "You are logged out." not in text(member.get("/"))


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(("/logout/", {}), id="logged out"),
        pytest.param(("/settings/sessions/everywhere/", {}), id="logged out everywhere"),
        pytest.param(("/settings/delete/", {"password": PASSWORD}), id="deleted"),
    ],
)
@pytest.mark.parametrize("url", URLS)
def test_after_a_session_its_browser_sees_nothing_older_than_before(member, later, url, end):
    later(url)
    assert LATER in text(member.get("/timeline/"))
    assert member.post(*end).status_code == 302
    for _ in range(3):  # the first one also shows a message
        assert LATER in text(member.get(url))


# ---- What it depends on


@pytest.mark.parametrize("url", URLS)
def test_each_language_and_each_theme_has_a_page_of_its_own(browser, later, url):
    later(url)
    pages._kept.clear()
    looks = [(language, theme) for language in ("en", "de", "ar") for theme in ("", "light", "dark", "of-no-colour")]
    for _ in range(2):
        for language, theme in looks:
            client = browser()
            client.cookies["language"], client.cookies["theme"] = language, theme
            page = text(client.get(url))
            assert f'<html lang="{language}"' in page
            assert (f'data-theme="{theme}"' in page) is (theme in ("light", "dark"))
    assert browser().get(url, headers={"Accept-Language": "de"})["Content-Language"] == "de"
    assert len(everything(pages._kept)) == 9


def test_each_address_of_the_site_has_a_page_of_its_own(browser, later):
    later("/timeline/")
    for host in ("localhost", "127.0.0.1"):
        assert f'href="http://{host}/timeline/"' in text(browser().get("/timeline/", headers={"Host": host}))
    secure = text(browser().get("/timeline/", secure=True))
    assert 'href="https://testserver/timeline/"' in secure
    assert browser().get("/timeline/", headers={"Host": "elsewhere.example"}).status_code == 400


def test_an_address_with_a_query_is_not_kept(browser, later):
    later("/timeline/")
    assert LATER in text(browser().get("/timeline/?before=9"))
    assert LATER in text(browser().get("/timeline/?from=elsewhere"))
    assert browser().get("/timeline/?before=x").status_code == 400
    assert list(everything(pages._kept)) == [("/timeline/", "en", "", "on")]


def test_a_process_keeps_one_page_for_each_look_whatever_the_host(browser, later, settings):
    settings.ALLOWED_HOSTS = ["*"]
    later("/timeline/")
    for number in range(100):
        browser().get("/timeline/", headers={"Host": f"host{number}.example"})
    assert [kept.origin for kept in everything(pages._kept).values()] == ["http://host99.example"]


@pytest.mark.parametrize("setting", ["INSPECT", "DEBUG"])
@pytest.mark.parametrize("url", URLS)
def test_while_the_site_is_inspected_or_written_each_page_is_made(browser, later, settings, round_trips, url, setting):
    later(url)
    setattr(settings, setting, True)
    assert round_trips(lambda: browser().get(url)).commands
    assert LATER in text(browser().get(url))
