"""A site at a path of its host, SCRIPT_NAME=/social: under each web server, all of its addresses begin with it."""

import contextlib
import json
import re
from html import unescape
from http.client import HTTPConnection
from urllib.parse import urljoin, urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.support.apps import token_of
from tests.support.demo_community import DEMO_LOGIN, seed
from tests.support.http.http_browser import TIMEOUT, StayingBrowser
from tests.support.people import PASSWORD
from tests.support.processes.fresh_process import in_a_process
from tests.support.processes.wsgi_hosts import HOSTS, WITHOUT_WORKER, hosted

TOP = "/social"
ATTRIBUTE = re.compile(r'\s[\w-]+="(/[^"]*)"')
LINK = re.compile(r'\s(?:href|src)="([^"#?]+)[^"]*"')
real_hosts = pytest.mark.parametrize("host", HOSTS)


def addresses(answer, origin):
    """Every path of this host that the answer names: in attributes, and after the origin."""
    page = unescape(answer.page)
    return {*ATTRIBUTE.findall(page), *re.findall(rf"{re.escape(origin)}(/[^\s\"'<>]*)", page)}


def elsewhere(paths):
    return {path for path in paths if not f"{path}/".startswith(f"{TOP}/")}


def kind(path):
    """Pages of the same kind are alike."""
    return re.sub(r"[0-9]+", "0", re.sub(r"(@|tags/|invited/|inspect/)[^/]+", r"\1", path))


def crawl(browser, start, most=2):
    """Open what pages lead to, `most` of each kind. Yields each path and its answer."""
    left, kinds, seen = [start], {}, {start}
    while left:
        path = left.pop(0)
        answer = browser.ask(path)
        yield path, answer
        if "html" not in answer.headers["Content-Type"]:
            continue
        for link in LINK.findall(unescape(answer.page)):
            there = urlsplit(urljoin(browser.origin + path, link))
            if f"{there.scheme}://{there.netloc}" != browser.origin or there.path in seen:
                continue
            seen.add(there.path)
            kinds[kind(there.path)] = kinds.get(kind(there.path), 0) + 1
            if kinds[kind(there.path)] <= most:
                left.append(there.path)


@pytest.mark.real_server
@pytest.mark.processes
def test_every_page_names_addresses_below_the_path(raw, tmp_path):
    seed(users=12, posts=40, follows=4)
    raw.hset(f"user:{raw.hget('users', 'demo')}", "role", "admin")
    with hosted("waitress", tmp_path, TOP, INSPECT="1", BOOK="1", THROTTLE="0") as site:
        site.browser.submit(f"{TOP}/login/", **DEMO_LOGIN)
        opened = 0
        for browser in (site.browser, StayingBrowser(site.port)):
            for path, answer in crawl(browser, f"{TOP}/"):
                assert elsewhere(addresses(answer, browser.origin)) == set(), path
                assert not elsewhere({urlsplit(answer.headers["Location"] or f"{TOP}/").path}), path
                assert answer.status in {200, 302}, path
                opened += 1
        for path in ("robots.txt", "sitemap.xml", "sitemap-people.xml", ".well-known/none"):
            answer = browser.ask(f"{TOP}/{path}")
            assert elsewhere(addresses(answer, browser.origin)) == set(), path
            assert elsewhere(re.findall(r"allow: (\S+)", answer.page)) == set()
    assert opened > 100


