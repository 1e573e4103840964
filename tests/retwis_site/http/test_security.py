"""The headers of every answer, the elements of every page, and typed text that must stay text."""

import re
from html.parser import HTMLParser
from urllib.parse import quote, urlsplit

import pytest
from django.contrib.auth.hashers import check_password

from retwis_site.exceptions import StoreError
from retwis_site.store.connection.recorder import keys_of
from tests.support.http.answers import is_typed_link
from tests.support.http.security_headers import HEADERS, POLICY, addresses
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import everything, publish
from timeline.posts.feature import POSTS
from timeline.relations.relations import Follows

HEALTH_CHECKS = {"livez", "readyz"}
FEEDS = {"timeline_atom", "timeline_rss", "profile_atom", "profile_rss"}
PUBLIC = {*FEEDS, "manifest", "service_worker", "robots", "sitemap", "sitemap_part", "book_picture"}
OF_APPS = {"api", "nodeinfo", "nodeinfo_links", "oauth_token", "oauth_revoke", "oauth_metadata"}
CONTENT_TYPES = {"text/html", "text/plain", "text/css", "text/javascript", "image/svg+xml"}
CONTENT_TYPES |= {"application/atom+xml", "application/rss+xml", "application/xml", "application/x-ndjson"}
CONTENT_TYPES |= {"application/manifest+json", "application/json"}
READERS = ("user", "visitor")
# The pages that only members have, and the addresses that take a form of theirs.
PAGES_OF_MEMBERS = {
    *("add_passkey", "add_totp", "appeal", "apps", "bookmarks", "compose", "confirm", "delete_account", "download"),
    *("edit", "first_steps", "hidden_people", "invites", "likes", "log_out_everywhere", "muted_words"),
    *("notification_settings", "notifications", "oauth_authorize", "password", "recovery", "report_person"),
    *("report_post", "reported", "second_step", "security", "sessions", "settings"),
}
BUTTONS_OF_MEMBERS = {
    *("add_tag_to_home", "block", "bookmark", "delete", "dismiss", "follow", "follow_tag", "like", "mute"),
    *("mute_thread", "pin", "recovery_file", "remove_passkey", "remove_tag_from_home", "remove_totp", "repost"),
    *("unblock", "unbookmark", "unfollow", "unfollow_tag", "unlike", "unmute", "unmute_thread", "unpin", "unrepost"),
}
STATIC = {"a stylesheet": "/static/retwis.css", "a picture": "/static/mark.svg", "a script": "/static/retwis.js"}


@pytest.fixture
def site(alice, bob, store, raw):
    """Data for every page: two pages of posts, and two users that follow each other."""
    for number in range(25):
        publish(raw, store, alice, f"post number {number}, see https://redis.io/docs/ and @bob")
    Follows(store).follow(1, 2)
    Follows(store).follow(2, 1)


def pages(client):
    """The answer of every address that has a page for this client. A streamed answer is a file, not a page; `news` is
    a part of one, the page for no connection is the same for everyone, and apps are answered JSON."""
    answers = {
        url: client.get(url)
        for name, url in addresses().items()
        if name not in {*HEALTH_CHECKS, *PUBLIC, *OF_APPS, "news", "offline", "passkey_login"}
    }
    return {url: answer for url, answer in answers.items() if answer.status_code == 200 and not answer.streaming}


_kept = {}


@pytest.fixture
def answers(raw, request):
    """An answer of each kind, by a description. They are made once: tests only look at them."""
    if "answers" not in _kept:
        _kept["answers"] = request.getfixturevalue("made_answers")
    return _kept["answers"]


@pytest.fixture
def made_answers(site, store, browser, alice, failing):
    client, visitor = browser(alice), browser(csrf=True)
    found = {f"{url} of a user": client.get(url) for url in addresses().values()}
    found |= {f"{url} of a visitor": visitor.get(url) for url in addresses().values()}
    found |= {what: client.get(url) for what, url in STATIC.items()}
    found |= {
        "a redirect after a form": client.post("/post/", {"body": "hello", "token": "t"}),
        "a redirect to the last slash": client.get("/timeline"),
        "400 for a cursor": client.get("/?before=x"),
        "400 for a foreign host": client.get("/", headers={"host": "evil.example"}),
        "403 without a token": visitor.post("/login/", {}),
        "404": client.get("/nothing/"),
        "404 for a static file": client.get("/static/nothing.css"),
        "405": client.put("/"),
        "411": client.post("/post/", {}, headers={"transfer-encoding": "chunked"}),
        "413": client.post("/post/", {"body": "x" * 2_000_000}),
        "422": client.post("/post/", {"body": "", "token": "t"}),
    }
    for _ in range(POSTS.times - 1):
        POSTS.count(store, 1)
    found["429"] = client.post("/post/", {"body": "one more", "token": "u"})
    found["500"] = failing(ZeroDivisionError())
    found["503"] = failing(StoreError("down"))
    for what, response in found.items():
        assert not what[:3].isdigit() or response.status_code == int(what[:3]), what
    return found


