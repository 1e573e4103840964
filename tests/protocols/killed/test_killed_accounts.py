"""Registering, joining, logging in and out, settings, moderation and the deletion of an account, killed between any
two commands."""

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.community.acts import APPROVED, Roles
from accounts.community.log import Log
from accounts.community.sanctions import GRANTED, Sanctions
from accounts.joining.joining import Applications, Invitations, NotYetMember
from accounts.recovery.codes import NUMBER, RecoveryCodes, ResetLinks, codes_in
from accounts.second_factor.repository import Passkey, SecondFactors
from accounts.signing_in.factors import PENDING_COOKIE, Pending, password_digest
from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State
from accounts.users.names import NameIndex
from retwis_site.store.client import connect
from tests.support.maintenance.downloads import download_file
from tests.support.maintenance.site_files import export, import_
from tests.support.people import NEW_PASSWORD, PASSWORD, give_old_password, log_in, register
from tests.support.processes.scenes import ALICE, BOB, CAROL, kill_at_every_command
from tests.support.protocols.joining import assert_one_answer, assert_sound, assert_uses_are_accounts
from tests.support.stored_keys import empty, expected_name_entries, follower_counts, name_entries, ranking
from timeline.moderation.reports import Action, NewReport, Reports
from timeline.relations.relations import Follows


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
        assert len(codes_in(scene.raw.hgetall("user:1"))) == NUMBER - changed, where
        assert RecoveryCodes(connect()).claim(ALICE, scene.code) != changed, where

    kill_at_every_command(scene, capsys, work, check)


