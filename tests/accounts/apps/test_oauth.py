"""OAuth 2, as an app and a browser go through it: from the registration to the token, and all that is refused."""

import base64
import hashlib
import json
import re
from html import unescape
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
import redis

from accounts.apps.repository import OUT_OF_BAND
from accounts.signing_in.passwords import HASHING
from retwis_site.store.ids import digest_of
from tests.support.apps import App, opens, token_of
from tests.support.hashers import busy
from tests.support.http.security_headers import POLICY
from tests.support.people import PASSWORD
from tests.support.stores.seam import broken_store

HOME = "https://tusky.app/callback?a=1"
REGISTRATION = {"client_name": "Tusky", "redirect_uris": f"{HOME}\ntusky://back", "scopes": "read write"}
VERIFIER = "v" * 50
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@pytest.fixture
def tusky(store):
    return App().json("POST", "/api/v1/apps", REGISTRATION)


def address(app, **changed):
    asked = {"client_id": app["client_id"], "response_type": "code", "redirect_uri": HOME, "scope": "read"}
    return f"/oauth/authorize?{urlencode({name: text for name, text in (asked | changed).items() if text is not None})}"


def code_in(answer):
    assert answer.status_code == 302, answer.content
    return parse_qs(urlsplit(answer["Location"]).query)["code"][0]


def fetch(client, app, code, **changed):
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": HOME}
    sent |= {"client_id": app["client_id"], "client_secret": app["client_secret"]} | changed
    return client.post("/oauth/token", {name: text for name, text in sent.items() if text is not None})


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_consent_waits_until_a_password_may_be_hashed(tusky, browser, alice, raw, slash):
    with busy(*(f"203.0.113.{number}" for number in range(HASHING.waiting))):
        answer = browser(alice).post(address(tusky).replace("?", f"{slash}?"), {"allow": "1"})
    assert answer.status_code == 503
    assert raw.keys("code:*") == []


def test_an_app_registers_as_form_and_as_json(store, raw, client):
    app = App().json("POST", "/api/v1/apps", REGISTRATION | {"website": "https://tusky.app"})
    assert app.keys() >= {"id", "name", "website", "scopes", "redirect_uris", "redirect_uri", "client_id", "vapid_key"}
    assert app["redirect_uris"] == [HOME, "tusky://back"]
    stored = raw.hgetall(f"app:{app['client_id']}")
    assert stored["name"] == "Tusky"
    assert app["client_secret"] not in stored.values()
    sent = {"client_name": "Elk", "redirect_uris": [HOME], "scopes": "read follow"}
    other = client.post("/api/v1/apps/", sent, content_type="application/json").json()
    assert (other["name"], other["redirect_uris"], other["scopes"]) == ("Elk", [HOME], ["read", "follow"])


@pytest.mark.parametrize(
    "changed",
    [
        {"client_name": ""},
        {"client_name": "x" * 61},
        {"website": "javascript:alert(1)"},
        {"redirect_uris": ""},
        {"redirect_uris": "javascript:alert(1)"},
        {"redirect_uris": "/path"},
        {"redirect_uris": "tusky:"},
        {"redirect_uris": "javascript://"},
        {"redirect_uris": "https://"},
        {"redirect_uris": "https://a.example/#part"},
        {"redirect_uris": "https://me@a.example/"},
        {"redirect_uris": "https://a.example;script-src/"},
        {"redirect_uris": "https://ä.example/"},
        {"redirect_uris": "https://*/"},
        {"redirect_uris": "https://*.example/"},
        {"redirect_uris": "\n".join(f"https://a.example/{letter * 990}" for letter in "ab")},
        {"scopes": "read admin:write"},
    ],
)
def test_what_no_app_can_be_is_refused(store, raw, changed):
    answer = App().ask("POST", "/api/v1/apps", REGISTRATION | changed)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("Validation failed: ")
    assert raw.keys("app:*") == []


