"""HTTPS=1: every request is redirected to HTTPS, and every cookie is bound to the host."""

import json
import os
from functools import cache

import pytest
from django.conf import settings
from django.contrib.messages import constants

from retwis_site.http.cookies import FlashStorage
from tests.support.http.security_headers import HEADERS, POLICY
from tests.support.people import PASSWORD
from tests.support.processes.fake_store import FAKE
from tests.support.processes.fresh_process import in_a_process
from tests.support.processes.processes import environment, manage

pytestmark = pytest.mark.usefixtures("empty_store")

VISITS = """
import json
answers = {}

def record(name, response):
    cookies = [cookie.OutputString() for cookie in response.cookies.values()]
    answers[name] = {"status": response.status_code, "headers": dict(response.headers), "cookies": cookies}

def ask(name, client, method, url, form=None, secure=True):
    record(name, getattr(client, method)(url, form, secure=secure))

alice, visitor = Client(headers={"host": "localhost"}), Client(headers={"host": "localhost"})
twice = {"password1": PASSWORD, "password2": PASSWORD}
ask("the login page", visitor, "get", "/login/")
ask("a registration", alice, "post", "/register/", {"username": "Alice", **twice})
ask("a page with a message", alice, "get", "/")
ask("a draft", visitor, "post", "/post/", {"body": "not signed in", "token": "t"})
ask("a login", visitor, "post", "/login/", {"username": "Alice", "password": PASSWORD})
ask("a posted draft", visitor, "post", "/post/", {"body": "signed in", "token": "t"})
ask("a home", visitor, "get", "/")
ask("another post", visitor, "post", "/post/", {"body": "once more", "token": "u"})
ask("a home with unread posts", visitor, "get", "/")
ask("a choice of a theme", visitor, "post", "/settings/appearance/", {"theme": "dark"})
ask("a removed choice", visitor, "post", "/settings/appearance/", {"theme": "system"})
ask("a choice of a language", visitor, "post", "/settings/language/", {"language": "de"})
ask("a password change", alice, "post", "/settings/password/", {"password": PASSWORD, **twice})
ask("a logout", alice, "post", "/logout/")
ask("a missing page", visitor, "get", "/nothing/")
ask("a stylesheet", visitor, "get", "/static/retwis.css")
ask("a health check", visitor, "get", "/livez")
for url in ("/", "/login/", "/@Alice/?before=5", "/static/retwis.css", "/livez", "/readyz"):
    ask(f"unencrypted {url}", visitor, "get", url, secure=False)
for url in ("/livez", "/readyz"):
    record(f"unencrypted {url} of a machine", Client().get(url, headers={"host": "10.0.0.7:8000"}))
record("an unencrypted foreign host", Client().get("/", headers={"host": "evil.example"}))
ask("an unencrypted form", visitor, "post", "/login/", {"username": "Alice", "password": PASSWORD}, secure=False)
print(json.dumps(answers))
"""


@cache
def answers():
    """The answers of a process with HTTPS=1, by name."""
    store = "" if settings.REAL_SERVER else FAKE
    code = f"{store}\nPASSWORD = {PASSWORD!r}\n{VISITS}"
    here = {name: value for name, value in os.environ.items() if name.startswith("REDIS_")}
    return json.loads(in_a_process(code, HTTPS="1", **here))


def cookies():
    """Every cookie that is set or removed, as its name and its attributes."""
    lines = [line.split("; ") for answer in answers().values() for line in answer["cookies"]]
    return [(name.partition("=")[0], set(attributes)) for name, *attributes in lines]


def test_every_answer_has_hsts_for_a_year_with_subdomains():
    encrypted = {name: answer for name, answer in answers().items() if "unencrypted" not in name}
    assert len(encrypted) == 17
    for name, answer in encrypted.items():
        hsts = answer["headers"]["Strict-Transport-Security"]
        assert set(hsts.split("; ")) >= {"max-age=31536000", "includeSubDomains"}, name


def test_http_pages_redirect_to_https_but_health_checks_do_not():
    for url in ("/", "/login/", "/@Alice/?before=5"):
        answer = answers()[f"unencrypted {url}"]
        assert (answer["status"], answer["headers"]["Location"]) == (301, f"https://localhost{url}")
        assert answer["cookies"] == []
    for url in ("/livez", "/readyz"):
        assert answers()[f"unencrypted {url}"]["status"] == 200
        assert answers()[f"unencrypted {url} of a machine"]["status"] == 200


def test_a_login_over_http_signs_no_one_in():
    answer = answers()["an unencrypted form"]
    assert (answer["status"], answer["cookies"]) == (301, [])


@pytest.mark.parametrize(("request_name", "status"), [("unencrypted /", 301), ("an unencrypted foreign host", 400)])
def test_answers_over_http_have_the_security_headers(request_name, status):
    answer = answers()[request_name]
    assert answer["status"] == status
    assert set(answer["headers"].get("Content-Security-Policy", "").split("; ")) >= POLICY
    missing = [name for name, value in HEADERS.items() if answer["headers"].get(name) != value]
    assert not missing, missing


def test_every_cookie_is_bound_to_the_host_and_hidden_from_scripts():
    names = {name for name, _ in cookies()}
    assert names == {
        "__Host-auth",
        "__Host-csrftoken",
        "__Host-messages",
        "__Host-draft",
        "__Host-since",
        "__Host-changed",
        "__Host-ended",
        "__Host-theme",
        "__Host-language",
        "__Host-second",
        "__Host-confirmed",
    }
    for name, attributes in cookies():
        assert {"Secure", "Path=/", "SameSite=Lax"} <= attributes, name
        assert not [attribute for attribute in attributes if attribute.startswith("Domain")], name
        assert "HttpOnly" in attributes or "Max-Age=0" in attributes, name


def test_cookies_are_removed_under_the_names_that_were_set():
    removed = {name for name, attributes in cookies() if "Max-Age=0" in attributes}
    assert removed == {
        *("__Host-auth", "__Host-messages", "__Host-draft", "__Host-changed", "__Host-theme"),
        *("__Host-second", "__Host-confirmed"),
    }


def test_messages_are_signed_with_sha256(rf):
    storage = FlashStorage(rf.get("/"))
    storage.add(constants.INFO, "hello")
    assert storage.signer.algorithm == "sha256"


@pytest.mark.real_server
def test_check_deploy_finds_no_issue_with_the_settings_of_the_readme(own_server, tmp_path, settings):
    with own_server("--appendonly", "yes", "--appendfsync", "no"):
        env = environment(tmp_path, REDIS_URL=settings.REDIS_URL, HTTPS="1", ALLOWED_HOSTS="retwis.example")
        env.pop("SECRET_KEY", None)
        ended = manage("check", "--deploy", "--fail-level", "INFO", env=env)
    assert ended.stderr == ""
    assert ended.stdout == "System check identified no issues (3 silenced).\n"
    assert ended.returncode == 0