# ---- headers


def test_every_answer_has_the_security_headers(answers):
    missing = []
    for what, response in answers.items():
        policy = response.get("Content-Security-Policy", "")
        if not set(policy.split("; ")) >= POLICY or "unsafe" in policy:
            missing.append((what, "Content-Security-Policy"))
        missing += [(what, name) for name, value in HEADERS.items() if response.get(name) != value]
    assert missing == [("/oauth/authorize of a visitor", "Cross-Origin-Opener-Policy")]  # an app may have opened it


def test_every_answer_has_a_content_type_and_utf_8(answers):
    missing = []
    for what, response in answers.items():
        content_type, _, charset = response["Content-Type"].partition("; charset=")
        assert content_type in CONTENT_TYPES, what
        missing += [(what, content_type)] if charset.strip('"') != "utf-8" else []
    assert not missing, missing


def test_only_static_files_and_what_apps_ask_may_be_read_by_other_sites(answers):
    of_apps = {f"{url} of a {reader}" for name, url in addresses().items() if name in OF_APPS for reader in READERS}
    for what, response in answers.items():
        cors = [name for name in response.headers if name.startswith("Access-Control-")]
        assert cors == [] or what in STATIC or what in of_apps, what
        assert cors or what not in of_apps, what


def test_no_cache_keeps_the_page_of_a_user(site, browser, alice):
    shown = pages(browser(alice))
    assert {"/", "/timeline/", "/@Alice/", "/settings/password/"} <= set(shown)
    for url, response in shown.items():
        is_stored = not url.startswith(("/settings/", "/recover/", "/appeal/", "/first-steps/"))
        expected = "private, no-cache" if is_stored else "private, no-store"
        assert response["Cache-Control"] == expected, url
        assert "Cookie" in response["Vary"], url


def test_no_cache_stores_a_redirect_to_the_login(site, browser, answers):
    visitor = browser()
    sent = {f"a form sent to {url}": visitor.post(url, {}) for url in addresses().values()}
    to_login = {what: one for what, one in (answers | sent).items() if one.get("Location", "").startswith("/login/?")}
    asking = {"/settings/", "/settings/sessions/", "/settings/recovery/", "/settings/invites/", "/settings/blocks/"}
    assert {f"{url} of a visitor" for url in asking} <= set(to_login)
    assert "a form sent to /@Alice/follow/" in to_login
    assert [what for what, one in to_login.items() if one.get("Cache-Control") != "private, no-store"] == []


def test_a_visitor_logs_in_before_each_page_and_each_button_of_members(browser, alice, raw):
    before, visitor = everything(raw), browser()
    pages = {name: (url, visitor.get(url)) for name, url in addresses().items()}
    back = {name for name, (url, answer) in pages.items() if answer.get("Location") == f"/login/?next={quote(url, '')}"}
    assert back | {"second_step"} == PAGES_OF_MEMBERS  # that of a login leads nowhere else
    sent = {name: visitor.post(url).get("Location", "") for name, url in addresses().items()}
    assert {name for name, location in sent.items() if location.startswith("/login/?next=")} >= BUTTONS_OF_MEMBERS
    assert {name for name in BUTTONS_OF_MEMBERS if pages[name][1].status_code != 405} == set()
    changed = {key.partition(":")[0] for key, value in everything(raw).items() if before.get(key) != value}
    assert changed <= {"health", "throttle", "timeline"}


