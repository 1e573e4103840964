"""Hostile requests to every address: no 500, no unescaped echo, and no write without a form's token.

A run sends some thousand requests; `make fuzz` goes on until a test fails.
"""

import logging
import os
import sys
from urllib.parse import unquote_to_bytes

import pytest
from django.core.signals import got_request_exception
from django.urls import Resolver404, resolve, reverse
from hypothesis import HealthCheck, assume, example, find, given, settings as profiles, strategies as st

from accounts.signing_in.viewer import Viewer
from retwis_site.http.form_fields import is_visible
from tests.support.http import hostile_requests, hostile_values
from tests.support.http.answers import Page
from tests.support.http.fuzzed_site import FuzzedSite
from tests.support.people import SECRET
from tests.support.runs import sampling

profiles.register_profile(
    "suite",
    max_examples=100,
    derandomize=False,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
profiles.register_profile("fuzz", profiles.get_profile("suite"), max_examples=int(os.environ.get("FUZZ") or 1))
profiles.register_profile("sample", profiles.get_profile("suite"), max_examples=30)
PROFILE = profiles.get_profile("fuzz" if os.environ.get("FUZZ") else sampling.shorter("suite", "sample"))

pytestmark = pytest.mark.faults

ROUTES = list(hostile_requests.routes())
ROUTES_AND_NONE = [*ROUTES, None]  # None: an address of no view
KINDS = st.sampled_from(["form", "multipart"])


def name_of(route):
    return str(route or "no view")


def examples(factor):
    """The profile with its number of examples times `factor`."""
    return profiles(PROFILE, max_examples=int(PROFILE.max_examples * factor))


def run_each(check, requests):
    """Check the requests one after the other. A failure names its request."""
    for request in requests:
        try:
            check(request)
        except Exception as error:
            error.add_note(f"The request was {request}")
            raise


@pytest.fixture
def site(raw, store, sent, alice, bob, carol, settings):
    site = FuzzedSite(raw, store, sent, settings)
    settings.INSPECT = True  # then there are the pages of the key browser, without the inspector below each page

    def note_exception(**signal):
        site.raised.append(sys.exc_info()[1])

    got_request_exception.connect(note_exception)
    logging.disable(logging.CRITICAL)
    yield site
    logging.disable(logging.NOTSET)
    got_request_exception.disconnect(note_exception)
    site.note_writes()
    assert site.dirty or site.compare() == [], "a write did not go through the store client"


@pytest.fixture
def behind_a_proxy(settings):
    """The settings of HTTPS=1 and TRUSTED_PROXIES=1. It must come before `site`, which reads them."""
    settings.TRUSTED_PROXIES = 1
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 3600
    settings.AUTH_COOKIE, settings.CSRF_COOKIE_NAME = "__Host-auth", "__Host-csrftoken"


# ---- the tests


def check_that_nothing_changes(site, request):
    site.restore()
    answer = site.send(request)
    assert site.changes() == []
    assert site.settings.AUTH_COOKIE not in answer.cookies
    assert Viewer(site.store, SECRET).user.is_authenticated


@pytest.mark.parametrize("route", ROUTES_AND_NONE, ids=name_of)
def test_without_a_token_nothing_is_changed(site, route):
    def check(request):
        check_that_nothing_changes(site, request)

    run_each(check, hostile_requests.plain_without_a_token(route))
    examples(0.7)(given(request=hostile_requests.without_a_token(route))(check))()


@pytest.mark.parametrize("name", hostile_values.HEADERS)
def test_an_odd_header_changes_nothing(site, name):
    run_each(lambda request: check_that_nothing_changes(site, request), hostile_requests.one_odd_header(name))


@examples(4)
@given(request=hostile_requests.of_an_app())
def test_no_call_of_an_app_breaks_anything(site, request):
    site.restore()
    answer = site.send(request)
    if answer.status >= 400 and request.method != "HEAD":
        assert answer.all("content-type") == ["application/json; charset=utf-8"], answer
    for page in (b"/", b"/timeline/") if site.changes() else ():
        site.browser().get(page)


@examples(3)
@given(request=st.sampled_from(ROUTES_AND_NONE).flatmap(hostile_requests.without_a_token))
def test_without_a_token_nothing_is_changed_behind_a_proxy(behind_a_proxy, site, request):
    check_that_nothing_changes(site, request)


def check_that_pages_still_open(site, request):
    site.restore()
    site.send(request)
    for page in (b"/", b"/timeline/") if site.changes() else ():
        site.browser().get(page)


@pytest.mark.parametrize("route", ROUTES_AND_NONE, ids=name_of)
def test_with_a_token_no_hostile_request_breaks_a_page(site, route):
    def check(request):
        check_that_pages_still_open(site, request)

    run_each(check, hostile_requests.plain_with_a_token(route))
    examples(0.3)(given(request=hostile_requests.with_a_token(route))(check))()


@pytest.mark.parametrize("name", hostile_values.HEADERS)
def test_an_odd_header_of_a_form_breaks_no_page(site, name):
    run_each(
        lambda request: check_that_pages_still_open(site, request), hostile_requests.one_odd_header_of_a_form(name)
    )


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_no_text_in_a_form_breaks_a_page(site, route):
    @examples(0.2)
    @given(signed_in=st.booleans(), target=hostile_requests.targets(route), form=hostile_requests.forms, kind=KINDS)
    def check(signed_in, target, form, kind):
        site.restore()
        browser = site.browser(signed_in)
        if browser.post(target, form, kind).status in {404, 405}:
            return
        newest = int(site.raw.get("next_post_id"))
        for page in ("/", "/timeline/", "/@Alice/", "/@Alice/followers/", f"/@Alice/{newest}/", "/settings/password/"):
            browser.get(page.encode())

    check()


@examples(1)
@given(text=hostile_requests.typed, kind=KINDS)
def test_a_post_is_shown_as_it_was_typed(site, text, kind):
    site.restore()
    browser = site.browser()
    body = normalised(text)
    assert browser.post(b"/post/", {"body": text, "token": "t"}, kind).status == (302 if body else 422)
    assert site.raw.hget("post:6", "body") == body
    for page in (b"/", b"/timeline/", b"/@Alice/", b"/@Alice/6/") if body else ():
        assert Page(browser.get(page).html).texts("p.body")[0] == body


@examples(0.5)
@example(text="0\r\x00", kind="form")
@given(text=hostile_requests.typed, kind=KINDS)
def test_a_visitors_draft_is_kept_until_the_login_as_it_was_typed(site, text, kind):
    site.restore()
    browser = site.browser(signed_in=False)
    body = normalised(text)
    assert browser.post(b"/post/", {"body": text}, kind).status == (302 if body else 422)
    assert site.changes() == []
    browser.cookies[site.settings.AUTH_COOKIE] = SECRET
    [draft] = Page(browser.get(b"/").html).texts("textarea.body")
    assert draft.lstrip("\r\n") == (body or "")


@examples(0.5)
@given(name=hostile_requests.typed)
def test_a_name_from_another_database_has_its_pages(site, name):
    assume(name and name.lower() not in {"alice", "bob", "carol"})
    site.restore()
    site.add_user(4, name)
    browser = site.browser()
    for page in (b"/", b"/timeline/", b"/@Alice/followers/", b"/@Alice/following/"):
        assert reverse("profile", args=[name]) in Page(browser.get(page).html).links
    for view, further in (("profile", []), ("followers", []), ("following", []), ("post", [3])):
        assert browser.get(reverse(view, args=[name, *further]).encode()).status == 200
    assert browser.post(reverse("unfollow", args=[name]).encode(), {}).status == 302
    assert site.raw.zscore("following:1", 4) is None


def normalised(text):
    """The body of a post with this text; None when the text is refused."""
    lines = [line.rstrip() if is_visible(line) else "" for line in text.splitlines()]
    # Of empty lines in a row one stays.
    body = "\n".join(line for before, line in zip(["", *lines], lines, strict=False) if before or line).strip()
    return body if body and len(body) <= 280 and "\0" not in text else None


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_the_strategies_reach_every_address(site, route, settings):
    settings.SECURITY_CONTACT = "mailto:security@retwis.example"  # without it, security.txt is a 404

    def reaches_route(target):
        try:
            reached = resolve(unquote_to_bytes(target).decode()).route == route.text
        except (Resolver404, UnicodeDecodeError):
            return False
        # What apps ask is one address, behind which the view looks.
        return reached and ("<path:rest>" not in route.text or site.browser().get(target).status != 404)

    target = find(hostile_requests.targets(route), reaches_route, settings=profiles(PROFILE, database=None))
    assert site.browser().get(target).status != 404  # alice is staff
