"""The inspector and its records have no secret: no password or hash of one, no session, no code, no link."""

import re

import pytest
from django.conf import settings

from tests.support.texts.inspector import inspector

pytestmark = pytest.mark.usefixtures("inspected")

PASSWORD, ANOTHER = "correct horse battery", "staple of a pigeon"


def secrets_in(raw):
    """Every secret that the store has."""
    found = {PASSWORD, ANOTHER, PASSWORD.encode().hex()}
    found |= set(raw.hgetall("auths"))
    for key in raw.keys("user:*"):
        for field, value in raw.hgetall(key).items():
            _, colon, secret = field.partition(":")
            found |= {secret} if colon else set()
            found |= {value, *value.split("$")} if field in {"password", "auth", "generation"} else set()
    found |= {key.rpartition(":")[2] for key in raw.keys("reset:*")}
    return {secret for secret in found if len(secret) > 7}


def shown_after(client, raw, path, fields):
    """All that the inspector shows and keeps of a form."""
    before = secrets_in(raw)
    answer = client.post(path, fields)
    kept = "".join(raw.get(key) for key in raw.keys("inspected:*"))
    page = answer if answer.status_code != 302 else client.get(answer["Location"])
    assert inspector(page)
    html = page.content.decode().partition('<aside class="inspector"')[2] + kept
    cookie = client.cookies.get("inspected")
    return html + (cookie.value if cookie else ""), before | secrets_in(raw)


def register(client, raw):
    fields = {"username": "zoe", "password": PASSWORD, "password1": PASSWORD, "password2": PASSWORD}
    return shown_after(client, raw, "/register/", fields)


def test_a_registration_shows_no_secret(browser, raw):
    shown, secrets = register(browser(), raw)
    assert "users" in shown
    assert len(secrets) > 3
    assert [secret for secret in secrets if secret in shown] == []


@pytest.mark.parametrize(("password", "is_right"), [(PASSWORD, True), (ANOTHER, False)], ids=["right", "wrong"])
def test_a_login_shows_no_secret(browser, raw, password, is_right):
    register(browser(), raw)
    shown, secrets = shown_after(browser(), raw, "/login/", {"username": "zoe", "password": password})
    assert "auths" in shown or not is_right
    assert [secret for secret in secrets if secret in shown] == []


def test_a_password_change_shows_no_secret(client, raw):
    register(client, raw)
    fields = {"password": PASSWORD, "password1": ANOTHER, "password2": ANOTHER}
    shown, secrets = shown_after(client, raw, "/settings/password/", fields)
    assert "HSET user:1" in re.sub(r"<[^>]*>", "", shown)
    assert [secret for secret in secrets if secret in shown] == []


def test_logging_out_shows_no_secret(client, raw):
    register(client, raw)
    secret = client.cookies[settings.AUTH_COOKIE].value
    shown, secrets = shown_after(client, raw, "/logout/", {})
    assert "auths" in shown
    assert [one for one in {*secrets, secret} if one in shown] == []
