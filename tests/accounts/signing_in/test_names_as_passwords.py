"""A password that anybody would try first is refused: the username, and the name of the site."""

import pytest
from django.core.management import CommandError, call_command

from tests.support.people import PASSWORD

NAMES = ["somebody_new", "SOMEBODY_new"]
REFUSED = "Your username and the name of the site are no passwords."


@pytest.fixture
def long_site_name(monkeypatch):
    monkeypatch.setattr("accounts.signing_in.passwords.site_name", lambda: "Straßenfest Nord")


@pytest.mark.parametrize("password", [*NAMES, "strassenfest nord"])
def test_nobody_registers_with_it(browser, raw, long_site_name, password):
    answer = browser().post("/register/", {"username": "Somebody_New", "password1": password, "password2": password})
    assert answer.status_code == 422
    assert REFUSED in answer.content.decode()
    assert raw.keys("user:*") == []


@pytest.mark.parametrize("password", [*NAMES, "STRASSENFEST NORD"])
def test_nobody_changes_to_it(browser, raw, long_site_name, password):
    client = browser()
    client.post("/register/", {"username": "Somebody_New", "password1": PASSWORD, "password2": PASSWORD})
    typed = {"password": PASSWORD, "password1": password, "password2": password}
    answer = client.post("/settings/password/", typed)
    assert answer.status_code == 422
    assert REFUSED in answer.content.decode()


def test_no_command_sets_it(raw, typed):
    typed("Somebody_NEW\n")
    with pytest.raises(CommandError, match="are no passwords"):
        call_command("createuser", "somebody_new")
