"""Every word on a page can be translated. The users of these tests have names and posts without letters."""

import io
import re
from html.parser import HTMLParser
from unittest import mock

import pytest
from django.conf import settings
from django.conf.locale import LANG_INFO
from django.test import Client
from django.utils.translation import trans_real

from accounts.community.log import Act, Log
from accounts.community.sanctions import Sanctions
from accounts.media.repository import Pictures
from accounts.signing_in import html as frames
from accounts.signing_in.passwords import HASHING
from accounts.users.entities import State
from retwis_site.exceptions import StoreError
from retwis_site.features import features
from retwis_site.http.language import COOKIE
from retwis_site.inspector import middleware as inspector
from retwis_site.rendering import dates
from retwis_site.rendering.fragments import Fragment
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from tests.support.http.security_headers import addresses
from tests.support.people import PASSWORD, WEAK_PASSWORDS, register
from tests.support.protocols.reports import make_admin, report
from tests.support.stored_keys import publish
from timeline.moderation.queue import ACTS
from timeline.moderation.reports import Action, Reports
from timeline.people import html as people_html
from timeline.posts import html as post_cards
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

# ---- a test catalog puts brackets around each text: outside of them, a page may have no letters except names and code

LANGUAGE = "de"  # whose catalog the tests replace
# The names of languages: each in its own language, and as Django has it for the other languages.
NAMES = {
    "Retwis",
    "Atom",
    "RSS",
    *(name for code, own in settings.LANGUAGES for name in (own, LANG_INFO[code]["name"])),
}
LETTERS = re.compile(r"[^\W\d_]+")
ATTRIBUTES = {"title", "aria-label", "aria-description", "alt", "placeholder", "label"}
TEXTLESS = ("theme", "colour", "phrases", "shortcuts", "copies", "adds", "asks", "says-of", "accepted")
DATA_WITHOUT_TEXT = {f"data-{name}" for name in TEXTLESS}
META_TEXTS = {"description", "og:title", "og:description"}
BUTTONS = {"submit", "button", "reset"}
WITHOUT_TEXT = {"script", "style"}
VOID = {"meta", "link", "img", "input", "br", "hr", "source", "wbr"}


class BracketCatalog:
    """A catalog that puts brackets around each text, translated yet or not."""

    def gettext(self, message):
        return f"⟦{message.rpartition(chr(4))[2]}⟧" if message else message

    def ngettext(self, one, many, number):
        return f"⟦{one if number == 1 else many}⟧"

    def plural(self, number):
        return int(number != 1)

    def to_language(self):
        return LANGUAGE


