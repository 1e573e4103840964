"""An app registers a person, by the rules of the site."""

import pytest

from accounts.apps.repository import Apps, own_token
from accounts.joining.joining import read_application
from accounts.signing_in.passwords import HASHING
from tests.support.apps import App
from tests.support.hashers import busy
from tests.support.people import PASSWORD

ALICE = {"username": "alice", "email": "alice@example.com", "password": PASSWORD, "agreement": "true", "locale": "en"}


def register(client, store, scopes="read write", slash="", **changed):
    app, _ = Apps(store).register("Tusky", "", ["tusky://back"], scopes.split())
    headers = {"Authorization": f"Bearer {own_token(app, scopes.split())}"}
    return client.post(f"/api/v1/accounts{slash}", ALICE | changed, headers=headers)


def test_a_person_joins_and_the_app_has_a_token(store, raw, client):
    answer = register(client, store)
    assert answer.status_code == 200, answer.content
    assert answer.json()["scope"] == "read write"
    assert raw.hget("users", "alice") == "1"
    shown = client.get(
        "/api/v1/apps/verify_credentials", headers={"Authorization": f"Bearer {answer.json()['access_token']}"}
    )
    assert shown.json()["name"] == "Tusky"
    assert client.post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 302


@pytest.mark.parametrize(
    ("changed", "details"),
    [
        ({"username": "alice"}, {"username": ["ERR_TAKEN"]}),
        ({"username": "admin"}, {"username": ["ERR_RESERVED"]}),
        ({"username": ""}, {"username": ["ERR_BLANK"]}),
        ({"username": "b b", "agreement": "false"}, {"username": ["ERR_INVALID"], "agreement": ["ERR_ACCEPTED"]}),
        ({"username": "bob", "password": "short"}, {"password": ["ERR_TOO_SHORT"]}),
    ],
)
def test_what_is_wrong_is_told_by_field(store, raw, client, alice, changed, details):
    answer = register(client, store, **changed)
    assert answer.status_code == 422
    found = answer.json()
    assert found["error"].startswith("Validation failed: ")
    assert {field: [one["error"] for one in errors] for field, errors in found["details"].items()} == details
    assert raw.hgetall("users") == {"alice": "1"}


@pytest.mark.parametrize("spaces", [" ", "\n", "\u2003", " " * 5000])
def test_spaces_around_a_name_make_no_other_name(store, raw, client, alice, spaces):
    """They would stand beside the name of somebody else, or of the site, and look the same."""
    for taken in ("alice", "admin"):
        for name in (f"{taken}{spaces}", f"{spaces}{taken}"):
            assert register(client, store, username=name).status_code == 422
    assert register(client, store, username=f"{spaces}bob{spaces}").status_code == 200
    assert raw.hgetall("users") == {"alice": "1", "bob": "2"}


def test_an_application_is_kept_as_the_form_reads_it(store, raw, client):
    raw.hset("site", "registration", "approval")
    register(client, store, username=" carol ", reason=f"I know bob{' ' * 5000}")
    found = read_application(raw.hget("applications", "carol"))
    assert (found.username, found.why) == ("carol", "I know bob")


@pytest.mark.parametrize(("mode", "status"), [("closed", 403), ("invite", 403), ("approval", 403)])
def test_the_site_says_how_people_join(store, raw, client, mode, status):
    raw.hset("site", "registration", mode)
    assert (register(client, store, reason="I know bob").status_code, raw.exists("users")) == (status, 0)
    assert raw.hexists("applications", "alice") == (mode == "approval")


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_registration_waits_until_a_password_may_be_hashed(store, raw, client, slash):
    with busy(*(f"203.0.113.{number}" for number in range(HASHING.waiting))):
        answer = register(client, store, slash=slash)
    assert (answer.status_code, answer["Retry-After"], answer.json().keys()) == (503, "5", {"error"})
    assert raw.exists("users") == 0
    assert register(client, store, slash=slash).status_code == 200


def test_only_the_token_of_an_app_itself_registers(store, alice, client):
    assert App(alice).ask("POST", "/api/v1/accounts", ALICE).status_code == 401
    assert App().ask("POST", "/api/v1/accounts", ALICE).status_code == 401
    assert register(client, store, "read").status_code == 403
