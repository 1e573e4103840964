"""What every answer tells browsers and caches, what every page is made of, and what typed text can never become."""

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.hashers import check_password

from retwis_site.exceptions import StoreError
from retwis_site.store.rate_limits import RateLimits
from retwis_site.store.recorder import keys_of
from tests.support.http.answers import is_typed_link
from tests.support.http.security_headers import HEADERS, POLICY, addresses
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import everything, publish
from timeline.posts.limits import POSTS
from timeline.relations.follow import Follows
from timeline.timelines.profile import Profiles

PROBES = {"livez", "readyz"}
FEEDS = {"timeline_atom", "timeline_rss", "profile_atom", "profile_rss"}
FOR_EVERYBODY = {*FEEDS, "robots", "sitemap", "sitemap_part"}
KINDS = {"text/html", "text/plain", "text/css", "text/javascript", "image/svg+xml"}
KINDS |= {"application/atom+xml", "application/rss+xml", "application/xml", "application/x-ndjson"}
STATIC = {"a stylesheet": "/static/retwis.css", "a picture": "/static/mark.svg", "a script": "/static/retwis.js"}


@pytest.fixture
def site(alice, bob, store, raw):
    """Something on every page: posts for two pages of them, people who follow each other."""
    for number in range(25):
        publish(raw, store, alice, f"post number {number}, see https://redis.io/docs/ and @bob")
    Follows(store).follow(1, 2)
    Follows(store).follow(2, 1)


def pages(client):
    """Every address that has a page for this client, with the answer; what is streamed is a file."""
    answers = {url: client.get(url) for name, url in addresses().items() if name not in PROBES | FOR_EVERYBODY}
    return {url: answer for url, answer in answers.items() if answer.status_code == 200 and not answer.streaming}


@pytest.fixture
def failing(monkeypatch, browser, alice):
    """`failing(error)`: what becomes of a page that raises it."""

    def fail(error):
        def page(*args):
            raise error

        monkeypatch.setattr(Profiles, "page", page)
        client = browser(alice)
        client.raise_request_exception = False
        return client.get("/@Alice/")

    return fail


@pytest.fixture
def answers(site, store, browser, alice, failing):
    """An answer of each kind, by what it is."""
    client, stranger = browser(alice), browser(csrf=True)
    found = {f"{url} of a user": client.get(url) for url in addresses().values()}
    found |= {f"{url} of a visitor": stranger.get(url) for url in addresses().values()}
    found |= {what: client.get(url) for what, url in STATIC.items()}
    found |= {
        "a redirect after a form": client.post("/post/", {"body": "hello", "token": "t"}),
        "a redirect to the last slash": client.get("/timeline"),
        "400 for a cursor": client.get("/?before=x"),
        "400 for a foreign host": client.get("/", headers={"host": "evil.example"}),
        "403 without a token": stranger.post("/login/", {}),
        "404": client.get("/nothing/"),
        "404 for a static file": client.get("/static/nothing.css"),
        "405": client.put("/"),
        "411": client.post("/post/", {}, headers={"transfer-encoding": "chunked"}),
        "413": client.post("/post/", {"body": "x" * 2_000_000}),
        "422": client.post("/post/", {"body": "", "token": "t"}),
    }
    for _ in range(POSTS.times - 1):
        RateLimits(store).count(POSTS, "1")
    found["429"] = client.post("/post/", {"body": "one more", "token": "u"})
    found["500"] = failing(ZeroDivisionError())
    found["503"] = failing(StoreError("down"))
    for what, response in found.items():
        assert not what[:3].isdigit() or response.status_code == int(what[:3]), what
    return found


# ---- headers


def test_every_answer_tells_browsers_what_they_may_do_with_it(answers):
    lacking = []
    for what, response in answers.items():
        policy = response.get("Content-Security-Policy", "")
        if not set(policy.split("; ")) >= POLICY or "unsafe" in policy:
            lacking.append((what, "Content-Security-Policy"))
        lacking += [(what, name) for name, value in HEADERS.items() if response.get(name) != value]
    assert not lacking, lacking


def test_every_answer_says_what_it_is_and_in_which_encoding(answers):
    lacking = []
    for what, response in answers.items():
        kind, _, charset = response["Content-Type"].partition("; charset=")
        assert kind in KINDS, what
        lacking += [(what, kind)] if charset.strip('"') != "utf-8" else []
    assert not lacking, lacking


def test_no_answer_but_static_files_is_for_the_pages_of_other_sites(answers):
    for what, response in answers.items():
        told = [name for name in response.headers if name.startswith("Access-Control-")]
        assert told == [] or what in STATIC, what


def test_what_a_user_sees_is_kept_by_no_cache(site, browser, alice):
    shown = pages(browser(alice))
    assert {"/", "/timeline/", "/@Alice/", "/settings/password/"} <= set(shown)
    for url, response in shown.items():
        expected = "private, no-store" if url.startswith("/settings/") else "private, no-cache"
        assert response["Cache-Control"] == expected, url
        assert "Cookie" in response["Vary"], url


