"""English, German and Arabic: chosen at /settings/language/, kept in the browser and with the account, else what the
browser asks for; and no request hears the language of another."""

import re
import threading

import pytest
from django.conf import settings
from django.utils import translation

from retwis_site.http import language
from retwis_site.http.language import COOKIE
from retwis_site.rendering import pages
from retwis_site.rendering.pages import fragment
from tests.support.people import PASSWORD
from tests.support.protocols.site_machine import Clock
from tests.support.stored_keys import everything, publish
from timeline.posts.html import post_cards
from timeline.posts.html.post_cards import age_of
from timeline.relations.follow import Follows

URL = "/settings/language/"
CODES = ["en", "de", "ar"]
HOME = {"en": "Home", "de": "Startseite", "ar": "الرئيسية"}
PAGES = ["/", "/timeline/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/login/", "/register/", URL, "/nothing/"]


def get(client, url="/", **headers):
    return client.get(url, headers=headers, follow=True)


def spoken(answer):
    """What the page's `<html>` says, and that all else agrees."""
    text = answer.content.decode()
    code, direction = re.search(r'<html lang="(\w+)" dir="(\w+)"', text).groups()
    assert direction == ("rtl" if code == "ar" else "ltr")
    assert answer["Content-Language"] == code
    assert f"</svg>{HOME[code]}</a>" in text
    return code


def offered(answer):
    found = re.findall(r'<input type="radio" name="language" value="(\w+)"( checked)?>', answer.content.decode())
    return [value for value, _ in found], [value for value, marked in found if marked]


# ---- what is read


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr,ar;q=0.5", "ar"),
        ("ar-EG", "ar"),
        ("fr", "en"),
        ("*", "en"),
        ("en;q=nan", "en"),
        ("zh-Hant-" * 100, "en"),
    ],
)
def test_who_has_not_chosen_reads_what_their_browser_asks_for(browser, accepted, language):
    assert spoken(get(browser(), accept_language=accepted)) == language


def test_of_what_a_stranger_sends_no_more_is_remembered_than_is_looked_at(browser):
    """A process remembers a thousand of these headers, and each may be as long as a server takes."""
    language._best_match.cache_clear()
    looked_at = "de;q=0.5," + "fr," * 163
    for tail in ("y" * 100, "ar," * 5000, "z" * 100_000):
        assert spoken(get(browser(), accept_language=looked_at + tail)) == "de"
    assert language._best_match.cache_info().currsize == 1
    assert spoken(get(browser(), accept_language="x" * 5000)) == "en"


@pytest.mark.parametrize("who", ["alice", "a visitor"])
def test_every_page_is_in_the_chosen_language_until_there_is_another(browser, raw, store, alice, who):
    publish(raw, store, alice, "hello")
    client = browser(alice if who == "alice" else None)
    for code in ("ar", "de", "en", "ar"):
        client.post(URL, {"language": code})
        for url in PAGES:
            assert spoken(get(client, url, accept_language="de")) == code, url


@pytest.mark.parametrize("forged", ["", "fr", "AR", "de-DE", 'ar"><script>', "x" * 4000, "\u00e9"])
def test_a_cookie_that_names_none_of_ours_is_as_none(browser, forged):
    client = browser()
    client.cookies[COOKIE] = forged
    assert spoken(get(client)) == "en"
    assert spoken(get(client, accept_language="de")) == "de"


@pytest.mark.parametrize("url", ["/", "/login/", "/nothing/", URL, "/@Alice/1/"])
def test_no_cache_shows_one_visitors_language_to_another(browser, raw, store, alice, url):
    publish(raw, store, alice, "hello")
    for client in (browser(), browser(alice)):
        assert {"Accept-Language", "Cookie"} <= set(get(client, url)["Vary"].split(", "))


def test_messages_and_what_is_wrong_with_a_form_are_in_the_language_too(browser, alice, bob):
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


# ---- choosing


@pytest.mark.parametrize("code", CODES)
def test_a_choice_is_kept_for_a_year_where_no_script_can_read_it(browser, raw, code):
    client = browser()
    before = everything(raw)
    answer = client.post(URL, {"language": code, "next": "/timeline/"})
    cookie = answer.cookies[COOKIE]
    assert (answer.status_code, answer["Location"]) == (302, "/timeline/")
    assert (cookie.value, cookie["max-age"], cookie["samesite"], cookie["path"]) == (code, 365 * 24 * 3600, "Lax", "/")
    assert cookie["httponly"]
    assert everything(raw) == before
    assert offered(get(client, URL)) == (CODES, [code])