def test_only_answers_that_are_the_same_for_everyone_are_public(answers):
    shared = {what for what, answer in answers.items() if "public" in answer.get("Cache-Control", "")} - set(STATIC)
    expected = {addresses()[name] for name in PUBLIC}
    assert shared == {f"{url} of {reader}" for url in expected for reader in ("a user", "a visitor")}
    for what in shared:
        assert not answers[what].cookies, what
        varies = what.startswith(addresses()["service_worker"])  # with the language
        assert ("Vary" in answers[what]) == varies, what


@pytest.mark.parametrize("page", ["", "password/", "delete/", "recovery/"])
def test_no_cache_stores_the_answer_to_a_form_of_the_settings(browser, alice, page):
    form = {"name": "x" * 51, "bio": "", "password": "wrong", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    for changes, status in (({}, 422), ({"name": "Ann", "password": PASSWORD}, 200 if page == "recovery/" else 302)):
        answer = browser(alice).post(f"/settings/{page}", form | changes)
        assert (answer.status_code, answer["Cache-Control"]) == (status, "private, no-store")


def test_the_page_of_an_unexpected_error_shows_no_details(site, failing):
    page = failing(ValueError("a secret detail")).content.decode()
    for detail in ("a secret detail", "ValueError", "Traceback", ".py", "Django", "redis"):
        assert detail not in page


# ---- the elements of pages


class Elements(HTMLParser):
    """All elements of a page with their attributes. `typed`: the links that authors typed in their posts."""

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
def all_pages(raw, request):
    """All pages of a user, of a follower, of a user without relations and of a visitor, and error pages."""
    if "pages" not in _kept:
        _kept["pages"] = request.getfixturevalue("made_pages")
    return _kept["pages"]


@pytest.fixture
def made_pages(site, browser, alice, bob, carol):
    clients = {"Alice": browser(alice), "bob": browser(bob), "carol": browser(carol), "a visitor": browser()}
    shown = {(reader, url): page for reader, client in clients.items() for url, page in pages(client).items()}
    shown["an error"] = browser().get("/nothing/")
    shown["a form with errors"] = browser(alice).post("/post/", {"body": "", "token": "t"})
    shown["a form without its token"] = browser(csrf=True).post("/register/", {"username": "d", "password1": "x"})
    return elements(shown)


def test_no_page_has_inline_scripts_or_styles_or_anything_from_other_sites(all_pages):
    """Except for the links that authors typed in their posts."""
    assert sum(len(page.typed) for page in all_pages.values()) > 100
    forbidden = {"style", "iframe", "frame", "object", "embed", "applet", "base"}
    for url, page in all_pages.items():
        assert not forbidden & {tag for tag, _ in page.found}, url
        scripts = [script["src"] for script in page.all("script")]
        passkeys = ["/static/passkeys.js"] if url[1] in ("/login/", "/settings/security/") else []
        signed_in = any(form.get("id") == "act" for form in page.all("form"))
        members = ["/static/members.js"] if signed_in else []
        assert scripts == ["/static/retwis.js", *members, *passkeys], url
        assert {link["rel"] for link in page.all("link")} <= {
            "icon",
            "manifest",
            "stylesheet",
            "canonical",
            "alternate",
        }
        assert not any("http-equiv" in meta for meta in page.all("meta")), url
        for tag, attributes in page.found:
            assert not [name for name in attributes if name.startswith("on") or name in {"style", "ping"}], (url, tag)
            for name in {"href", "src", "action", "formaction"} & set(attributes):
                own = "http://testserver" if attributes.get("rel") == "canonical" else ""
                parts = urlsplit(attributes[name].removeprefix(own))
                assert (parts.scheme, parts.netloc) == ("", ""), (url, attributes)


def test_every_form_except_searches_is_a_post_with_a_token(all_pages):
    for url, page in all_pages.items():
        tokens = [field for field in page.all("input") if field.get("name") == "csrfmiddlewaretoken"]
        changing = [form for form in page.all("form") if form.get("action") not in {"/people/", "/search/"}]
        assert len(tokens) == len(changing), url
        assert all(form["method"] == "post" for form in changing), url
    assert sum(len(page.all("form")) for page in all_pages.values()) > 20


def test_every_page_of_a_user_has_the_logout_button(site, browser, alice):
    for url, page in elements(pages(browser(alice))).items():
        assert "/logout/" in [button.get("formaction") for button in page.all("button")], url


def test_password_fields_are_masked_unlimited_and_marked_for_password_managers(all_pages):
    fields = [field for page in all_pages.values() for field in page.all("input")]
    passwords = [field for field in fields if "password" in field.get("name", "")]
    assert len(passwords) >= 6
    for field in passwords:
        assert field["type"] == "password"
        assert field["autocomplete"] == ("current-password" if field["name"] == "password" else "new-password")
        assert not field.get("value")
        # With maxlength, a browser silently cuts off a longer password.
        assert not {"readonly", "disabled", "maxlength", "pattern"} & set(field), field


def test_no_page_and_no_header_has_a_secret_or_a_hash(site, browser, alice, bob, raw):
    secrets = [raw.hget(f"user:{uid}", field) for uid in (1, 2) for field in ("password", "auth")] + [PASSWORD]
    client, visitor = browser(alice), browser()
    answers = [*pages(client).values(), *pages(browser(bob)).values(), *pages(visitor).values()]
    answers += [client.get(addresses()[name]) for name in PUBLIC]
    answers += [visitor.post("/login/", {"username": "alice", "password": PASSWORD}), client.post("/logout/")]
    for response in answers:
        text = response.content.decode() + repr(dict(response.headers))  # without cookies
        assert not [secret for secret in secrets if secret in text], response.request["PATH_INFO"]


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
def test_only_the_sites_static_files_are_served(browser, url):
    assert browser().get(url).status_code == 404


# ---- typed text


@pytest.mark.parametrize("text", ["{{ request.user }}", "{% debug %}", "%(levelname)s %s", "{0.__class__}", "${7*7}"])
def test_templates_and_formats_in_a_post_are_text(browser, alice, raw, text):
    page = browser(alice).post("/post/", {"body": text, "token": "t"}, follow=True).content.decode()
    assert f'<p class="body" dir="auto">{text}</p>' in page
    assert raw.hget("post:1", "body") == text


def test_no_typed_text_becomes_a_command_or_another_key(browser, alice, raw, sent):
    before = everything(raw)
    sent.round_trips.clear()
    for text in ["user:666", "*", "x\r\nFLUSHALL\r\n", "\0", "1 auth stolen", "post:*", "..", '"', "1\nauth\nstolen"]:
        browser().post("/login/", {"username": text, "password": text, "next": text})
        browser().post("/register/", {"username": text, "password1": PASSWORD, "password2": PASSWORD})
        browser(alice).post("/@{}/follow/".format("".join(f"%{byte:02X}" for byte in text.encode())))
        browser(alice).post("/post/", {"body": "a text", "token": text})
        visitor = browser()
        visitor.cookies["auth"] = text
        visitor.get("/timeline/")
    keys = {key for command in sent.commands for key in keys_of(command)}
    assert {"users", "auths", "user:1"} < keys
    allowed = re.compile(r"[a-z_]+(:1)?|throttle:login:[0-9a-f]{32}|throttle:attempt:127[.]0[.]0[.]1")
    assert [key for key in keys if not allowed.fullmatch(key)] == []
    after = everything(raw)
    assert {key: after[key] for key in before} == before
    assert {key.partition(":")[0] for key in after.keys() - before.keys()} <= {"throttle", "posts", "timeline"}


def test_unknown_form_fields_change_nothing(client, alice, raw):
    extra = {"uid": "1", "user_id": "1", "auth": "chosen", "is_staff": "1", "time": "1", "pid": "9", "password": "x"}
    client.post("/register/", {**extra, "username": "Dora", "password1": PASSWORD, "password2": PASSWORD})
    secret = client.cookies["auth"].value
    assert set(raw.hgetall("user:2")) == {"username", "password", "auth", f"session:{secret}"}
    assert raw.hget("user:2", "auth") != "chosen"
    assert check_password(PASSWORD, raw.hget("user:2", "password"))
    client.post("/post/", {**extra, "body": "mine", "token": "t"})
    assert raw.hget("post:1", "user_id") == "2"
    assert int(raw.hget("post:1", "time")) > 1
    assert not raw.exists("post:9")


def test_a_form_is_read_only_from_the_body_and_the_last_value_of_a_field_counts(browser, member, raw):
    member.post("/post/?body=from+the+address&token=u", {"body": ["first", "last"], "token": "t"})
    assert raw.hget("post:1", "body") == "last"
    assert raw.exists("idem:1:t")
    assert browser().post(f"/login/?username=alice&password={PASSWORD}", {}).status_code == 422
    assert member.get("/?before=x&before=5").status_code == 200