def test_the_second_step_of_a_login(scene, capsys):
    """The code is taken before the session begins: a killed login has spent it, or has opened the one session."""

    def work(scene):
        SecondFactors(connect()).add_passkey(ALICE, Passkey("a1", "Phone", "b2", 1), 0)
        scene.code = RecoveryCodes(connect()).make(ALICE)[0]
        encoded = scene.raw.hget("user:1", "password")
        pending = Pending(ALICE, "", password_digest(encoded), "").signed()
        return {"path": "/login/second/", "form": {"code": scene.code}, "cookies": {PENDING_COOKIE: pending}}

    def check(scene, where, through):
        secrets = [name.partition(":")[2] for name in scene.raw.hkeys("user:1") if name.startswith("session:")]
        assert len(secrets) == 1 or not through, where
        assert all(Viewer(connect(), secret).user.is_authenticated for secret in secrets), where
        assert not secrets or not RecoveryCodes(connect()).claim(ALICE, scene.code), where
        assert scene.raw.hlen("credentials:1") == 1, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_link_that_removes_the_second_factor(scene, capsys):
    """Never the old password alone opens the account."""

    def work(scene):
        SecondFactors(connect()).add_passkey(ALICE, Passkey("a1", "Phone", "b2", 1), 7)
        form = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
        return {"path": f"/reset/{ResetLinks(connect()).make(ALICE)}/", "form": form}

    def check(scene, where, through):
        old = authenticate(None, username="alice", password=PASSWORD)
        new = authenticate(None, username="alice", password=NEW_PASSWORD)
        assert (old is None) != (new is None), where
        assert old is None or old.digest, where
        assert not through or not new.digest, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_logout(scene, capsys):
    def work(scene):
        scene.phone = log_in(connect())
        return {"path": "/logout/", "form": {}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        now = scene.secret(scene.alice)
        assert now != scene.alice.secret or not through, where
        assert Viewer(connect(), scene.alice.secret).user.is_authenticated == (now == scene.alice.secret), where
        for secret in (now, scene.phone.secret):
            assert Viewer(connect(), secret).user.is_authenticated, where

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


@pytest.mark.parametrize("before", ["", "Anna"])
def test_a_new_display_name_and_bio(scene, capsys, before):
    def work(scene):
        NameIndex(connect()).edit(scene.alice.user, before, "old")
        form = {"name": "Ann: of Cleves", "bio": "new"}
        return {"path": "/settings/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        stored = tuple(scene.raw.hmget("user:1", "name", "bio"))
        assert stored in {(before or None, "old"), ("Ann: of Cleves", "new")}, where
        assert stored[1] == "new" or not through, where
        assert name_entries(scene.raw) == expected_name_entries(scene.raw), where
        assert len(name_entries(scene.raw)) == 3 + len((stored[0] or "").split()), where  # one for each word of a name

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


# ---- A registration with an invitation, and staff's answers to an application, killed between any two commands.


FORM = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}


def test_a_registration_with_an_invitation(scene, capsys):
    def work(scene):
        scene.code = Invitations(connect()).make(by=BOB).code
        return {"path": "/register/", "form": {**FORM, "code": scene.code}}

    def check(scene, where, through):
        login = authenticate(None, username="dora", password=PASSWORD)
        assert login is not None or not through, where
        assert_uses_are_accounts(connect(), scene.raw, scene.code)
        assert (Invitations(connect()).open([BOB]) == []) == (login is not None), where
        assert_sound(scene.raw)

    kill_at_every_command(scene, capsys, work, check)


@pytest.mark.parametrize("answer", ["approve", "refuse"])
def test_an_answer_to_an_application(scene, capsys, answer):
    encoded = make_password(PASSWORD)

    def work(scene):
        Roles(connect()).give(ALICE, Role.MODERATOR)
        Applications(connect()).apply("Dora", encoded, "I know bob.")
        at = Applications(connect()).all()[0].at
        form = {"username": "Dora", "at": at, "answer": answer, "reason": "We are full."}
        return {"path": "/moderation/joining/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        given = assert_one_answer(connect(), scene.raw)
        assert given or not through, where
        if given == APPROVED:
            assert authenticate(None, username="dora", password=PASSWORD) is not None, where
        else:
            with pytest.raises(NotYetMember):
                authenticate(None, username="dora", password=PASSWORD)
        assert_sound(scene.raw)

    kill_at_every_command(scene, capsys, work, check)


# ---- Decisions about reports, sanctions and answers to appeals, killed between any two commands.


PERSON = "/moderation/people/alice/"
WHY = "Advertisements"


def acts_about_alice():
    return [act.what for act in Log(connect()).about(ALICE)]


def told(scene, uid):
    return [member for member in scene.raw.zrange(f"notices:{uid}", 0, -1) if member.startswith("report:")]


@pytest.mark.parametrize("action", [Action.DELETE, Action.HIDE])
def test_a_decision_about_a_report(scene, capsys, action):
    def work(scene):
        Roles(connect()).give(CAROL, Role.MODERATOR)
        Reports(connect()).make(BOB, NewReport(ALICE, scene.pid, "spam", body="Before"))
        [scene.rid] = scene.raw.zrange("reports", 0, -1)
        form = {"action": action.value, "days": "7", "reason": WHY}
        return {"path": f"/moderation/reports/{scene.rid}/", "form": form, "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        is_decided = Reports(connect()).read(int(scene.rid)).action is action
        assert is_decided or not through, where
        assert scene.raw.zcard("reports") == (0 if is_decided else 1), where
        assert len(told(scene, BOB)) == is_decided, where
        deleted = scene.raw.hget(f"post:{scene.pid}", "deleted")
        assert (deleted is not None) == (is_decided and action is Action.DELETE), where
        assert deleted is None or deleted.endswith(":staff"), where
        assert (Sanctions(connect()).of(ALICE) is not None) == (is_decided and action is Action.HIDE), where
        assert len(acts_about_alice()) == is_decided, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_sanction(scene, capsys):
    def work(scene):
        Roles(connect()).give(CAROL, Role.MODERATOR)
        form = {"act": "sanction", "action": "suspended", "days": "7", "reason": WHY}
        return {"path": PERSON, "form": form, "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        present = Sanctions(connect()).of(ALICE)
        assert present is not None or not through, where
        assert acts_about_alice() == (["suspended"] if present else []), where
        assert scene.home(scene.bob) == ([] if present else ["Before"]), where
        if present:
            Sanctions(connect()).lift(ALICE)
            assert scene.home(scene.bob) == ["Before"], where

    kill_at_every_command(scene, capsys, work, check)


def test_a_granted_appeal(scene, capsys):
    def work(scene):
        Roles(connect()).give(CAROL, Role.MODERATOR)
        Sanctions(connect()).impose(ALICE, State.FROZEN, WHY)
        Sanctions(connect()).appeal(ALICE, "It was a joke")
        return {"path": PERSON, "form": {"act": "grant", "reason": "Indeed"}, "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        is_free = Sanctions(connect()).of(ALICE) is None
        assert is_free or not through, where
        assert scene.raw.zcard("appeals") == (0 if is_free else 1), where
        assert acts_about_alice() == [*([GRANTED] if is_free else []), "frozen"], where
        told = [f"sanction:{act.at}:{ALICE}" for act in Log(connect()).about(ALICE) if act.what == GRANTED]
        assert [one for one in scene.raw.zrange(f"notices:{ALICE}", 0, -1) if one.startswith("sanction")] == told, where

    kill_at_every_command(scene, capsys, work, check)


# ---- Imports, killed between any two commands.


SOONER, LATER = "2023-11-14T22:13:21Z", "2023-11-14T22:13:22Z"


def test_an_import_of_a_whole_site(scene, capsys, tmp_path):
    """After a kill, the next run completes it."""
    path = tmp_path / "site.jsonl"

    def work(scene):
        export(path)
        empty(scene.raw)
        return {"command": ["import", str(path)]}

    def check(scene, where, through):
        if scene.raw.get("next_user_id") != "3":
            assert not through, where
            import_(path)
        assert scene.raw.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}, where
        assert ranking(scene.raw) == follower_counts(scene.raw) == {"1": 2}, where
        assert scene.everyone() == scene.home(scene.bob) == ["Before"], where
        assert [scene.raw.get("next_post_id"), scene.raw.get("schema")] == ["1", "1"], where

    kill_at_every_command(scene, capsys, work, check)


def test_an_import_of_a_download(scene, capsys, tmp_path):
    """After a kill, a worker finishes the posts that were written, and the next run brings back the others."""
    path = tmp_path / "download.jsonl"

    def work(scene):
        path.write_bytes(download_file([(7, LATER, "later"), (6, SOONER, "sooner")]))
        return {"command": ["import_account", str(path), "--into-existing"]}

    def check(scene, where, through):
        bodies = [scene.raw.hget(f"post:{pid}", "body") for pid in scene.raw.zrange("updates:1", 0, -1)]
        assert set(bodies) <= {"Before", "sooner", "later"}, where
        assert len(bodies) == len(set(bodies)) == 3 or not through, where
        assert scene.home(scene.bob) == scene.everyone() == bodies[::-1], where
        call_command("import_account", str(path), "--into-existing", verbosity=0)
        assert sorted(scene.home(scene.bob)) == ["Before", "later", "sooner"], where
        assert sorted(scene.everyone()) == ["Before", "later", "sooner"], where
        call_command("cleanup", verbosity=0)

    kill_at_every_command(scene, capsys, work, check)