def test_the_page_marks_what_is_read_also_where_nothing_was_chosen(browser):
    assert offered(get(browser(), URL, accept_language="de")) == (CODES, ["de"])


def test_each_language_calls_itself_by_its_own_name(browser):
    client = browser()
    for code in CODES:
        client.cookies[COOKIE] = code
        text = get(client, URL).content.decode()
        for one, name in settings.LANGUAGES:
            assert f'<span lang="{one}"><bdi>{name}</bdi></span>' in text


@pytest.mark.parametrize("form", [{}, {"language": ""}, {"language": "fr"}, {"language": "ar "}, {"language": "ar\0"}])
def test_what_is_none_of_them_is_refused_and_changes_nothing(browser, raw, alice, form):
    client = browser(alice)
    before = everything(raw)
    answer = client.post(URL, {**form, "next": "/timeline/"})
    assert answer.status_code == 422
    assert COOKIE not in answer.cookies
    assert "Choose one of these languages." in answer.content.decode()
    assert 'name="next" value="/timeline/"' in answer.content.decode()
    assert offered(answer) == (CODES, [])
    assert everything(raw) == before


def test_without_a_token_nothing_is_chosen(browser):
    answer = browser(csrf=True).post(URL, {"language": "de"})
    assert answer.status_code == 403
    assert COOKIE not in answer.cookies


@pytest.mark.parametrize("url", PAGES)
def test_every_page_leads_to_it(browser, raw, store, alice, url):
    publish(raw, store, alice, "hello")
    for client in (browser(alice), browser()):
        assert f'<a href="{URL}"' in get(client, url).content.decode()


@pytest.mark.parametrize("away", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x", ""])
def test_it_leads_back_to_where_one_was_and_never_elsewhere(browser, away):
    opened = get(browser(), URL, referer="http://testserver/timeline/?before=5").content.decode()
    assert 'name="next" value="/timeline/?before=5"' in opened
    assert browser().post(URL, {"language": "de", "next": away})["Location"] == "/"


# ---- the account


def test_the_choice_of_who_is_signed_in_is_kept_with_the_account(browser, raw, alice):
    before = everything(raw)
    browser(alice).post(URL, {"language": "ar"})
    assert raw.hget("user:1", "language") == "ar"
    raw.hdel("user:1", "language")
    assert everything(raw) == before


def test_a_login_brings_it_into_another_browser(browser, raw, alice):
    raw.hset("user:1", "language", "ar")
    client = browser()
    client.cookies[COOKIE] = "de"
    answer = client.post("/login/", {"username": "alice", "password": PASSWORD})
    cookie = answer.cookies[COOKIE]
    assert (cookie.value, cookie["max-age"], bool(cookie["httponly"])) == ("ar", 365 * 24 * 3600, True)
    home = get(client)
    assert spoken(home) == "ar"
    assert "مرحبًا بعودتك" in home.content.decode()
    assert spoken(get(browser(), "/login/")) == "en"


@pytest.mark.parametrize("kept", [None, "", "fr", "x" * 400])
def test_without_one_a_login_leaves_the_browsers_as_it_is(browser, raw, alice, kept):
    if kept is not None:
        raw.hset("user:1", "language", kept)
    client = browser()
    client.cookies[COOKIE] = "de"
    answer = client.post("/login/", {"username": "alice", "password": PASSWORD})
    assert COOKIE not in answer.cookies
    assert spoken(get(client)) == "de"


def test_a_logout_and_a_registration_leave_it_as_it_is(browser, raw, alice):
    client = browser(alice)
    client.post(URL, {"language": "de"})
    client.post("/logout/")
    assert spoken(get(client)) == "de"
    form = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}
    assert "Willkommen, dora!" in client.post("/register/", form, follow=True).content.decode()
    assert spoken(get(client)) == "de"
    assert raw.hget("user:2", "language") is None


def test_it_costs_a_user_one_write_and_a_visitor_nothing(browser, alice, round_trips):
    client, stranger = browser(alice), browser()
    get(client, URL)
    assert len(round_trips(lambda: get(client, URL)).round_trips) == 1
    recorded = round_trips(lambda: client.post(URL, {"language": "de"}))
    assert [str(command[0]) for command in recorded.commands].count("HSET") == 1
    assert len(recorded.round_trips) == 2  # who it is, and the write
    for form in ({"language": "de"}, {"language": "fr"}):
        assert len(round_trips(lambda form=form: stranger.post(URL, form)).round_trips) == 0
    assert len(round_trips(lambda: get(stranger, URL)).round_trips) == 0


