"""English, German and Arabic: the choice at /settings/language/ is kept in a cookie and with the account. Without a
choice, Accept-Language decides. No request affects the language of another."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.utils import translation

from retwis_site.http import language
from retwis_site.http.language import COOKIE
from retwis_site.rendering import pages
from tests.support.clock import Clock
from tests.support.http.http_browser import TIMEOUT
from tests.support.people import PASSWORD
from tests.support.stored_keys import everything, publish
from timeline.posts import html as post_cards
from timeline.posts.html import age
from timeline.relations.relations import Follows
from timeline.timelines.html import STOPPED

URL = "/settings/language/"
APPEARANCE = "/settings/appearance/"
CODES = [code for code, _ in settings.LANGUAGES]
UNKNOWN = "xx"  # a language of no site
HOME = {"en": "Home", "de": "Startseite", "ar": "الرئيسية"}
PAGES = ["/", "/timeline/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/login/", "/register/", URL, "/nothing/"]


def get(client, url="/", **headers):
    return client.get(url, headers=headers, follow=True)


def language_of_page(answer):
    """The language of the page's `<html>`. Asserts that the direction, the header and the menu agree."""
    text = answer.content.decode()
    code, direction = re.search(r'<html lang="([\w-]+)" dir="(\w+)"', text).groups()
    assert direction == ("rtl" if code in settings.LANGUAGES_BIDI else "ltr")
    assert answer["Content-Language"] == code
    assert f"><span>{HOME[code]}</span></a>" in text
    return code


def options(answer):
    """The codes that the form offers, and the checked ones."""
    found = re.findall(r'<input type="radio" name="language" value="([\w-]+)"( checked)?>', answer.content.decode())
    return [value for value, _ in found], [value for value, checked in found if checked]


# ---- the language of a page


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        (f"{UNKNOWN},ar;q=0.5", "ar"),
        ("ar-EG", "ar"),
        (UNKNOWN, "en"),
        ("*", "en"),
        ("en;q=nan", "en"),
        ("zh-Hant-" * 100, "en"),
    ],
)
def test_without_a_choice_the_browser_decides(browser, accepted, language):
    assert language_of_page(get(browser(), accept_language=accepted)) == language


def test_a_long_accept_language_is_cached_only_as_far_as_it_is_read(browser):
    """A process caches a thousand of these headers, and a client may send long ones."""
    language._best_match.cache_clear()
    read_part = "de;q=0.5," + f"{UNKNOWN}," * 163
    for tail in ("y" * 100, "ar," * 5000, "z" * 100_000):
        assert language_of_page(get(browser(), accept_language=read_part + tail)) == "de"
    assert language._best_match.cache_info().currsize == 1
    assert language_of_page(get(browser(), accept_language="x" * 5000)) == "en"


@pytest.mark.parametrize("reader", ["alice", "a visitor"])
def test_every_page_is_in_the_chosen_language(browser, raw, store, alice, reader):
    publish(raw, store, alice, "hello")
    client = browser(alice if reader == "alice" else None)
    for code in ("ar", "de", "en", "ar"):
        client.post(URL, {"language": code})
        for url in PAGES:
            assert language_of_page(get(client, url, accept_language="de")) == code, url


@pytest.mark.parametrize("forged", ["", UNKNOWN, "AR", "de-DE", 'ar"><script>', "x" * 4000, "\u00e9"])
def test_a_cookie_with_an_unknown_language_is_ignored(browser, forged):
    client = browser()
    client.cookies[COOKIE] = forged
    assert language_of_page(get(client)) == "en"
    assert language_of_page(get(client, accept_language="de")) == "de"


@pytest.mark.parametrize("url", ["/", "/timeline/", "/@Alice/", "/login/", "/nothing/", URL, "/@Alice/1/", APPEARANCE])
def test_no_cache_shows_the_language_or_the_colours_of_one_visitor_to_another(browser, raw, store, alice, url):
    publish(raw, store, alice, "hello")
    for client in (browser(), browser(alice)):
        assert {"Accept-Language", "Cookie"} <= set(get(client, url)["Vary"].split(", "))


def test_messages_and_form_errors_are_translated(browser, alice, bob):
    client = browser(alice)
    client.post(URL, {"language": "de"})
    assert "Du folgst jetzt bob." in client.post("/@bob/follow/", follow=True).content.decode()
    assert "Schreib zuerst etwas." in client.post("/post/", {"body": " "}).content.decode()
    short = {"username": "dora", "password1": "short1!", "password2": "short1!"}
    client = browser()
    client.cookies[COOKIE] = "ar"
    text = client.post("/register/", short).content.decode()
    assert "كلمة المرور هذه قصيرة جدًا. الحد الأدنى لعدد أحرفها هو 8." in text
    assert "password is" not in text


