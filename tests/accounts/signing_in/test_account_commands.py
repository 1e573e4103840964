"""`createuser` and `changepassword`: accounts from the command line."""

import json

import pytest
from django.contrib.auth.hashers import check_password
from django.core.management import call_command

from tests.support.command_output import refuses, said
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import everything


def test_createuser_makes_a_user_who_can_log_in(raw, typed, client, capsys):
    typed(f"{PASSWORD}\n")
    assert said(capsys, "createuser", "Alice") == "User Alice created with the id 1.\n"
    assert raw.hgetall("users") == {"alice": "1"}
    user = raw.hgetall("user:1")
    assert user["username"] == "Alice"
    assert check_password(PASSWORD, user["password"])
    assert raw.hgetall("auths") == {user["auth"]: "1"}
    assert raw.zrange("users_by_time", 0, -1) == ["Alice"]
    assert raw.zcard("outbox") == 0
    assert client.post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert 'action="/logout/"' in client.get("/").content.decode()


def test_createuser_reads_one_line_and_keeps_its_spaces(raw, typed):
    typed(f"  {PASSWORD}  \r\nanother line\n")
    call_command("createuser", "alice", verbosity=0)
    assert check_password(f"  {PASSWORD}  ", raw.hget("user:1", "password"))


def test_a_file_with_a_bom_is_typed_like_one_without(raw, typed):
    typed(f"\ufeff{PASSWORD}\r\n")
    call_command("createuser", "alice", verbosity=0)
    assert check_password(PASSWORD, raw.hget("user:1", "password"))


@pytest.mark.parametrize("name", ["alice", "ALICE"])
def test_createuser_refuses_a_name_that_is_taken(raw, alice, typed, name):
    before = everything(raw)
    typed(f"{PASSWORD}\n")
    refuses(f"The name '{name}' is taken", "createuser", name)
    assert everything(raw) == before


@pytest.mark.parametrize("name", ["", "a b", "a-b", "ä", "a" * 31, "a\n", "../x"])
def test_createuser_refuses_a_name_with_other_characters(raw, typed, name):
    typed(f"{PASSWORD}\n")
    refuses("cannot be a username: 1 to 30 letters", "createuser", name)
    assert raw.dbsize() == 0


@pytest.mark.parametrize(
    ("password", "complaint"),
    [
        ("short1!", "too short"),
        ("", "No password was given"),
        (None, "No password was given"),
    ],
)
def test_createuser_refuses_a_weak_password(raw, typed, password, complaint):
    typed("" if password is None else f"{password}\n")
    refuses(complaint, "createuser", "alice")
    assert raw.dbsize() == 0


@pytest.fixture
def terminal(monkeypatch, typed):
    """Standard input is a terminal, and the prompts are answered with these passwords."""

    def type_in(*passwords):
        answers = iter(passwords)
        typed("")
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr("retwis_site.management.base.getpass", lambda prompt: next(answers))

    return type_in


def test_on_a_terminal_the_password_is_asked_for_twice(raw, terminal):
    terminal(PASSWORD, PASSWORD)
    call_command("createuser", "alice", verbosity=0)
    assert check_password(PASSWORD, raw.hget("user:1", "password"))


def test_two_different_passwords_on_a_terminal_change_nothing(raw, terminal):
    terminal(PASSWORD, NEW_PASSWORD)
    refuses("The two passwords differ", "createuser", "alice")
    assert raw.dbsize() == 0


def test_the_end_of_input_on_a_terminal_is_no_password(raw, terminal, monkeypatch):
    def ended(prompt):
        raise EOFError

    terminal()
    monkeypatch.setattr("retwis_site.management.base.getpass", ended)
    refuses("No password was given", "createuser", "alice")
    assert raw.dbsize() == 0


# ---- changepassword


def test_changepassword_changes_the_password_and_signs_out_everywhere(raw, alice, typed, browser, capsys):
    phone = browser(alice)
    assert 'action="/logout/"' in phone.get("/").content.decode()
    typed(f"{NEW_PASSWORD}\n")
    out = said(capsys, "changepassword", "Alice")
    assert out == "Alice has a new password and is logged out on every device.\n"
    [line] = raw.zrange("acts:1", 0, -1)
    assert {name: json.loads(line)[name] for name in ("what", "by")} == {"what": "password", "by": 0}
    assert 'action="/logout/"' not in phone.get("/").content.decode()
    login = browser().post("/login/", {"username": "alice", "password": PASSWORD})
    assert login.status_code == 422
    secret = raw.hget("user:1", "auth")
    assert secret != alice.secret
    assert raw.hgetall("auths") == {secret: "1"}
    assert raw.zcard("outbox") == 0
    login = browser().post("/login/", {"username": "alice", "password": NEW_PASSWORD})
    assert login.status_code == 302


def test_changepassword_finds_a_name_in_any_letter_case(raw, alice, bob, typed):
    typed(f"{NEW_PASSWORD}\n")
    call_command("changepassword", "aLICE", verbosity=0)
    assert check_password(NEW_PASSWORD, raw.hget("user:1", "password"))
    assert check_password(PASSWORD, raw.hget("user:2", "password"))
    assert raw.hget("user:2", "auth") == bob.secret


@pytest.mark.parametrize(
    ("name", "password", "complaint"),
    [
        ("bob", NEW_PASSWORD, "There is no user 'bob'"),
        ("alice", "short1!", "too short"),
        ("alice", "", "No password was given"),
    ],
)
def test_changepassword_refuses_an_unknown_name_and_a_weak_password(raw, alice, typed, name, password, complaint):
    before = everything(raw)
    typed(f"{password}\n")
    refuses(complaint, "changepassword", name)
    assert everything(raw) == before
