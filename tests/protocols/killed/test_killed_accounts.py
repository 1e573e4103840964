"""Registering, logging in and out, settings and the deletion of an account, killed between any two commands."""

import pytest
from django.contrib.auth import authenticate

from accounts.recovery.codes import RecoveryCodes
from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.name_index import NameIndex
from retwis_site.store.client import connect
from tests.support.people import NEW_PASSWORD, PASSWORD, give_old_password, log_in, register
from tests.support.processes.scenes import ALICE, CAROL, kill_at_every_command
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, ranking
from timeline.relations.follow import Follows

pytestmark = [pytest.mark.real_server, pytest.mark.faults]


def test_a_registration(scene, capsys):
    def work(scene):
        form = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
        return {"path": "/register/", "form": form}

    def check(scene, where, through):
        login = authenticate(None, username="dora", password=PASSWORD)
        assert login is not None or not through, where
        if login is None:
            assert not scene.raw.hexists("users", "dora"), where
            assert register(connect(), "Dora").user.username == "Dora"
        else:
            secret = scene.raw.hget(f"user:{login.user.uid}", "auth")
            assert scene.raw.hget("auths", secret) == str(login.user.uid), where
            assert scene.raw.zscore("users_by_time", "Dora"), where
            assert name_entries(scene.raw) == expected_name_entries(scene.raw), where
            assert Viewer(connect(), secret).user.username == "Dora", where

    kill_at_every_command(scene, capsys, work, check)


def test_a_login(scene, capsys):
    def work(scene):
        return {"path": "/login/", "form": {"username": "alice", "password": PASSWORD}}

    def check(scene, where, through):
        secrets = [name.partition(":")[2] for name in scene.raw.hkeys("user:1") if name.startswith("session:")]
        assert len(secrets) == 1 or not through, where
        assert all(Viewer(connect(), secret).user.is_authenticated for secret in secrets), where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated, where
        official = {scene.raw.hget(f"user:{uid}", "auth") for uid in (1, 2, 3)}
        for secret in {*scene.raw.hkeys("auths")} - {*secrets} - official:
            assert not Viewer(connect(), secret).user.is_authenticated, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_logout_of_one_device(scene, capsys):
    def work(scene):
        scene.phone = log_in(connect())
        return {"path": "/logout/", "form": {}, "secret": scene.phone.secret}

    def check(scene, where, through):
        is_open = Viewer(connect(), scene.phone.secret).user.is_authenticated
        assert is_open == scene.raw.hexists("user:1", f"session:{scene.phone.secret}"), where
        assert not is_open or not through, where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_recovery_with_a_code(scene, capsys):
    def work(scene):
        scene.code = RecoveryCodes(connect()).make(ALICE)[0]
        new = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
        return {"path": "/recover/", "form": {"username": "alice", "code": scene.code, **new}}

    def check(scene, where, through):
        changed = authenticate(None, username="alice", password=NEW_PASSWORD) is not None
        assert changed or not through, where
        assert (authenticate(None, username="alice", password=PASSWORD) is None) == changed, where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated != changed, where
        assert not changed or not RecoveryCodes(connect()).claim(ALICE, scene.code), where

    kill_at_every_command(scene, capsys, work, check)


def test_a_logout(scene, capsys):
    def work(scene):
        return {"path": "/logout/", "form": {}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        now = scene.secret(scene.alice)
        assert now != scene.alice.secret or not through, where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated == (now == scene.alice.secret), where
        assert Viewer(connect(), now).user.is_authenticated, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_password_change(scene, capsys):
    def work(scene):
        form = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
        return {"path": "/settings/password/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        now = scene.secret(scene.alice)
        changed = authenticate(None, username="alice", password=NEW_PASSWORD) is not None
        assert changed or not through, where
        assert changed == (now != scene.alice.secret), where
        assert (authenticate(None, username="alice", password=PASSWORD) is None) == changed, where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated != changed, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_login_with_an_old_hash(scene, capsys):
    def work(scene):
        give_old_password(scene.raw, ALICE)
        return {"path": "/login/", "form": {"username": "alice", "password": PASSWORD}}

    def check(scene, where, through):
        replaced, left = (scene.raw.hexists("user:1", field) for field in ("password", "old_password"))
        assert replaced != left, where
        assert replaced or not through, where
        assert scene.secret(scene.alice) == scene.alice.secret, where
        assert authenticate(None, username="alice", password=PASSWORD) is not None, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_new_display_name_and_bio(scene, capsys):
    def work(scene):
        NameIndex(connect()).edit(scene.alice.user, "Anna", "old")
        form = {"name": "Ann: of Cleves", "bio": "new"}
        return {"path": "/settings/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        stored = tuple(scene.raw.hmget("user:1", "name", "bio"))
        assert stored in {("Anna", "old"), ("Ann: of Cleves", "new")}, where
        assert stored[1] == "new" or not through, where
        assert name_entries(scene.raw) == expected_name_entries(scene.raw), where
        assert len(name_entries(scene.raw)) in (4, 6), where  # one for each word of a name

    kill_at_every_command(scene, capsys, work, check)


def check_account_deletion(scene, where, through):
    """alice has all her data or none. Both others follow her; she has a post and follows carol."""
    deleted = scene.raw.hexists("user:1", "deleted")
    assert deleted or not through, where
    assert scene.raw.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}, where
    assert ranking(scene.raw) == follower_counts(scene.raw) == ({} if deleted else {"1": 2, "3": 1}), where
    for login in (scene.bob, scene.carol):
        assert scene.home(login) == ([] if deleted else ["Before"]), where
    assert scene.everyone() == ([] if deleted else ["Before"]), where
    assert Viewer(connect(), scene.alice.secret).user.is_authenticated != deleted, where
    assert (authenticate(None, username="alice", password=PASSWORD) is None) == deleted, where
    if not deleted:
        return
    assert scene.raw.hgetall("user:1").keys() == {"username", "deleted"}, where
    for key in ("following:1", "followers:1", "updates:1", "posts:1", "following:2", "following:3", "followers:3"):
        assert not scene.raw.exists(key), (where, key)
    assert scene.raw.zrange("users_by_time", 0, -1) == ["bob", "carol"], where
    assert scene.raw.hget(f"post:{scene.pid}", "body") == "", where
    assert scene.raw.ttl(f"post:{scene.pid}") > 0, where


def test_the_deletion_of_an_account(scene, capsys):
    def work(scene):
        Follows(connect()).follow(ALICE, CAROL)
        return {"path": "/settings/delete/", "form": {"password": PASSWORD}, "secret": scene.secret(scene.alice)}

    kill_at_every_command(scene, capsys, work, check_account_deletion)


def test_a_worker_that_removes_a_deleted_account(scene, capsys):
    def work(scene):
        Follows(connect()).follow(ALICE, CAROL)
        AccountDeletion(connect()).delete(scene.alice.user, scene.secret(scene.alice))
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        check_account_deletion(scene, where, through=True)

    kill_at_every_command(scene, capsys, work, check)