# ---- the choice


@pytest.mark.parametrize("code", CODES)
def test_a_choice_is_kept_for_a_year_in_an_httponly_cookie(client, raw, code):
    before = everything(raw)
    answer = client.post(URL, {"language": code, "next": "/timeline/"})
    cookie = answer.cookies[COOKIE]
    assert (answer.status_code, answer["Location"]) == (302, "/timeline/")
    assert (cookie.value, cookie["max-age"], cookie["samesite"], cookie["path"]) == (code, 365 * 24 * 3600, "Lax", "/")
    assert cookie["httponly"]
    assert everything(raw) == before
    assert options(get(client, URL)) == (CODES, [code])


def test_without_a_choice_the_page_marks_the_current_language(browser):
    assert options(get(browser(), URL, accept_language="de")) == (CODES, ["de"])


def test_each_language_is_listed_by_its_own_name(browser):
    client = browser()
    for code in CODES:
        client.cookies[COOKIE] = code
        text = get(client, URL).content.decode()
        for other, name in settings.LANGUAGES:
            assert f'<span lang="{other}"><bdi>{name}</bdi></span>' in text


@pytest.mark.parametrize("chosen", [None, "", UNKNOWN, "ar ", "ar\0"])
def test_an_unknown_language_is_refused_and_changes_nothing(raw, member, chosen):
    form = {} if chosen is None else {"language": chosen}
    before = everything(raw)
    answer = member.post(URL, {**form, "next": "/timeline/"})
    assert answer.status_code == 422
    assert COOKIE not in answer.cookies
    assert "Choose one of these languages." in answer.content.decode()
    assert 'name="next" value="/timeline/"' in answer.content.decode()
    assert options(answer) == (CODES, [])
    assert everything(raw) == before


@pytest.mark.parametrize("away", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x", ""])
def test_it_redirects_to_the_previous_page_but_never_to_another_site(browser, away):
    opened = get(browser(), URL, referer="http://testserver/timeline/?before=5").content.decode()
    assert 'name="next" value="/timeline/?before=5"' in opened
    assert browser().post(URL, {"language": "de", "next": away})["Location"] == "/"


# ---- the account


def test_the_choice_of_a_user_is_stored_with_the_account(browser, raw, alice):
    before = everything(raw)
    browser(alice).post(URL, {"language": "ar"})
    assert raw.hget("user:1", "language") == "ar"
    raw.hdel("user:1", "language")
    assert everything(raw) == before


def test_a_login_sets_the_language_of_the_account(browser, client, raw, alice):
    raw.hset("user:1", "language", "ar")
    client.cookies[COOKIE] = "de"
    answer = client.post("/login/", {"username": "alice", "password": PASSWORD})
    cookie = answer.cookies[COOKIE]
    assert (cookie.value, cookie["max-age"], bool(cookie["httponly"])) == ("ar", 365 * 24 * 3600, True)
    home = get(client)
    assert language_of_page(home) == "ar"
    assert "مرحبًا بعودتك" in home.content.decode()
    assert language_of_page(get(browser(), "/login/")) == "en"


@pytest.mark.parametrize("stored", [None, "", UNKNOWN, "x" * 400])
def test_a_login_without_a_stored_language_keeps_the_browsers_choice(client, raw, alice, stored):
    if stored is not None:
        raw.hset("user:1", "language", stored)
    client.cookies[COOKIE] = "de"
    assert COOKIE not in client.post("/login/", {"username": "alice", "password": PASSWORD}).cookies
    assert language_of_page(get(client)) == "de"


def test_a_logout_and_a_registration_keep_the_choice(raw, member):
    member.post(URL, {"language": "de"})
    member.post("/logout/")
    assert language_of_page(get(member)) == "de"
    form = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}
    assert "Willkommen, dora!" in member.post("/register/", form, follow=True).content.decode()
    assert language_of_page(get(member)) == "de"
    assert raw.hget("user:2", "language") is None


def test_a_choice_costs_a_user_one_write_and_a_visitor_no_round_trip(browser, alice, round_trips):
    client, visitor = browser(alice), browser()
    get(client, URL)
    assert len(round_trips(lambda: get(client, URL)).round_trips) == 1
    recorded = round_trips(lambda: client.post(URL, {"language": "de"}))
    assert [str(command[0]) for command in recorded.commands].count("HSET") == 1
    assert len(recorded.round_trips) == 2  # the user, and the write
    for form in ({"language": "de"}, {"language": UNKNOWN}):
        assert len(round_trips(lambda form=form: visitor.post(URL, form)).round_trips) == 0
    assert len(round_trips(lambda: get(visitor, URL)).round_trips) == 0