class Words(HTMLParser):
    """The words of a page outside of the brackets, each with its place: (tag or attribute, word)."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.bare, self._open, self._depth = [], [], 0
        self.feed(html)
        self.close()
        assert self._depth == 0

    def handle_starttag(self, tag, attrs):
        has = {name: value or "" for name, value in attrs}
        read = {
            name for name in has if name in ATTRIBUTES or (name.startswith("data-") and name not in DATA_WITHOUT_TEXT)
        }
        if tag == "input" and has.get("type") in BUTTONS:
            read.add("value")
        if tag == "meta" and META_TEXTS & {has.get("name"), has.get("property")}:
            read.add("content")
        for name in read if "" not in self._open[1:] else ():
            self._look(has[name], f"{tag} {name}", 0)
        if tag not in VOID:
            # text with a `lang` attribute is not translated, and code, keys and an address to copy neither
            self._open.append("" if has.get("lang") or tag in {"code", "kbd"} or "readonly" in has else tag)

    def handle_endtag(self, tag):
        if tag not in VOID and self._open:
            self._open.pop()

    def handle_data(self, data):
        if self._open and (self._open[-1] in WITHOUT_TEXT or "" in self._open[1:]):
            return
        self._depth = self._look(data, self._open[-1] if self._open else "", self._depth)

    def _look(self, text, where, depth):
        for piece in re.split("([⟦⟧])", text):
            depth += {"⟦": 1, "⟧": -1}.get(piece, 0)
            assert depth >= 0, (where, text)
            if not depth:
                self.bare += [(where, word) for word in LETTERS.findall(piece) if word not in NAMES]
        return depth


def forget_words():
    """So that other translations show."""
    Memory.clear_all()
    for fragment in Fragment.every:
        fragment._rendered.clear()
    for cached in (
        dates._day,
        frames._of_site,
        frames.news_link,
        post_cards._young,
        post_cards._old,
        post_cards._reposted,
        post_cards.phrases,
        people_html._newest_user,
        inspector._summary,
        inspector._round_trip_in_words,
    ):
        cached.cache_clear()


@pytest.fixture(scope="module")  # each fragment is rendered in brackets once
def brackets():
    with mock.patch.dict(trans_real._translations, {LANGUAGE: BracketCatalog()}):
        forget_words()
        yield
    forget_words()


@pytest.fixture
def people(raw, store):
    """`1` follows `2` and `3`, who follow each other. `2` wrote more than a page of posts, `1` wrote 2. `4` is new."""
    one, two, _, four = (register(store, str(number)) for number in (1, 2, 3, 4))
    for follower, followed in ((1, 2), (1, 3), (2, 3), (3, 2), (2, 1)):
        Follows(store).follow(follower, followed)
    for number in range(24):
        publish(raw, store, one if number in {0, 12} else two, f"12 {number}")
    pid = publish(raw, store, two, "67 890")
    Posts(store).delete(two.user.uid, pid)
    return {"one": one, "four": four, "deleted": pid}


def browser(login=None, **options):
    client = Client(**options)
    client.cookies[COOKIE] = LANGUAGE
    if login is not None:
        client.cookies[settings.AUTH_COOKIE] = login.secret
    return client


def bare(answer):
    """The untranslatable words of a response; an empty list when it is not HTML."""
    if not answer.get("Content-Type", "").startswith("text/html"):
        return []
    return Words(b"".join(answer.streaming_content).decode() if answer.streaming else answer.content.decode()).bare


ADDRESSES = sorted(addresses(username="2", pid=2, key="user:2").values())  # of user `2` and one of the posts of `2`


# ---- pages


def test_every_address_has_only_translated_words(brackets, people):
    for client in (browser(), browser(people["one"]), browser(people["four"])):
        assert {url: words for url in ADDRESSES if (words := bare(client.get(url)))} == {}


def test_every_address_of_staff_has_only_translated_words(brackets, people, store):
    admin = register(store, "5")
    make_admin(store, admin.user.uid)
    reports = [report(store, 4, 2, 2, body="2"), report(store, 4, 1, 1, body="1")]
    Reports(store).decide(reports[0], admin.user.uid, [Action.FREEZE], "1", 2_000_000_000)
    for what in ACTS:
        Log(store).write(Act(what=what, by=admin.user.uid, whom=2, reason="2"))
    Pictures(store).block("f" * 40)
    Log(store).write(Act(what="picture:removed", by=admin.user.uid, whom=2, reason="2", at=1, also="f" * 40))
    for uid in (1, 2):
        Sanctions(store).impose(uid, State.FROZEN, "1")
        Sanctions(store).appeal(uid, "1")
    found = {url for url in ADDRESSES if url.startswith("/moderation/")} - {"/moderation/reports/1/"}
    for url in sorted(found | {f"/moderation/reports/{one.rid}/" for one in reports}):
        answer = browser(admin).get(url)
        assert answer.status_code == 200, url
        assert bare(answer) == [], url


def test_older_empty_and_missing_pages_have_only_translated_words(brackets, people):
    urls = [
        "/?before=24",
        "/?before=1",
        "/timeline/?before=24",
        "/timeline/?before=1",
        "/@2/?before=24",
        "/@2/?before=1",
        "/@1/",
        "/@1/1/",
        "/@1/followers/",
        "/@4/",
        "/@4/followers/",
        "/@4/following/",
        "/@2/following/?before=1-1",
        "/@2/followers/?before=1-1",
        "/@2/followers/?show=mutual",
        "/@2/following/?show=not-followed-back",
        "/@4/following/?show=mutual",
        "/people/?before=2",
        "/people/?by=followers",
        "/people/?q=2",
        "/people/?q=9",
        "/new/?after=1",
        "/?before=0",
        "/nothing/",
        "/@nobody/",
        "/@2/999/",
    ]
    for client in (browser(), browser(people["one"]), browser(people["four"])):
        assert {url: words for url in urls if (words := bare(client.get(url)))} == {}


def test_deleted_posts_and_new_posts_have_only_translated_words(brackets, people, raw, store):
    client = browser(people["one"])
    assert client.get(f"/@2/{people['deleted']}/").status_code == 410
    assert bare(client.get(f"/@2/{people['deleted']}/")) == []
    client.get("/")
    for number in range(2):
        publish(raw, store, register(store, f"1{number}"), "1")
    Follows(store).follow(1, 5)
    for seen in (24, 15, 1):
        raw.hset("user:1", "seen", seen)
        fresh = browser(people["one"])
        for url in ("/", "/?before=16", f"/new/?after={seen}"):
            assert bare(fresh.get(url)) == [], (seen, url)


def test_an_empty_site_has_only_translated_words(brackets, store):
    for client in (browser(), browser(register(store, "1"))):
        for url in ("/", "/timeline/", "/@1/"):
            assert bare(client.get(url)) == []


# ---- what developers see


def test_the_pages_about_keys_have_only_translated_words(brackets, people, inspected):
    for key in ("", "user:1", "user:9", "post:1", "users", "auths", "timeline", "followers:2"):
        answer = browser().get(f"/inspect/{key}")
        assert answer.status_code == (404 if key == "user:9" else 200), key
        assert [found for found in bare(answer) if found != ("title", key.partition(":")[0])] == [], key


def test_the_inspector_has_only_translated_words(brackets, people, store, inspected):
    client = browser(people["one"])
    client.post("/post/", {"body": "1", "token": "3"})
    for url in ("/", "/timeline/"):  # with the form, and without it
        page = client.get(url)
        assert b'id="inspector"' in page.content
        assert bare(page) == []


# ---- responses to forms


NEW = {"username": "5", "password1": PASSWORD, "password2": PASSWORD}


@pytest.mark.parametrize(
    ("url", "form"),
    [
        *[("/register/", {**NEW, "password1": one, "password2": one}) for one, _ in WEAK_PASSWORDS],
        ("/register/", {}),
        ("/register/", {**NEW, "username": "1"}),
        ("/register/", {**NEW, "username": "!"}),
        ("/register/", {**NEW, "username": "\0"}),
        ("/register/", {**NEW, "password2": "1"}),
        ("/register/", NEW),
        ("/login/", {}),
        ("/login/", {"username": "1", "password": "1"}),
        ("/login/", {"username": "1", "password": PASSWORD}),
        ("/login/", {"username": "1" * 9999, "password": "1" * 200}),
        ("/logout/", {}),
        ("/post/", {}),
        ("/post/", {"body": "1" * 281}),
        ("/post/", {"body": "\0"}),
        ("/post/", {"body": "1", "token": "!"}),
        ("/post/", {"body": "1", "token": "1"}),
        ("/post/", {"body": "2", "token": "1"}),
        ("/@2/follow/", {}),
        ("/@2/unfollow/", {}),
        ("/@1/follow/", {}),
        ("/@nobody/follow/", {}),
        ("/@1/1/delete/", {}),
        ("/@2/2/delete/", {}),
        ("/settings/appearance/", {}),
        ("/settings/language/", {}),
        ("/settings/password/", {}),
        ("/settings/password/", {**NEW, "password": "1"}),
        ("/settings/password/", {**NEW, "password": PASSWORD}),
        ("/settings/", {"name": "1" * 51, "bio": "1" * 161}),
        ("/settings/", {"name": "1", "bio": "1"}),
        ("/settings/delete/", {}),
        ("/settings/delete/", {"password": "1"}),
        ("/settings/delete/", {"password": PASSWORD}),
    ],
)
def test_responses_to_forms_have_only_translated_words(brackets, people, store, url, form):
    Posts(store).publish(1, NewPost("1"), "1")
    for client in (browser(), browser(people["one"])):
        assert bare(client.post(url, form, follow=True)) == []
        assert bare(client.get("/")) == []  # shows the message of the form, if any


@pytest.mark.parametrize("url", ["/post/", "/login/", "/register/", "/logout/", "/settings/password/"])
@pytest.mark.parametrize("origin", [{}, {"origin": "https://evil.example"}])
def test_errors_of_forms_without_a_token_have_only_translated_words(brackets, people, url, origin):
    client = browser(people["one"], enforce_csrf_checks=True)
    answer = client.post(url, {"body": "1", "username": "1", "password": "1", "password1": "1"}, headers=origin)
    assert answer.status_code == 403
    assert bare(answer) == []


LIMITS = {
    "login": ("/login/", {"username": "1", "password": "1"}),
    "attempt": ("/login/", {"username": "1", "password": "1"}),
    "register": ("/register/", NEW),
    "post": ("/post/", {"body": "1"}),
    "follow": ("/@2/follow/", {}),
    "edit": ("/settings/", {"name": "1"}),
    "password": ("/settings/password/", {"password": "1"}),
}


def test_the_page_of_a_full_queue_has_only_translated_words(brackets, people, monkeypatch):
    monkeypatch.setattr(HASHING, "at_once", 0)
    monkeypatch.setattr(HASHING, "waiting", 0)
    answer = browser().post("/login/", {"username": "1", "password": "1"})
    assert answer.status_code == 503
    assert bare(answer) == []


@pytest.mark.parametrize("name", LIMITS)
def test_rate_limit_pages_have_only_translated_words(brackets, people, raw, settings, monkeypatch, name):
    settings.THROTTLE = True
    for limit in [limit for feature in features() for limit in feature.limits]:
        monkeypatch.setitem(vars(limit), "times", 0 if limit.name == name else 1000)
    url, form = LIMITS[name]
    client = browser(None if name in {"login", "attempt", "register"} else people["one"])
    answer = client.post(url, form)
    assert answer.status_code == 429
    assert bare(answer) == []


# ---- errors


def failing(error):
    def fail(*arguments, **options):
        raise error

    return fail


def test_pages_without_a_store_have_only_translated_words(brackets, people, monkeypatch):
    client = browser(people["one"])
    monkeypatch.setattr(Store, "pipeline", failing(StoreError("down")))
    monkeypatch.setattr(Store, "hget", failing(StoreError("down")))
    for answer in (client.get("/"), client.post("/post/", {"body": "1"}), client.post("/@2/follow/")):
        assert answer.status_code == 503
        assert bare(answer) == []


def test_the_page_of_a_server_error_has_only_translated_words(brackets, monkeypatch):
    monkeypatch.setattr("timeline.timelines.views.EveryoneTimeline", failing(RuntimeError()))
    client = browser(raise_request_exception=False)
    answer = client.get("/timeline/")
    assert answer.status_code == 500
    assert bare(answer) == []


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (411, {"HTTP_TRANSFER_ENCODING": "chunked"}),
        (413, {"CONTENT_LENGTH": "99999999", "wsgi.input": io.BytesIO(b"1")}),
        (408, {"CONTENT_LENGTH": "9999", "wsgi.input": io.BytesIO(b"1"), "retwis.late": True}),
        (400, {"CONTENT_LENGTH": "9999", "wsgi.input": io.BytesIO(b"1")}),
        (400, {"CONTENT_TYPE": "multipart/form-data; boundary=\xff"}),
        (400, {"HTTP_HOST": "evil.example"}),
        (405, {"REQUEST_METHOD": "DELETE"}),
        (403, {"PATH_INFO": "/@2/2/delete/"}),
    ],
)
def test_pages_for_bad_requests_have_only_translated_words(brackets, people, status, changes):
    answer = browser(people["one"]).generic(
        "POST", "/login/", b"username=1", "application/x-www-form-urlencoded", **changes
    )
    assert answer.status_code == status
    assert bare(answer) == []


# ---- the check itself


def test_a_word_without_brackets_is_found():
    page = (
        '<html lang="de"><title>⟦Home⟧ · Retwis</title><p title="bare">⟦New? <a>In⟧</a> out <b lang="en">own</b>1</p>'
    )
    assert Words(page).bare == [("p title", "bare"), ("p", "out")]


def test_a_translated_text_is_in_brackets(brackets, people):
    assert "⟦Home⟧" in browser(people["one"]).get("/").content.decode()
