"""Second factors in downloads, in the file of a site, with a removed account, and what `doctor` finds."""

import json

import pytest
from django.core.management import call_command

from accounts.second_factor.repository import SecondFactors
from accounts.signing_in.factors import use_of
from accounts.users.accounts import AccountDeletion
from tests.support.command_output import said
from tests.support.maintenance.site_files import export, import_
from tests.support.people import LONG_AGO, PASSWORD
from tests.support.second_factors import Authenticator
from tests.support.stored_keys import deliver, empty

LOGIN, SECOND = "/login/", "/login/second/"


def test_the_download_names_them_without_a_secret(raw, member, alices_app, passkey):
    member.post("/settings/confirm/", {"code": alices_app.next_code()})
    text = b"".join(member.get("/settings/download/")).decode()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["since"][:4] for line in lines if line["type"] == "authenticator"] == ["2023"]
    assert [line["name"] for line in lines if line["type"] == "passkey"] == ["Phone"]
    for hidden in (alices_app.secret, *map(str, raw.hvals("credentials:1")), *raw.zrange("factor_uses:1", 0, -1)):
        assert hidden not in text


def test_they_travel_with_the_file_of_a_site_and_open_the_accounts_there(
    client, store, raw, tmp_path, alice, bob, alices_app, passkey
):
    before = raw.hgetall("credentials:1")
    passkey.counter = 7
    SecondFactors(store).take_passkey(1, SecondFactors(store).account(1)[1].passkeys[0], "first", 7)
    path = tmp_path / "site.jsonl"
    export(path)
    empty(raw)
    import_(path)
    assert raw.hgetall("credentials:1") == before
    [field] = [name for name in before if name.startswith("passkey:")]
    assert raw.zrange("factor_uses:1", 0, -1, withscores=True) == [(use_of(field, ""), 7)]
    assert client.post(LOGIN, {"username": "alice", "password": PASSWORD})["Location"].startswith(SECOND)
    assert client.post(SECOND, {"code": alices_app.next_code()}).status_code == 302


def test_they_go_with_the_account(capsys, store, raw, alice, alices_app, passkey):
    AccountDeletion(store).delete(alice.user, alice.secret)
    deliver(capsys)
    assert raw.keys("credentials:*") == raw.keys("factor_uses:*") == []


def test_doctor_names_what_cannot_be_read_and_leaves_it(capsys, raw, alice, alices_app):
    told = '{"name": "Phone", "key": "b2-_", "since": 1}'
    damaged = [("totp", "x"), ("other", "1"), ("passkey:a", told)]  # no id has one letter
    damaged += [("passkey:b1", text) for text in ("no JSON", "[]", "[" * 9999)]
    for field, value in damaged:
        raw.delete("credentials:1")
        raw.hset("credentials:1", field, value)
        with pytest.raises(SystemExit):
            call_command("doctor", "--fix")
        assert "--remove-second-factor" in capsys.readouterr().out
        assert raw.hget("credentials:1", field) == value


def test_cleanup_removes_what_removed_factors_have_served_and_those_of_nobody(capsys, store, raw, alice, alices_app):
    Authenticator().add(store)
    raw.zadd("factor_uses:1", {"0" * 32: LONG_AGO})
    raw.hset("credentials:99", "totp", f"{LONG_AGO}:{alices_app.secret}")
    kept = raw.zrange("factor_uses:1", 0, -1)
    said(capsys, "cleanup")
    assert raw.zrange("factor_uses:1", 0, -1) == [member for member in kept if member != "0" * 32]
    assert raw.keys("credentials:*") == ["credentials:1"]
