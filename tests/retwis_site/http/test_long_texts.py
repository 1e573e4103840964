"""No typed text is brought into Unicode's normal form before it is known to be short: of combining marks in the wrong
order, each moves past all others, and 100 KB of them would stop a worker for seconds."""

import json
import unicodedata

import pytest

from tests.support.people import PASSWORD

LONG = "a" + "\u0315\u0300" * 3000
MOST = 1500  # characters


@pytest.fixture
def normalised(monkeypatch):
    """The lengths of all texts that are brought into a normal form."""
    real, found = unicodedata.normalize, [0]

    def noted(form, text):
        found.append(len(text))
        return real(form, text)

    monkeypatch.setattr(unicodedata, "normalize", noted)
    return found


@pytest.mark.parametrize(
    ("method", "address", "sent"),
    [
        ("POST", "/api/v1/apps", {"client_name": LONG, "redirect_uris": "tusky://back"}),
        *(("GET", "/api/v2/search", {"q": LONG, "type": kind}) for kind in ("accounts", "statuses", "hashtags")),
        ("GET", "/api/v2/search", {"q": f"https://{LONG}"}),
        ("GET", "/api/v1/accounts/lookup", {"acct": LONG}),
        *(("GET", "/api/v1/timelines/tag/tea", {which: [LONG]}) for which in ("any", "all", "none")),
        ("GET", "/api/v1/accounts/1/statuses", {"tagged": LONG}),
    ],
)
def test_what_a_visitors_app_sends(client, store, normalised, method, address, sent):
    client.generic(method, address, json.dumps(sent), "application/json")
    assert max(normalised) <= MOST


@pytest.mark.parametrize(
    "address",
    [
        *(f"/tags/{LONG}/", f"/tags/{LONG}", f"/tags/{LONG}/atom/", f"/@{LONG}/", f"/@{LONG}/atom/"),
        *(f"/api/v1/tags/{LONG}", f"/api/v1/timelines/tag/{LONG}"),
    ],
)
def test_the_address_that_a_visitor_asks_for(client, store, normalised, address):
    client.get(address)
    assert max(normalised) <= MOST


@pytest.mark.parametrize("address", ["/search/", "/people/", "/complete/"])
def test_what_is_searched_for(client, member, store, normalised, address):
    for browser in (client, member):
        for sign in ("", "#", "@"):
            browser.get(address, {"q": f"{sign}{LONG}"})
    assert max(normalised) <= MOST


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/login/", {"username": LONG, "password": LONG}),
        ("/register/", {"username": LONG, "password1": LONG, "password2": LONG, "why": LONG}),
        ("/register/", {"username": "dora", "password1": PASSWORD, "password2": PASSWORD, "why": LONG}),
        ("/recover/", {"username": LONG, "code": LONG, "password1": LONG, "password2": LONG}),
        ("/announcement/dismiss/", {"next": f"//{LONG}"}),
        ("/settings/language/", {"next": f"//{LONG}"}),
    ],
)
def test_the_forms_of_visitors(client, raw, store, normalised, address, fields):
    raw.hset("site", "registration", "approval")
    client.post(address, fields)
    assert max(normalised) <= MOST


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/settings/", {"name": LONG, "bio": LONG, "label_1": LONG, "value_1": LONG}),
        ("/settings/", {"name": "", "bio": "", "label_1": "Web", "value_1": f"https://{LONG}/"}),
        ("/first-steps/", {"name": LONG, "bio": LONG, "body": LONG, "follow": f"#{LONG}"}),
        ("/settings/password/", {"password": LONG, "password1": LONG, "password2": LONG}),
        ("/settings/security/passkeys/add/", {"name": LONG, "passkey": "{}"}),
        ("/settings/words/", {"words": LONG, "where": "home", "how": "hide", "until": "ever"}),
        *((f"/tags/{LONG}/{act}/", {}) for act in ("follow", "unfollow", "home/add", "home/remove")),
        ("/post/", {"body": f"#{LONG} https://{LONG}/ @{LONG}", "alt": LONG, "media": "0" * 32}),
        ("/@bob/report/", {"reason": "spam", "note": LONG}),
    ],
)
def test_the_forms_of_members(member, bob, normalised, address, fields):
    member.post(address, fields)
    assert max(normalised) <= MOST
