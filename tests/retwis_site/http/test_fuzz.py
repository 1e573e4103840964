"""Whatever a client sends, to any address: no 500, no unescaped echo, and no write without a form's token.

Some thousand requests a run; `make fuzz` goes on until something fails.
"""

import logging
import os
import re
import runpy
import sys
import unicodedata
from dataclasses import dataclass
from html import escape
from urllib.parse import unquote_to_bytes

import pytest
from django.core.signals import got_request_exception
from django.urls import Resolver404, resolve, reverse
from hypothesis import HealthCheck, assume, find, given
from hypothesis import settings as amounts
from hypothesis import strategies as st

from accounts.signing_in.viewer import Viewer
from retwis_site.store.local_cache import Memory
from tests.support.http import hostile_requests, hostile_values
from tests.support.http.answers import Answer, Page, check, foreign
from tests.support.http.hostile_requests import CSRF, Request
from tests.support.http.hostile_values import FORM, MARKER, MULTIPART
from tests.support.people import SECRET
from tests.support.stored_keys import everything
from tests.support.stored_posts import write_posts
from timeline.relations.follow import Follows

amounts.register_profile(
    "suite",
    max_examples=100,
    derandomize=False,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
amounts.register_profile("fuzz", amounts.get_profile("suite"), max_examples=1000)
AMOUNT = amounts.get_profile("fuzz" if os.environ.get("FUZZ") else "suite")

pytestmark = pytest.mark.faults

ROUTES = list(hostile_requests.routes())
SOMEWHERE = [*ROUTES, None]
KINDS = st.sampled_from(["form", "multipart"])
READING = {"GET", "HGET", "HMGET", "LRANGE", "ZCARD", "ZCOUNT", "ZMSCORE", "ZRANGE", "ZREVRANGE", "ZREVRANGEBYSCORE"}
READING |= {"ZRANGEBYLEX", "ZREVRANK", "ZSCORE"}
SEEN = "seen"  # how far somebody has read: reading writes it
CACHES_AND_COUNTS = re.compile(r"posts:|timeline$|health$|throttle:")


def name_of(route):
    return str(route or "elsewhere")


def times(share):
    return amounts(AMOUNT, max_examples=int(AMOUNT.max_examples * share))


def each(requests, drive):
    """One after the other; whoever reads of a failure wants to know which it was."""
    for request in requests:
        try:
            drive(request)
        except Exception as error:
            error.add_note(f"This was {request}")
            raise


# ---- the site


def but_for_what_was_seen(held):
    hashes = {
        key: {name: text for name, text in fields.items() if name != SEEN}
        for key, fields in held.items()
        if isinstance(fields, dict)
    }
    return {**held, **hashes}


class Site:
    """alice, bob, carol and somebody with a name from another database, who have written; and the application."""

    def __init__(self, raw, store, sent, settings):
        self.raw, self.store, self.sent, self.settings = raw, store, sent, settings
        self.raised, self.dirty, self.heard = [], False, 0
        self.application = runpy.run_module("retwis_site.wsgi")["application"]
        raw.hset("user:1", "auth", SECRET)
        raw.hset("auths", SECRET, 1)
        self.person(4, MARKER)
        for me, them in ((1, 2), (2, 1), (1, 4), (4, 1), (4, 2)):
            Follows(store).follow(me, them)
        for uid, pids in ((1, [1, 4, 5]), (2, [2]), (4, [3])):
            write_posts(raw, uid, pids)
        raw.hset("post:3", "body", MARKER)
        raw.hset("post:4", mapping={"deleted": 1_700_000_009, "body": ""})
        raw.zrem("updates:1", 4)
        self.standing = everything(raw)
        for page in (b"/", b"/timeline/"):
            self.browser().get(page)
        assert self.compare() == []
        self.standing = everything(raw)  # with the caches
        self._listen()
        self.dirty = False

    def person(self, uid, name):
        """Somebody of that name, whom our own form need not have let in."""
        self.raw.hset(f"user:{uid}", mapping={"username": name, "password": "!", "auth": f"secret{uid}"})
        self.raw.hset("users", name, uid)
        self.raw.zadd("users_by_time", {name: 2_000_000_000})
        Memory.clear_all()
        self.dirty = True

    def send(self, request):
        """The answer, once it holds what must hold of every answer. What a view raised is raised here."""
        environ, started = request.environ(), []
        if self.settings.TRUSTED_PROXIES:
            environ.update({"HTTP_X_FORWARDED_PROTO": request.scheme, "wsgi.url_scheme": "http"})
        self.raised.clear()
        chunks = self.application(environ, lambda status, headers, *_: started.append((status, headers)))
        body = b"".join(chunks)
        if hasattr(chunks, "close"):
            chunks.close()
        if self.raised:
            raise self.raised[0]
        status, headers = started[-1]
        answer = Answer(int(status.split()[0]), headers, body)
        check(answer)
        return answer

    def _listen(self):
        """Whoever only reads changes nothing: so most requests need no comparison."""
        further, self.heard = self.sent.round_trips[self.heard :], len(self.sent.round_trips)
        self.dirty |= any(command[0] not in READING for round_trip in further for command in round_trip.commands)

    def changes(self):
        """The keys that a client has changed."""
        self._listen()
        return self.compare() if self.dirty else []

    def compare(self):
        """The keys that differ from the beginning, but for caches, which reading may rebuild, and what only counts."""
        now, then = but_for_what_was_seen(everything(self.raw)), but_for_what_was_seen(self.standing)
        differ = {key for key in {*now, *then} if now.get(key) != then.get(key)}
        return sorted(key for key in differ if not CACHES_AND_COUNTS.match(key))

    def put_back(self):
        """As at the beginning, wherever the example before this one ended."""
        self._listen()
        if not self.dirty:
            return
        pipe = self.raw.pipeline(transaction=False)
        pipe.flushall()
        for key, held in self.standing.items():
            if isinstance(held, str):
                pipe.set(key, held)
            elif isinstance(held, dict):
                pipe.hset(key, mapping=held)
            elif isinstance(held[0], str):
                pipe.rpush(key, *held)
            else:
                pipe.zadd(key, dict(held))
        pipe.execute()
        Memory.clear_all()
        self.dirty = False

    def browser(self, signed_in=True):
        cookies = {self.settings.CSRF_COOKIE_NAME: CSRF}
        if signed_in:
            cookies[self.settings.AUTH_COOKIE] = SECRET
        return Browser(self, cookies)


@dataclass(frozen=True)
class Browser:
    """One that keeps cookies, and has a form of ours before it."""

    site: Site
    cookies: dict

    def get(self, target):
        return self._go("GET", target, {}, b"")

    def post(self, target, form, kind="form"):
        token = self.cookies[self.site.settings.CSRF_COOKIE_NAME]
        pairs = hostile_requests.encoded({**form, "csrfmiddlewaretoken": token})
        if kind == "form":
            return self._go("POST", target, {"Content-Type": FORM}, hostile_requests.urlencoded(pairs))
        return self._go("POST", target, {"Content-Type": MULTIPART}, hostile_requests.multipart(pairs))

    def _go(self, method, target, headers, body):
        jar = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        scheme = "https" if self.site.settings.HTTPS else "http"
        answer = self.site.send(Request(method, target, {"Cookie": jar.encode("latin-1"), **headers}, body, scheme))
        for name, value in answer.cookies.items():
            self.cookies.pop(name, None)
            if value is not None:
                self.cookies[name] = value
        return answer


@pytest.fixture
def site(raw, store, sent, alice, bob, carol, settings):
    site = Site(raw, store, sent, settings)

    def note(**signal):
        site.raised.append(sys.exc_info()[1])

    got_request_exception.connect(note)
    logging.disable(logging.CRITICAL)
    yield site
    logging.disable(logging.NOTSET)
    got_request_exception.disconnect(note)
    site._listen()
    assert site.dirty or site.compare() == [], "something was written past the store"


@pytest.fixture
def behind_a_proxy(settings):
    """The site as HTTPS=1 and TRUSTED_PROXIES=1 make it. Before `site`, which reads the settings."""
    settings.TRUSTED_PROXIES = 1
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 3600
    settings.AUTH_COOKIE, settings.CSRF_COOKIE_NAME = "__Host-auth", "__Host-csrftoken"


# ---- the tests


def changes_nothing(site, request):
    site.put_back()
    answer = site.send(request)
    assert site.changes() == []
    assert site.settings.AUTH_COOKIE not in answer.cookies
    assert Viewer(site.store, SECRET).user.is_authenticated


@pytest.mark.parametrize("route", SOMEWHERE, ids=name_of)
def test_without_a_token_nothing_is_changed(site, route):
    def goes(request):
        changes_nothing(site, request)

    each(hostile_requests.plain_without_a_token(route), goes)
    times(0.7)(given(request=hostile_requests.without_a_token(route))(goes))()


@pytest.mark.parametrize("name", hostile_values.HEADERS)
def test_any_header_may_be_odd(site, name):
    each(hostile_requests.one_odd_header(name), lambda request: changes_nothing(site, request))


@times(3)
@given(request=st.sampled_from(SOMEWHERE).flatmap(hostile_requests.without_a_token))
def test_nor_is_anything_changed_behind_a_proxy(behind_a_proxy, site, request):
    changes_nothing(site, request)


def works(site, request):
    site.put_back()
    site.send(request)
    for page in (b"/", b"/timeline/") if site.changes() else ():
        site.browser().get(page)


@pytest.mark.parametrize("route", SOMEWHERE, ids=name_of)
def test_with_a_token_anything_else_may_be_hostile(site, route):
    def goes(request):
        works(site, request)

    each(hostile_requests.plain_with_a_token(route), goes)
    times(0.3)(given(request=hostile_requests.with_a_token(route))(goes))()


@pytest.mark.parametrize("name", hostile_values.HEADERS)
def test_any_header_of_a_form_may_be_odd(site, name):
    each(hostile_requests.one_odd_header_of_a_form(name), lambda request: works(site, request))


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_a_form_may_hold_anything(site, route):
    @times(0.2)
    @given(signed_in=st.booleans(), target=hostile_requests.targets(route), form=hostile_requests.forms, kind=KINDS)
    def drive(signed_in, target, form, kind):
        site.put_back()
        browser = site.browser(signed_in)
        if browser.post(target, form, kind).status in {404, 405}:
            return
        newest = int(site.raw.get("next_post_id"))
        for page in ("/", "/timeline/", "/@Alice/", "/@Alice/followers/", f"/@Alice/{newest}/", "/settings/password/"):
            browser.get(page.encode())

    drive()


@times(1)
@given(text=hostile_requests.typed, kind=KINDS)
def test_a_post_stands_as_it_was_typed(site, text, kind):
    site.put_back()
    browser = site.browser()
    body = normalised(text)
    answer = browser.post(b"/post/", {"body": text, "token": "t"}, kind)
    assert answer.status == (302 if body else 422)
    assert site.raw.hget("post:6", "body") == body
    for page in (b"/", b"/timeline/", b"/@Alice/", b"/@Alice/6/") if body else ():
        assert Page(browser.get(page).html).texts("p.body")[0] == body


@times(0.5)
@given(text=hostile_requests.typed, kind=KINDS)
def test_a_visitors_text_waits_for_the_login_as_it_was_typed(site, text, kind):
    site.put_back()
    browser = site.browser(signed_in=False)
    body = normalised(text)
    answer = browser.post(b"/post/", {"body": text}, kind)
    assert answer.status == (302 if body else 422)
    assert site.changes() == []
    browser.cookies[site.settings.AUTH_COOKIE] = SECRET
    [waiting] = Page(browser.get(b"/").html).texts("textarea.body")
    assert waiting.lstrip("\r\n") == (body or "")


@times(0.5)
@given(name=hostile_requests.typed)
def test_a_name_from_another_database_has_its_pages(site, name):
    assume(name and name.lower() not in {"alice", "bob", "carol"})
    site.put_back()
    site.person(4, name)
    browser = site.browser()
    for page in (b"/", b"/timeline/", b"/@Alice/followers/", b"/@Alice/following/"):
        assert reverse("profile", args=[name]) in Page(browser.get(page).html).links
    for view, further in (("profile", []), ("followers", []), ("following", []), ("post", [3])):
        assert browser.get(reverse(view, args=[name, *further]).encode()).status == 200
    assert browser.post(reverse("unfollow", args=[name]).encode(), {}).status == 302
    assert site.raw.zscore("following:1", 4) is None


def normalised(text):
    """What a text is as a post; None when it is none."""
    line = " ".join(text.strip().splitlines()).strip()
    seen = any(unicodedata.category(char)[0] not in "CZ" for char in line)
    return line if seen and len(line) <= 280 and "\0" not in line else None


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_every_address_is_reached(site, route):
    def leads_there(target):
        try:
            return resolve(unquote_to_bytes(target).decode()).route == route.text
        except (Resolver404, UnicodeDecodeError):
            return False

    target = find(hostile_requests.targets(route), leads_there, settings=amounts(AMOUNT, database=None))
    assert site.send(Request("GET", target)).status != 404


@pytest.mark.parametrize("place", ["<p>{}</p>", '<input value="{}">', "<a title='{}'>x</a>", "<!-- {} -->", "<b {}>"])
def test_an_unescaped_echo_would_be_seen(place):
    assert foreign(place.format(MARKER))
    assert not foreign("<p>{}</p><a title='{}'>x</a>".format(*[escape(MARKER)] * 2))


@pytest.mark.parametrize(
    "away", ["//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example", "x:y"]
)
def test_an_address_that_leads_away_would_be_seen(away):
    assert foreign(f'<a href="{away}">x</a>')
    assert not foreign('<a href="/timeline/">x</a>')


@pytest.mark.parametrize(
    ("link", "is_foreign"),
    [
        ('<a href="https://a.example/" rel="nofollow ugc noopener">x</a>', False),
        ('<a href="HTTP://A.example/" rel="nofollow ugc noopener">x</a>', False),
        ('<a href="https://a.example/">x</a>', True),
        ('<a href="https://a.example/" rel="nofollow">x</a>', True),
        ('<a href="https://a.example/" rel="nofollow ugc noopener" target="_blank">x</a>', True),
        ('<a href="javascript:x" rel="nofollow ugc noopener">x</a>', True),
        ('<a href="//a.example/" rel="nofollow ugc noopener">x</a>', True),
        ('<img src="https://a.example/" rel="nofollow ugc noopener">', True),
    ],
)
def test_a_link_leads_away_from_the_text_of_a_post_alone(link, is_foreign):
    assert bool(foreign(f'<p class="body" dir="auto">one {link} two</p>')) is is_foreign
    assert foreign(f'<p class="body" dir="auto">one</p>{link}')
    assert foreign(f'<p class="other">one {link}</p>')


def test_a_posts_text_is_read_over_its_links():
    text = '<p class="body" dir="auto">one <a href="/@b/">two</a> <a href="/x/">three</a>, four</p> five'
    assert Page(text).texts("p.body") == ["one two three, four"]


@pytest.mark.parametrize(
    ("address", "is_foreign"),
    [("http://testserver/@a/1/", False), ("https://testserver/@a/1/", False), ("https://evil.example/@a/1/", True)],
)
def test_the_canonical_address_is_one_of_this_site(address, is_foreign):
    assert bool(foreign(f'<link rel="canonical" href="{address}">')) is is_foreign