def test_a_user_allows_an_app_and_it_fetches_a_token_once(tusky, browser, alice, client, raw):
    me = browser(alice)
    state = f"s&t{'x' * 1993}"
    page = me.get(address(tusky, state=state, code_challenge=CHALLENGE, code_challenge_method="S256"))
    text = page.content.decode()
    assert page.status_code == 200
    assert "Tusky" in text
    assert "@Alice" in text
    assert set(page["Content-Security-Policy"].split("; ")) == POLICY - {"form-action 'self'"}
    [action] = {unescape(found) for found in re.findall('action="(/oauth/[^"]*)"', text)}
    back = me.post(action, {"allow": "1"})
    assert parse_qs(urlsplit(back["Location"]).query)["state"] == [state]
    assert back["Location"].startswith(f"{HOME}&")
    assert page["Cross-Origin-Opener-Policy"] == back["Cross-Origin-Opener-Policy"] == "unsafe-none"
    code = code_in(back)
    assert raw.keys("code:*") == [f"code:{digest_of(code)}"]
    answer = fetch(client, tusky, code, code_verifier=VERIFIER)
    token = answer.json()
    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert (token["token_type"], token["scope"], type(token["created_at"])) == ("Bearer", "read", int)
    assert raw.hexists("user:1", f"token:{digest_of(token['access_token'])}")
    again = fetch(client, tusky, code, code_verifier=VERIFIER)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert again.json().keys() == {"error", "error_description"}
    assert not raw.hexists("user:1", f"token:{digest_of(token['access_token'])}")  # somebody has copied the code


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"client_secret": "wrong"}, "invalid_client"),
        ({"client_id": "unknown"}, "invalid_client"),
        ({"redirect_uri": "tusky://back"}, "invalid_grant"),
        ({"code_verifier": "w" * 50}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"grant_type": "password", "username": "alice", "password": PASSWORD}, "unsupported_grant_type"),
        ({"code": "x"}, "invalid_grant"),
    ],
)
def test_a_token_needs_the_app_its_address_and_its_verifier(tusky, browser, alice, client, raw, changed, error):
    allowed = browser(alice).post(
        address(tusky, code_challenge=CHALLENGE, code_challenge_method="S256"), {"allow": "1"}
    )
    answer = fetch(client, tusky, **{"code": code_in(allowed), "code_verifier": VERIFIER} | changed)
    assert answer.status_code in (400, 401)
    assert answer.json()["error"] == error
    assert not [name for name in raw.hgetall("user:1") if name.startswith("token:")]


def test_a_code_of_another_app_is_worth_nothing_and_is_used_up(tusky, browser, alice, client, raw):
    code = code_in(browser(alice).post(address(tusky), {"allow": "1"}))
    for app in (App().json("POST", "/api/v1/apps", REGISTRATION), tusky):
        assert fetch(client, app, code).json()["error"] == "invalid_grant"
    assert not [name for name in raw.hgetall("user:1") if name.startswith("token:")]


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": f"{HOME}/"},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": None},
        {"redirect_uri": 'https://"'},
        {"client_id": "unknown"},
        {"client_id": None},
        {"response_type": 'a"b'},
        {"scope": "read follow"},
        {"scope": "everything"},
        {"scope": "read:everything"},
        {"code_challenge": "x", "code_challenge_method": "S256"},
        {"code_challenge": CHALLENGE, "code_challenge_method": "plain"},
        {"response_type": "token"},
        {"state": "x" * 2001},
        {"state": "%" * 401},  # encoded twice, since a visitor logs in first: `%2525`
    ],
)
def test_an_app_that_asks_wrongly_leads_nobody_away(tusky, browser, alice, raw, changed):
    """Anybody may register an app, with any address: else a link to the site would lead anywhere."""
    me = browser(alice)
    for answer in (me.get(address(tusky, **changed)), me.post(address(tusky, **changed), {"allow": "1"})):
        assert answer.status_code == 400
        assert "Location" not in answer
    assert raw.keys("code:*") == []