def test_a_login_costs_no_more_with_a_language(browser, raw, alice, round_trips):
    def costs():
        recorded = round_trips(lambda: browser().post("/login/", {"username": "alice", "password": PASSWORD}))
        return len(recorded.round_trips), len(recorded.commands)

    costs()
    without = costs()
    raw.hset("user:1", "language", "ar")
    assert costs() == without


# ---- caches and threads


def test_each_language_has_its_own_pages(browser, raw, store, alice, bob, monkeypatch):
    monkeypatch.setattr(post_cards, "time", Clock())
    Follows(store).follow(alice.user.uid, bob.user.uid)
    publish(raw, store, bob, "from bob")
    clients = {(code, login is alice): browser(login) for code in CODES for login in (alice, None)}
    for (code, _), client in clients.items():
        client.cookies[COOKIE] = code
    for url in ("/", "/timeline/", "/@bob/", "/@bob/1/"):
        first = {}
        for times in range(3):
            for key, client in clients.items():
                answer = get(client, url)
                assert language_of_page(answer) == key[0]
                time = re.search(r'<time [^>]*title="([^"]*)">([^<]*)</time>', answer.content.decode()).groups()
                assert first.setdefault(key, time) == time, (url, times)
        assert len(set(first.values())) == len(CODES)


def test_a_fragment_is_rendered_for_each_language():
    fragments = {}
    for code in (*CODES, *CODES):
        fragments.setdefault(code, STOPPED.fill(code))
        assert STOPPED.fill(code) == fragments[code]
    assert len(set(fragments.values())) == len(CODES)


def test_the_language_is_reset_after_a_request(browser):
    client = browser()
    client.cookies[COOKIE] = "ar"
    for url in ("/", "/nothing/", "/@nobody/", "/?before=x", "/livez"):
        get(client, url)
        assert translation.get_language() == "en"
        assert language_of_page(get(browser())) == "en"


def test_the_language_is_reset_after_a_failed_request(browser, monkeypatch):
    def fail(*arguments):
        raise RuntimeError

    monkeypatch.setattr("timeline.timelines.views.EveryoneTimeline", fail)
    client = browser()
    client.cookies[COOKIE] = "ar"
    client.raise_request_exception = False
    assert language_of_page(get(client, "/timeline/")) == "ar"
    assert translation.get_language() == "en"


def test_parallel_requests_each_have_their_own_language(browser, monkeypatch):
    """Each request waits before its page is rendered until all others do."""
    barrier = threading.Barrier(len(CODES) * 2)
    seen = {}

    def wait(request, real=pages.theme_of):
        barrier.wait(TIMEOUT)
        return real(request)

    def send_requests(number):
        client = browser()
        code = client.cookies[COOKIE] = CODES[number % len(CODES)]
        seen[number] = [(code, language_of_page(client.get("/nothing/"))) for _ in range(5)]

    monkeypatch.setattr(pages, "theme_of", wait)

    with ThreadPoolExecutor(len(CODES) * 2) as threads:
        [*threads.map(send_requests, range(len(CODES) * 2))]
    assert len(seen) == len(CODES) * 2
    assert all(chosen == shown for pairs in seen.values() for chosen, shown in pairs)


# ---- ages and times


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", ["vor 1 Minute", "vor 2 Minuten", "vor 3 Minuten", "vor 11 Minuten"]),
        ("ar", ["قبل دقيقة واحدة", "قبل دقيقتين", "قبل 3 دقائق", "قبل 11 دقيقة"]),
    ],
)
def test_an_age_has_the_right_plural(language, words):
    with translation.override(language):
        ages = [age(0, 60 * number, language).words for number in (1, 2, 3, 11)]
    assert all(word in age for word, age in zip(words, ages, strict=True)), ages


def test_an_age_has_the_exact_time_as_its_title(browser, raw, store, alice):
    publish(raw, store, alice, "hello")
    raw.hset("post:1", "time", "1700000000")
    titles = {
        "en": "14 November 2023, 22:13 UTC",
        "de": "14. November 2023, 22:13 UTC",
        "ar": "14 نوفمبر 2023، 22:13 UTC",
    }
    for code, title in titles.items():
        client = browser()
        client.cookies[COOKIE] = code
        for url in ("/timeline/", "/@Alice/1/"):
            text = get(client, url).content.decode()
            assert re.search(f'<time datetime="2023-11-14T22:13:20Z" title="[^"]+ · {title}">', text)


def test_the_line_that_other_programs_parse_stays_in_english(browser, raw, store, alice):
    publish(raw, store, alice, "hello")
    text = get(browser(), "/timeline/").content.decode()
    assert re.search(r'<time datetime="[^"]+" title="posted \d+ seconds ago via web · [^"]+">now</time>', text)