def test_a_login_costs_no_more_with_a_language(browser, raw, alice, round_trips):
    def costs():
        recorded = round_trips(lambda: browser().post("/login/", {"username": "alice", "password": PASSWORD}))
        return len(recorded.round_trips), len(recorded.commands)

    costs()
    without = costs()
    raw.hset("user:1", "language", "ar")
    assert costs() == without


# ---- nothing of another's


def test_pages_that_are_remembered_are_so_for_each_language(browser, raw, store, alice, bob, monkeypatch):
    monkeypatch.setattr(post_cards, "time", Clock())
    Follows(store).follow(alice.user.uid, bob.user.uid)
    publish(raw, store, bob, "from bob")
    clients = {(code, who is alice): browser(who) for code in CODES for who in (alice, None)}
    for (code, _), client in clients.items():
        client.cookies[COOKIE] = code
    for url in ("/", "/timeline/", "/@bob/", "/@bob/1/"):
        first = {}
        for times in range(3):
            for key, client in clients.items():
                answer = get(client, url)
                assert spoken(answer) == key[0]
                said = re.search(r'<time [^>]*title="([^"]*)">([^<]*)</time>', answer.content.decode()).groups()
                assert first.setdefault(key, said) == said, (url, times)
        assert len(set(first.values())) == len(CODES)


def test_a_part_knows_its_language_itself():
    said = {}
    for code in (*CODES, *CODES):
        with translation.override(code):
            said.setdefault(code, fragment("timeline/timelines/_stopped.html", {}))
            assert fragment("timeline/timelines/_stopped.html", {}) == said[code]
    assert len(set(said.values())) == len(CODES)


def test_after_a_request_nobody_speaks_its_language(browser):
    client = browser()
    client.cookies[COOKIE] = "ar"
    for url in ("/", "/nothing/", "/@nobody/", "/?before=x", "/livez"):
        get(client, url)
        assert translation.get_language() == "en"
        assert spoken(get(browser())) == "en"


def test_nor_when_it_fails(browser, monkeypatch):
    def fail(*arguments):
        raise RuntimeError

    monkeypatch.setattr("timeline.timelines.views.GlobalTimeline", fail)
    client = browser()
    client.cookies[COOKIE] = "ar"
    client.raise_request_exception = False
    assert spoken(get(client, "/timeline/")) == "ar"
    assert translation.get_language() == "en"


def test_requests_at_once_each_have_their_own(browser, monkeypatch):
    """Each waits, before its page is rendered, until all others are as far."""
    together = threading.Barrier(len(CODES) * 2)
    heard = {}

    def wait(request, real=pages.theme_of):
        together.wait(20)
        return real(request)

    def viewer(number):
        client = browser()
        code = client.cookies[COOKIE] = CODES[number % len(CODES)]
        heard[number] = [(code, spoken(client.get("/nothing/"))) for _ in range(5)]

    monkeypatch.setattr(pages, "theme_of", wait)

    threads = [threading.Thread(target=viewer, args=[number]) for number in range(len(CODES) * 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == len(CODES) * 2
    assert all(code == said for told in heard.values() for code, said in told)


# ---- ages and moments


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", ["vor 1 Minute", "vor 2 Minuten", "vor 3 Minuten", "vor 11 Minuten"]),
        ("ar", ["قبل دقيقة واحدة", "قبل دقيقتين", "قبل 3 دقائق", "قبل 11 دقيقة"]),
    ],
)
def test_an_age_has_the_plural_that_its_number_takes(language, words):
    with translation.override(language):
        told = [age_of(60 * number, language).words for number in (1, 2, 3, 11)]
    assert all(one in said for one, said in zip(words, told, strict=True)), told


def test_the_exact_moment_stands_behind_the_words(browser, raw, store, alice):
    publish(raw, store, alice, "hello")
    raw.hset("post:1", "time", "1700000000")
    moments = {
        "en": "14 November 2023, 22:13 UTC",
        "de": "14. November 2023, 22:13 UTC",
        "ar": "14 نوفمبر 2023، 22:13 UTC",
    }
    for code, moment in moments.items():
        client = browser()
        client.cookies[COOKIE] = code
        for url in ("/timeline/", "/@Alice/1/"):
            text = get(client, url).content.decode()
            assert f'<time datetime="2023-11-14T22:13:20Z" title="{moment}">' in text


def test_what_other_programs_look_for_stays_in_english(browser, raw, store, alice):
    publish(raw, store, alice, "hello")
    text = get(browser(), "/timeline/").content.decode()
    assert re.search(r'<time datetime="[^"]+" title="[^"]+">posted \d+ seconds ago via web</time>', text)