def test_a_visitor_logs_in_first_and_comes_back(tusky, browser, alice):
    visitor = browser()
    wanted = address(tusky)
    to_login = visitor.get(wanted)
    assert urlsplit(to_login["Location"]).path == "/login/"
    assert parse_qs(urlsplit(to_login["Location"]).query)["next"] == [wanted]
    wrong, back = (
        visitor.post("/login/", {"username": "alice", "password": password, "next": wanted})
        for password in ("wrong", PASSWORD)
    )
    assert (wrong.status_code, back["Location"]) == (422, wanted)
    for answer in (to_login, browser().get(to_login["Location"]), wrong, back):  # a window may have been opened for it
        assert answer["Cross-Origin-Opener-Policy"] == "unsafe-none"
    for other in ("/login/?next=/settings/apps/", "/login/?next=/oauth/authorized", "/reset/x/?next=/oauth/authorize"):
        assert browser().get(other)["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize(
    "page", ["/register/", "/first-steps/", "/settings/recovery/", "/login/second/", "/login/passkey/"]
)
def test_all_pages_that_lead_a_window_to_the_consent_keep_its_opener(tusky, browser, alice, page):
    who = browser(alice if page in ("/first-steps/", "/settings/recovery/") else None)
    for answer in (who.get(page, {"next": address(tusky)}), who.post(page, {"next": address(tusky)})):
        assert answer["Cross-Origin-Opener-Policy"] == "unsafe-none", (answer.status_code, answer.headers)


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_error_page_on_the_way_to_the_consent_keeps_the_opener_too(tusky, browser, alice, method):
    me, visitor = browser(alice), browser()
    login = {"username": "alice", "password": PASSWORD, "next": address(tusky)}
    with broken_store(redis.ConnectionError()):
        answers = [getattr(me, method)(address(tusky)), visitor.post("/login/", login)]
    assert [(one.status_code, one["Cross-Origin-Opener-Policy"]) for one in answers] == [(503, "unsafe-none")] * 2
    with broken_store(redis.ConnectionError()):
        other = visitor.post("/login/", {**login, "next": "/people/"})
    assert (other.status_code, other["Cross-Origin-Opener-Policy"]) == (503, "same-origin")


def test_a_user_does_not_allow_it_or_takes_another_account(tusky, browser, alice, raw):
    me = browser(alice)
    assert "error=access_denied" in me.post(address(tusky), {"deny": "1"})["Location"]
    other = me.post(address(tusky), {"switch": "1"})
    assert parse_qs(urlsplit(other["Location"]).query)["next"] == [address(tusky)]
    assert other["Cross-Origin-Opener-Policy"] == "unsafe-none"
    assert me.get(address(tusky))["Location"].startswith("/login/")
    assert raw.keys("code:*") == []


def test_force_login_asks_for_the_password_once_more(tusky, browser, alice):
    me, wanted = browser(alice), address(tusky, force_login="true")
    assert b'type="password"' in me.get(wanted).content
    assert me.post(wanted, {"allow": "1"}).status_code == 422
    assert me.post(wanted, {"allow": "1", "password": "wrong"}).status_code == 422
    assert code_in(me.post(wanted, {"allow": "1", "password": PASSWORD}))


def test_an_app_without_an_address_gets_its_code_from_the_user(browser, alice, client):
    app = App().json("POST", "/api/v1/apps", {"client_name": "toot", "redirect_uris": OUT_OF_BAND, "scopes": "read"})
    page = browser(alice).post(address(app, redirect_uri=OUT_OF_BAND), {"allow": "1"})
    assert "form-action 'self';" in page["Content-Security-Policy"]
    [code] = re.findall('<code dir="ltr">([^<]+)</code>', page.content.decode())
    assert page["Cache-Control"] == "private, no-store"
    assert fetch(client, app, code, redirect_uri=OUT_OF_BAND).status_code == 200


@pytest.mark.parametrize("uri", ["tusky://back", "tusky://", "tusky:///", "tusky:back"])  # Ice Cubes: icecubesapp://
def test_a_custom_scheme_is_led_to(store, browser, alice, client, uri):
    app, me = App().json("POST", "/api/v1/apps", REGISTRATION | {"redirect_uris": uri}), browser(alice)
    wanted = address(app, redirect_uri=uri)
    assert "form-action" not in me.get(wanted)["Content-Security-Policy"]
    back = me.post(wanted, {"allow": "1"})
    assert back["Location"].startswith(f"{uri}?code=")
    assert fetch(client, app, code_in(back), redirect_uri=uri).status_code == 200
    assert me.post(wanted, {"deny": "1"})["Location"].startswith(f"{uri}?error=access_denied")


def test_a_page_of_another_site_cannot_allow_an_app(tusky, browser, alice, raw):
    assert browser(alice, csrf=True).post(address(tusky), {"allow": "1"}).status_code == 403
    assert raw.keys("code:*") == []


