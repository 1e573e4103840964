"""An app on a page of another site: its user allows it here, and then the browser lets it ask this site."""

import base64
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.support.windows import WITHIN, sign_in
from tests.support.people import PASSWORD

VERIFIER = "v" * 50
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
# Sends a form or JSON, and returns what a script of another site may read.
ASK = """async ([address, method, sent, token, picture]) => {
    const headers = {"Cache-Control": "no-cache"};
    if (token) Object.assign(headers, {Authorization: `Bearer ${token}`, "Idempotency-Key": "once"});
    let body = undefined;
    if (picture) {
        const canvas = Object.assign(document.createElement("canvas"), {width: 20, height: 20});
        canvas.getContext("2d");
        body = new FormData();
        body.append("file", await new Promise((done) => canvas.toBlob(done, "image/png")), "picture.png");
        body.append("description", "Nothing");
    } else if (sent) {
        body = JSON.stringify(sent);
        headers["Content-Type"] = "application/json";
    }
    const answer = await fetch(address, {method, headers, body});
    return {
        status: answer.status,
        link: answer.headers.get("Link"),
        found: await answer.json(),
    };
}"""


class AppPage(BaseHTTPRequestHandler):
    """The same for each address, but for one that leads on to another host."""

    def do_GET(self):
        path, _, given = self.path.partition("?")
        self.send_response(302 if path == "/on" else 200)
        if path == "/on":
            self.send_header("Location", f"http://localhost:{self.server.server_port}/back?{given}")
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel=icon href=data:,><p>App")

    def log_message(self, *arguments):
        """What the browser asks is in the site's log."""


@pytest.fixture
def back():
    """The address of the other site to which its users come back. Chromium does not let a test answer a redirect."""
    with ThreadingHTTPServer(("127.0.0.1", 0), AppPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/back"
        server.shutdown()


@pytest.fixture
def app_window(chromium, site):
    """A window that may go to another site."""
    contexts = []

    def open_window(login=None, **options):
        context = chromium.new_context(service_workers="block", **options)
        contexts.append(context)
        context.set_default_timeout(WITHIN)
        if login is not None:
            sign_in(context, login, site.browser.origin)
        return context.new_page()

    yield open_window
    for context in contexts:
        context.close()


def consent(page, origin, app, back, **changed):
    asked = {"response_type": "code", "client_id": app["client_id"], "redirect_uri": back, "scope": "read write"}
    page.goto(f"{origin}/oauth/authorize?{urlencode({**asked, 'state': 's&t', **changed})}")
    expect(page.get_by_role("heading", name="Allow Elk?")).to_be_visible()


def told(page, back):
    """What the app's address was given."""
    page.wait_for_url(f"{back}?**")
    return {name: texts[0] for name, texts in parse_qs(urlsplit(page.url).query).items()}


@pytest.mark.gate
def test_a_page_of_another_site_uses_this_one_for_its_user(app_window, site, back, alice):
    page, origin = app_window(alice), site.browser.origin

    def ask(method, path, sent=None, token="", picture=False):
        return page.evaluate(ASK, [f"{origin}{path}", method, sent, token, picture])

    page.goto(back)
    app = ask("POST", "/api/v1/apps", {"client_name": "Elk", "redirect_uris": [back], "scopes": "read write"})["found"]
    consent(page, origin, app, back, code_challenge=CHALLENGE, code_challenge_method="S256")
    page.get_by_role("button", name="Allow", exact=True).click()
    given = told(page, back)
    assert given["state"] == "s&t"
    sent = {"grant_type": "authorization_code", "code": given["code"], "redirect_uri": back, "code_verifier": VERIFIER}
    shown = {"client_id": app["client_id"], "client_secret": app["client_secret"]}
    token = ask("POST", "/oauth/token", {**sent, **shown})["found"]["access_token"]
    assert ask("GET", "/api/v1/accounts/verify_credentials", token=token)["found"]["acct"] == alice.user.username
    picture = ask("POST", "/api/v2/media", token=token, picture=True)["found"]
    assert page.evaluate("async (address) => (await fetch(address)).status", picture["url"]) == 200
    posted = ask("POST", "/api/v1/statuses", {"status": "From afar", "media_ids": [picture["id"]]}, token)["found"]
    at = f"/api/v1/statuses/{posted['id']}"
    assert ask("PUT", at, {"status": "From near"}, token)["found"]["content"] == "<p>From near</p>"
    home = ask("GET", "/api/v1/timelines/home", token=token)
    assert [one["id"] for one in home["found"]] == [posted["id"]]
    assert home["link"].endswith('; rel="prev"')
    assert ask("DELETE", at, token=token)["found"]["text"] == "From near"
    assert ask("GET", at)["found"] == {"error": "Record not found"}
    assert ask("POST", "/oauth/revoke", {**shown, "token": token})["status"] == 200
    assert ask("GET", "/api/v1/timelines/home", token=token)["found"] == {"error": "The access token is invalid"}


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_app_learns_at_its_address_what_its_user_has_said(app_window, site, back, alice, scripts):
    page, origin = app_window(alice, java_script_enabled=scripts), site.browser.origin
    sent = {"client_name": "Elk", "redirect_uris": back, "scopes": "read write"}
    app = page.request.post(f"{origin}/api/v1/apps", form=sent).json()
    for button, name in (("Do not allow", "error"), ("Allow", "code")):
        consent(page, origin, app, back)
        page.get_by_role("button", name=button, exact=True).click()
        assert told(page, back).keys() >= {name, "state"}


def test_the_address_of_an_app_may_lead_on_to_another_host(app_window, site, back, alice):
    page, origin = app_window(alice), site.browser.origin
    on = back.replace("/back", "/on")
    app = page.request.post(f"{origin}/api/v1/apps", form={"client_name": "Elk", "redirect_uris": on}).json()
    consent(page, origin, app, on, scope="read")
    page.get_by_role("button", name="Allow", exact=True).click()
    assert told(page, back.replace("127.0.0.1", "localhost")).keys() == {"code", "state"}


@pytest.mark.parametrize("logs_in", [False, True], ids=["a member", "a visitor"])
def test_an_app_that_opens_the_consent_in_a_window_of_its_own_hears_of_it_there(app_window, site, back, alice, logs_in):
    page, origin = app_window(None if logs_in else alice), site.browser.origin
    app = page.request.post(f"{origin}/api/v1/apps", form={"client_name": "Elk", "redirect_uris": back}).json()
    asked = {"response_type": "code", "client_id": app["client_id"], "redirect_uri": back}
    address = f"{origin}/oauth/authorize?{urlencode(asked)}"
    page.goto(back)
    with page.expect_popup() as opened:
        page.evaluate("address => {window.popup = window.open(address)}", address)
    popup = opened.value
    if logs_in:
        popup.get_by_label("Username").fill(alice.user.username)
        popup.get_by_label("Password").fill(PASSWORD)
        popup.get_by_role("button", name="Log in", exact=True).click()
    expect(popup.get_by_role("heading", name="Allow Elk?")).to_be_visible()
    assert not page.evaluate("window.popup.closed")
    popup.get_by_role("button", name="Allow", exact=True).click()
    told(popup, back)
    assert popup.evaluate("window.opener.location.href") == back