def test_what_is_for_everybody_is_kept_by_any_cache_and_nothing_else_is(answers):
    shared = {what for what, answer in answers.items() if "public" in answer.get("Cache-Control", "")} - set(STATIC)
    expected = {addresses()[name] for name in FOR_EVERYBODY}
    assert shared == {f"{url} of {who}" for url in expected for who in ("a user", "a visitor")}
    for what in shared:
        assert not answers[what].cookies, what
        assert "Vary" not in answers[what], what


@pytest.mark.parametrize(("password", "status"), [("wrong", 422), (PASSWORD, 302)])
def test_what_comes_of_a_password_change_is_not_stored_either(browser, alice, password, status):
    form = {"password": password, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    response = browser(alice).post("/settings/password/", form)
    assert response.status_code == status
    assert response["Cache-Control"] == "private, no-store"


def test_an_unexpected_error_tells_nothing_of_itself(site, failing):
    page = failing(ValueError("a detail of ours")).content.decode()
    for detail in ("a detail of ours", "ValueError", "Traceback", ".py", "Django", "redis"):
        assert detail not in page


# ---- what pages are made of


class Elements(HTMLParser):
    """All elements of a page with their attributes; `typed` are the links that authors typed, in the text of posts."""

    def __init__(self, page):
        super().__init__()
        self.found, self.typed = [], []
        self._is_in_post = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self._is_in_post = (tag, attributes.get("class")) == ("p", "body") or (self._is_in_post and tag == "a")
        typed = self._is_in_post and is_typed_link(tag, attributes)
        (self.typed if typed else self.found).append((tag, attributes))

    def handle_endtag(self, tag):
        self._is_in_post = self._is_in_post and tag != "p"

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def elements(shown):
    return {what: Elements(response.content.decode()) for what, response in shown.items()}


@pytest.fixture
def everybodys_pages(site, browser, alice, bob, carol):
    """All that a user, a follower, a stranger and a visitor can open, and the pages of what goes wrong."""
    clients = {"Alice": browser(alice), "bob": browser(bob), "carol": browser(carol), "nobody": browser()}
    shown = {(who, url): page for who, client in clients.items() for url, page in pages(client).items()}
    shown["an error"] = browser().get("/nothing/")
    shown["a form with errors"] = browser(alice).post("/post/", {"body": "", "token": "t"})
    shown["a form without its token"] = browser(csrf=True).post("/register/", {"username": "d", "password1": "x"})
    return elements(shown)


def test_no_page_has_scripts_or_styles_in_it_or_anything_from_elsewhere(everybodys_pages):
    """But for the links that people type into their posts."""
    assert sum(len(page.typed) for page in everybodys_pages.values()) > 100
    forbidden = {"style", "iframe", "frame", "object", "embed", "applet", "base"}
    for url, page in everybodys_pages.items():
        assert not forbidden & {tag for tag, _ in page.found}, url
        assert [script["src"] for script in page.all("script")] == ["/static/htmx.min.js", "/static/retwis.js"]
        assert {link["rel"] for link in page.all("link")} <= {"icon", "stylesheet", "canonical", "alternate"}
        assert not any("http-equiv" in meta for meta in page.all("meta")), url
        for tag, attributes in page.found:
            assert not [name for name in attributes if name.startswith("on") or name in {"style", "ping"}], (url, tag)
            for name in {"href", "src", "action", "formaction"} & set(attributes):
                ours = "http://testserver" if attributes.get("rel") == "canonical" else ""
                parts = urlsplit(attributes[name].removeprefix(ours))
                assert (parts.scheme, parts.netloc) == ("", ""), (url, attributes)


def test_every_form_is_a_post_with_a_token_but_the_search(everybodys_pages):
    for url, page in everybodys_pages.items():
        tokens = [field for field in page.all("input") if field.get("name") == "csrfmiddlewaretoken"]
        changing = [form for form in page.all("form") if form["action"] != "/people/"]
        assert len(tokens) == len(changing), url
        assert all(form["method"] == "post" for form in changing), url
    assert sum(len(page.all("form")) for page in everybodys_pages.values()) > 20


def test_every_page_of_a_user_has_the_way_out(site, browser, alice):
    for url, page in elements(pages(browser(alice))).items():
        assert "/logout/" in [form["action"] for form in page.all("form")], url


def test_passwords_are_typed_masked_pasted_whole_and_known_to_password_managers(everybodys_pages):
    fields = [field for page in everybodys_pages.values() for field in page.all("input")]
    passwords = [field for field in fields if "password" in field["name"]]
    assert len(passwords) >= 6
    for field in passwords:
        assert field["type"] == "password"
        assert field["autocomplete"] == ("current-password" if field["name"] == "password" else "new-password")
        assert not field.get("value")
        # A browser cuts off silently what is longer than maxlength.
        assert not {"readonly", "disabled", "maxlength", "pattern"} & set(field), field


def test_no_page_and_no_address_shows_a_secret_or_a_hash(site, browser, alice, bob, raw):
    hidden = [raw.hget(f"user:{uid}", field) for uid in (1, 2) for field in ("password", "auth")] + [PASSWORD]
    client, visitor = browser(alice), browser()
    answers = [*pages(client).values(), *pages(browser(bob)).values(), *pages(visitor).values()]
    answers += [client.get(addresses()[name]) for name in FOR_EVERYBODY]
    answers += [visitor.post("/login/", {"username": "alice", "password": PASSWORD}), client.post("/logout/")]
    for response in answers:
        told = response.content.decode() + repr(dict(response.headers))  # cookies are not among these
        assert not [secret for secret in hidden if secret in told], response.request["PATH_INFO"]


@pytest.mark.parametrize(
    "url",
    [
        "/static/",
        "/static/../manage.py",
        "/static/..%2fmanage.py",
        "/static/%2e%2e/retwis_site/settings.py",
        "/static//etc/passwd",
        "/static/staticfiles.json",
        "/.git/config",
        "/manage.py",
        "/var/secret_key",
        "/admin/",
        "/metrics",
    ],
)
def test_no_file_is_served_but_the_sites_stylesheets_and_pictures(browser, url):
    assert browser().get(url).status_code == 404


# ---- what is typed


@pytest.mark.parametrize("text", ["{{ request.user }}", "{% debug %}", "%(levelname)s %s", "{0.__class__}", "${7*7}"])
def test_templates_and_formats_are_only_text(browser, alice, raw, text):
    page = browser(alice).post("/post/", {"body": text, "token": "t"}, follow=True).content.decode()
    assert f'<p class="body" dir="auto">{text}</p>' in page
    assert raw.hget("post:1", "body") == text


def test_nothing_that_is_typed_becomes_a_command_or_another_key(browser, alice, raw, sent):
    before = everything(raw)
    sent.round_trips.clear()
    for text in ["user:666", "*", "x\r\nFLUSHALL\r\n", "\0", "1 auth stolen", "post:*", "..", '"', "1\nauth\nstolen"]:
        browser().post("/login/", {"username": text, "password": text, "next": text})
        browser().post("/register/", {"username": text, "password1": PASSWORD, "password2": PASSWORD})
        browser(alice).post("/@{}/follow/".format("".join(f"%{byte:02X}" for byte in text.encode())))
        browser(alice).post("/post/", {"body": "a text", "token": text})
        stranger = browser()
        stranger.cookies["auth"] = text
        stranger.get("/timeline/")
    named = {key for command in sent.commands for key in keys_of(command)}
    assert {"users", "auths", "user:1"} < named
    ours = re.compile(r"[a-z_]+(:1)?|throttle:login:[0-9a-f]{32}|throttle:guess:127[.]0[.]0[.]1")
    assert [key for key in named if not ours.fullmatch(key)] == []
    after = everything(raw)
    assert {key: after[key] for key in before} == before
    assert {key.partition(":")[0] for key in after.keys() - before.keys()} <= {"throttle", "posts", "timeline"}


def test_fields_that_a_form_does_not_have_change_nothing(browser, alice, raw):
    more = {"uid": "1", "user_id": "1", "auth": "chosen", "is_staff": "1", "time": "1", "pid": "9", "password": "x"}
    client = browser()
    client.post("/register/", {**more, "username": "Dora", "password1": PASSWORD, "password2": PASSWORD})
    assert set(raw.hgetall("user:2")) == {"username", "password", "auth"}
    assert raw.hget("user:2", "auth") != "chosen"
    assert check_password(PASSWORD, raw.hget("user:2", "password"))
    client.post("/post/", {**more, "body": "mine", "token": "t"})
    assert raw.hget("post:1", "user_id") == "2"
    assert int(raw.hget("post:1", "time")) > 1
    assert not raw.exists("post:9")


def test_a_form_is_read_from_the_body_alone_and_of_a_field_sent_twice_the_last_counts(browser, alice, raw):
    client = browser(alice)
    client.post("/post/?body=from+the+address&token=u", {"body": ["first", "last"], "token": "t"})
    assert raw.hget("post:1", "body") == "last"
    assert raw.exists("idem:1:t")
    assert browser().post(f"/login/?username=alice&password={PASSWORD}", {}).status_code == 422
    assert client.get("/?before=x&before=5").status_code == 200


def test_a_message_that_nobody_signed_is_not_shown(browser, alice):
    client = browser(alice)
    for forged in ('[["__json_message",0,25,"Forged"]]', "gASVCgAAAAAAAACMBkZvcmdlZJQu:x", "Forged:1:1"):
        client.cookies[f"{settings.COOKIE_PREFIX}messages"] = forged
        response = client.get("/")
        assert response.status_code == 200
        assert "Forged" not in response.content.decode()