def test_an_app_has_a_token_of_its_own_that_costs_no_memory(tusky, client, raw):
    before = {key: raw.hgetall(key) for key in raw.keys("app:*")}
    sent = {"grant_type": "client_credentials", "scope": "read"}
    basic = base64.b64encode(f"{tusky['client_id']}:{tusky['client_secret']}".encode()).decode()
    token = client.post("/oauth/token", sent, headers={"Authorization": f"Basic {basic}"}).json()
    assert token["scope"] == "read"
    assert {key: raw.hgetall(key) for key in raw.keys("app:*")} == before
    shown = {"headers": {"Authorization": f"Bearer {token['access_token']}"}}
    assert client.get("/api/v1/apps/verify_credentials", **shown).json()["name"] == "Tusky"
    assert client.get("/api/v1/custom_emojis", **shown).status_code == 200
    home = client.get("/api/v1/timelines/home", **shown)
    assert (home.status_code, home.json()["error"]) == (422, "This method requires an authenticated user")
    changed = {"headers": {"Authorization": f"Bearer {token['access_token'][:-1]}x"}}
    assert client.get("/api/v1/apps/verify_credentials", **changed).status_code == 401
    ids = {name: tusky[name] for name in ("client_id", "client_secret")}
    assert client.post("/oauth/revoke", ids | {"token": token["access_token"]}).json() == {}
    assert client.get("/api/v1/apps/verify_credentials", **shown).status_code == 401


def test_a_scope_that_is_named_often_counts_once(tusky, browser, alice, client, raw):
    often = "write " * 50_000
    ids = {name: tusky[name] for name in ("client_id", "client_secret")}
    token = client.post("/oauth/token", ids | {"grant_type": "client_credentials", "scope": often}).json()
    assert token["scope"] == "write"
    form = dict(parse_qsl(urlsplit(address(tusky, scope=often)).query)) | {"allow": "1"}
    code = code_in(browser(alice).post("/oauth/authorize", form))
    assert json.loads(raw.get(f"code:{digest_of(code)}"))["scopes"] == ["write"]
    assert fetch(client, tusky, code).json()["scope"] == "write"


def test_an_app_revokes_its_own_tokens_alone(tusky, browser, alice, client, raw):
    token = fetch(client, tusky, code_in(browser(alice).post(address(tusky), {"allow": "1"}))).json()["access_token"]
    shown = {"headers": {"Authorization": f"Bearer {token}"}}
    other = App().json("POST", "/api/v1/apps", REGISTRATION)
    for app, ended in ((other, False), (tusky, True)):
        ids = {name: app[name] for name in ("client_id", "client_secret")}
        assert client.post("/oauth/revoke", ids | {"token": token}).status_code == (200 if ended else 400)
        assert (client.get("/api/v1/apps/verify_credentials", **shown).status_code == 401) == ended
    assert not [name for name in raw.hgetall("user:1") if name.startswith("token")]


@pytest.mark.parametrize("which", ["all", "one"])
def test_a_code_is_worth_nothing_once_its_user_has_ended_apps(store, tusky, browser, alice, bob, client, which):
    number = digest_of(token_of(alice))[:16]
    code, other = (code_in(browser(user).post(address(tusky), {"allow": "1"})) for user in (alice, bob))
    browser(alice).post("/settings/apps/", {"revoke": "all" if which == "all" else number})
    later = code_in(browser(alice).post(address(tusky), {"allow": "1"}))
    given = [fetch(client, tusky, one).json()["access_token"] for one in (code, other, later)]
    assert [opens(store, token) for token in given] == [False, True, True]
    assert len(re.findall('name="revoke" value="[0-9a-f]{16}"', browser(alice).get("/settings/apps/").text)) == 1


def test_a_request_that_nobody_can_read_is_refused(tusky, client):
    for headers in ({"Authorization": "Basic /////w=="}, {"Authorization": "Basic x"}, {}):
        answer = client.post("/oauth/token", {"grant_type": "client_credentials"}, headers=headers)
        assert answer.status_code in (400, 401)
        assert answer.json().keys() == {"error", "error_description"}
    answer = client.post("/oauth/token", "[" * 100, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    deep = '{"a":' * 300 + "1" + "}" * 300
    assert client.post("/oauth/token", deep, content_type="application/json").status_code == 400


def test_the_metadata_name_what_there_is(store, client):
    found = client.get("/.well-known/oauth-authorization-server").json()
    assert found["token_endpoint"] == "http://testserver/oauth/token"
    assert found["app_registration_endpoint"] == "http://testserver/api/v1/apps"
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert "password" not in found["grant_types_supported"]