@real_hosts
@pytest.mark.real_server
@pytest.mark.processes
def test_a_walk_stays_below_the_path(raw, alice, tmp_path, host):
    with hosted(host, tmp_path, TOP) as site:
        browser = StayingBrowser(site.port)

        def submit(page, action, **fields):
            """Send a form. Returns where it leads."""
            form = browser.ask(TOP + page).form(TOP + action)
            answer = browser.ask(TOP + action, {**form, **fields})
            assert answer.status == 302, answer.page
            return answer.headers["Location"]

        passwords = {"password1": PASSWORD, "password2": PASSWORD}
        assert submit("/register/", "/register/", username="bob", **passwords).startswith(f"{TOP}/")
        assert submit("/", "/logout/") == f"{TOP}/"
        assert browser.ask(f"{TOP}/settings/").headers["Location"] == f"{TOP}/login/?next=%2Fsocial%2Fsettings%2F"
        for wanted, after in ((f"{TOP}/settings/", f"{TOP}/settings/"), ("/of/another/site/", f"{TOP}/")):
            form = browser.ask(f"{TOP}/login/?next={wanted}").form(f"{TOP}/login/")
            answer = browser.ask(f"{TOP}/login/", {**form, "username": "bob", "password": PASSWORD})
            assert answer.headers["Location"] == after
            assert answer.sets("social-auth")
            assert submit("/", "/logout/") == f"{TOP}/"
        form = browser.ask(f"{TOP}/login/").form(f"{TOP}/login/")
        browser.ask(f"{TOP}/login/", {**form, "username": "bob", "password": PASSWORD})
        assert submit("/", "/post/", body="below a path #here") == f"{TOP}/"
        assert "below a path" in browser.ask(f"{TOP}/").page
        assert submit("/tags/here/", "/tags/here/follow/") == f"{TOP}/tags/here/"
        assert submit("/settings/", "/settings/", bio="Hello") == f"{TOP}/settings/"
        assert submit("/@bob/1/more/", "/@bob/1/delete/") == f"{TOP}/"
        assert browser.ask(f"{TOP}/timeline").headers["Location"] == f"{TOP}/timeline/"
        style = re.search(r'rel="stylesheet" href="([^"]+)"', browser.ask(f"{TOP}/").page)[1]
        assert (style.startswith(f"{TOP}/static/"), browser.ask(style).status) == (True, 200)
        token = {"Authorization": f"Bearer {token_of(alice)}"}  # mod_wsgi removes it unless told otherwise
        with contextlib.closing(HTTPConnection("127.0.0.1", site.port, timeout=TIMEOUT)) as app:
            app.request("GET", f"{TOP}/api/v1/accounts/verify_credentials", headers=token)
            assert json.load(app.getresponse())["url"] == f"{browser.origin}{TOP}/@Alice"
        says_so = "no worker has run yet: start `manage.py deliver`" in site.printed()
        assert says_so == (host in WITHOUT_WORKER)


def test_the_addresses_of_commands_have_the_path():
    code = "from accounts.management.people import address_of; print(address_of('invited', 'code'))"
    given = {"SCRIPT_NAME": TOP, "SITE_ADDRESS": "https://retwis.example"}
    assert in_a_process(code, **given) == "https://retwis.example/social/invited/code/"


def test_an_installed_site_has_the_path():
    names = ("service-worker.js", "manifest.webmanifest")
    code = f"print(*(Client().get(f'/{{name}}').content.decode() for name in {names}))"
    said = in_a_process(code, SCRIPT_NAME=TOP, ALLOWED_HOSTS="testserver")
    for part in ('"scope": "/social/"', '"/social/offline/"', '"/social/static/retwis', '"start_url": "/social/"'):
        assert part in said


def test_cookies_of_two_sites_on_a_host_have_other_names():
    code = "print(settings.AUTH_COOKIE, settings.CSRF_COOKIE_NAME, settings.FORCE_SCRIPT_NAME)"
    of_top, of_path = (in_a_process(code, HTTPS="1", SCRIPT_NAME=name).split() for name in ("", "/our/social"))
    assert of_top == ["__Host-auth", "__Host-csrftoken"]  # and no path
    assert of_path == ["__Host-our~social-auth", "__Host-our~social-csrftoken", "/our/social"]


def test_health_checks_below_a_path_need_no_https():
    code = "print(Client().get('/livez').status_code, Client().get('/about/').status_code)"
    given = {"SCRIPT_NAME": TOP, "HTTPS": "1", "ALLOWED_HOSTS": "testserver"}
    assert in_a_process(code, **given) == "200 301"


@pytest.mark.parametrize("value", ["social", "/social/", "/", "/a b", "//x"])
def test_what_is_no_path_is_refused(value):
    with pytest.raises(Exception, match="returned non-zero") as failed:
        in_a_process("pass", SCRIPT_NAME=value)
    assert "SCRIPT_NAME=" in failed.value.stderr


@pytest.mark.parametrize(
    ("script_name", "path", "placed"),
    [
        ("/social", "/timeline/", ("/social", "/timeline/")),
        ("", "/social/timeline/", ("/social", "/timeline/")),
        ("", "/social", ("/social", "")),
        ("", "/livez", ("", "/livez")),
        ("", "/socialite/", ("", "/socialite/")),
    ],
)
def test_the_path_is_found_in_the_address(monkeypatch, serving, script_name, path, placed):
    from retwis_site.wsgi import find_place

    monkeypatch.setattr("retwis_site.wsgi.PLACE", TOP)
    environ = {"SCRIPT_NAME": script_name, "PATH_INFO": path}
    find_place(environ)
    assert (environ["SCRIPT_NAME"], environ["PATH_INFO"]) == placed


def test_a_server_with_another_path_is_told_the_setting(serving):
    from retwis_site.wsgi import find_place

    with pytest.raises(ImproperlyConfigured, match="set SCRIPT_NAME=/social"):
        find_place({"SCRIPT_NAME": TOP, "PATH_INFO": "/"})
