"""`role`, `sanction`, `user` and `unthrottle`: what staff does, from the command line."""

import re
import time

import pytest
from django.core.management import ManagementUtility, call_command

from accounts.community.acts import Roles
from accounts.community.log import Log
from accounts.community.sanctions import Sanctions
from accounts.joining.joining import Invitations
from accounts.recovery.feature import CODES
from accounts.signing_in.passwords import LOGINS, login_subject
from accounts.users.accounts import Registration
from accounts.users.entities import Role, State
from retwis_site.rendering.dates import A_DAY
from tests.support.command_output import refuses, said
from tests.support.stored_keys import everything
from tests.support.stores.seam import killed_before_round_trip
from timeline.posts.feature import POSTS

ALICE, BOB = 1, 2
pytestmark = pytest.mark.usefixtures("raw", "alice", "bob")


def test_role_gives_and_takes_roles_and_keeps_the_last_admin(store, raw, capsys):
    assert said(capsys, "role", "Alice", "admin") == "Alice is now: admin.\n"
    assert raw.hgetall("staff") == {"1": "admin"}
    refuses("This is the only admin", "role", "Alice", "member")
    assert said(capsys, "role", "bob", "admin") == "bob is now: admin.\n"
    assert said(capsys, "role", "Alice", "member") == "Alice is now: member.\n"
    assert Roles(store).staff() == {BOB: Role.ADMIN}
    assert {act.by for act in Log(store).page()[0]} == {0}


def test_the_log_says_which_acts_were_done_by_a_command(browser, store, alice):
    call_command("sanction", "bob", "frozen", "--reason", "insults")
    Roles(store).give(ALICE, Role.MODERATOR)
    staff = browser(alice)
    staff.post("/moderation/people/bob/", {"act": "lift", "reason": "Enough"})
    for address in ("/moderation/log/", "/moderation/people/bob/"):
        page = staff.get(address).content.decode()
        lifted, frozen = re.findall("<p>(?:Sanction lifted|Account frozen).*?</p>", page)
        assert "by a command on the server" in frozen
        assert "by @Alice" in lifted
        assert "by a command" not in lifted


def test_sanction_imposes_with_an_end_and_lifts(store, capsys):
    line = said(capsys, "sanction", "bob", "frozen", "--reason", "insults", "--days", "7")
    assert line == "bob is frozen for 7 days.\n"
    present = Sanctions(store).of(BOB)
    assert (present.state, present.reason) == (State.FROZEN, "insults")
    assert 6.9 * A_DAY < present.until - time.time() <= 7 * A_DAY
    assert said(capsys, "sanction", "bob", "none", "--reason", "enough") == "Nothing is imposed on bob any more.\n"
    assert Sanctions(store).of(BOB) is None
    said(capsys, "sanction", "bob", "suspended", "--reason", "spam")
    said(capsys, "sanction", "bob", "none", "--reason", "we were wrong")  # a suspended user is found
    assert [act.what for act in Log(store).about(BOB)] == ["lifted", "suspended", "lifted", "frozen"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nobody", "frozen", "--reason", "x"), "There is no user 'nobody'"),
        (("bob", "frozen", "--reason", " "), "The reason has 1 to 500 characters"),
        (("bob", "frozen", "--reason", "x" * 501), "The reason has 1 to 500 characters"),
        (("bob", "frozen", "--reason", "x", "--days", "0"), "--days: '0' is not a whole number from 1 to 3650"),
        (("bob", "none", "--reason", "x"), "There is no sanction"),
        (("bob", "banished", "--reason", "x"), "invalid choice"),
        (("bob", "frozen"), "--reason"),
    ],
)
def test_sanction_says_what_is_wrong_and_changes_nothing(raw, arguments, complaint):
    before = everything(raw)
    refuses(complaint, "sanction", *arguments)
    assert everything(raw) == before


def test_a_deleted_user_gets_no_role(raw):
    raw.hset("user:2", "deleted", "1")
    refuses("The account of 'bob' is deleted", "role", "bob", "admin")


def test_user_prints_what_staff_may_know_and_nothing_secret(store, raw, bob, capsys):
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam", by=ALICE)
    Sanctions(store).appeal(BOB, "It was not me.")
    printed = said(capsys, "user", "show", "BOB")
    for line in ("username: bob", "id: 2", "role: member", "state: suspended", "reason: spam", "posts: 0"):
        assert f"{line}\n" in printed
    assert "appeal: It was not me.\n" in printed
    assert "suspended by user 1: spam\n" in printed
    for secret in (bob.secret, raw.hget("user:2", "auth"), raw.hget("user:2", "password")):
        assert secret not in printed


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["bob"], "bob"),
        (["show", "bob"], "bob"),
        (["-v", "1", "bob"], "bob"),
        (["bob", "--no-color"], "bob"),
        (["role"], "role"),
        (["role", "--verbosity", "1"], "role"),
        (["--no-color", "role"], "role"),
        (["show"], "show"),
    ],
)
def test_user_without_a_verb_shows_the_user_whatever_the_name_is(words, shown, store, capsys):
    for name in ("role", "show"):
        Registration(store).register(name, "!")
    ManagementUtility(["manage.py", "user", *words]).execute()
    assert f"username: {shown}\n" in capsys.readouterr().out
    call_command("user", *words)
    assert f"username: {shown}\n" in capsys.readouterr().out


def test_a_misspelled_verb_is_an_error_that_names_all_verbs(raw, capsys):
    with pytest.raises(SystemExit) as ended:
        ManagementUtility(["manage.py", "user", "creat", "alice"]).execute()
    assert ended.value.code == 2
    assert "argument VERB: invalid choice: 'creat'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["role", "alice", "admin", "--verbosity", "0"],
        ["role", "-v", "0", "alice", "admin"],
        ["role", "alice", "-v0", "admin"],
        ["-v", "0", "role", "alice", "admin"],
        ["--no-color", "--verbosity=0", "role", "alice", "admin"],
    ],
)
def test_the_options_of_every_command_stand_anywhere(words, raw, capsys):
    ManagementUtility(["manage.py", "user", *words]).execute()
    assert capsys.readouterr() == ("", "")
    assert raw.hget("user:1", "role") == "admin"


def test_the_log_names_what_the_operator_does_about_names_invitations_and_limits(store, raw, capsys, browser, alice):
    code = Invitations(store).make(by=BOB).code
    address = said(capsys, "invite", "--uses", "10", "--days", "3")
    for command in (
        ("invite", "--revoke", address.strip()),
        ("invite", "--revoke", code),
        ("names", "--block", "Cheap*"),
        ("names", "--unblock", "cheap*"),
        ("unthrottle", "bob", "--address", "192.0.2.1"),
    ):
        said(capsys, *command)
    acts = sorted(Log(store).page()[0], key=lambda act: (act.what, act.whom))  # two may have the same millisecond
    assert [(act.what, act.by, act.whom, act.reason) for act in acts] == [
        ("invitation:made", 0, 0, "10×"),
        ("invitation:revoked", 0, 0, ""),
        ("invitation:revoked", 0, BOB, ""),
        ("name:blocked", 0, 0, "cheap*"),
        ("name:unblocked", 0, 0, "cheap*"),
        ("unthrottled", 0, BOB, ""),
    ]
    assert 2.9 * A_DAY < acts[0].until - time.time() <= 3 * A_DAY
    lines = "".join(act.line() for act in acts)
    assert not any(secret in lines for secret in (address.strip().rpartition("-")[2].strip("/"), code, "192.0.2.1"))
    Roles(store).give(ALICE, Role.ADMIN)
    page = browser(alice).get("/moderation/log/").content.decode()
    for words in (
        "Name blocked",
        "Name unblocked",
        "Invitation created until",
        "Invitation revoked",
        "Rate limits reset",
    ):
        assert words in page


@pytest.mark.parametrize("what", ["made", "revoked"])
@pytest.mark.parametrize("kill", range(8))
def test_no_invitation_comes_or_goes_without_a_line_in_the_log(store, raw, what, kill):
    """The process of the command dies before each of its round trips."""
    there = [] if what == "made" else [Invitations(store).make().code]
    words = ["--revoke", *there] if there else ["--uses", "2"]
    survived = not killed_before_round_trip(kill, lambda: call_command("invite", *words, verbosity=0))
    lines = [act.what for act in Log(store).page()[0]]
    is_done = list(raw.hgetall("invites:0")) != there
    assert lines == [f"invitation:{what}"] or not (is_done or lines)
    assert is_done or not survived


def test_unthrottle_forgets_what_is_counted_of_one_user(store, raw):
    POSTS.count(store, 1)
    POSTS.count(store, 2)
    for address in ("192.0.2.1", "192.0.2.2"):
        LOGINS.count(store, login_subject("bob", address))
    CODES.count(store, login_subject("bob", "192.0.2.1"))
    call_command("unthrottle", "bob", verbosity=0)
    assert len(raw.keys("throttle:*")) == 4
    call_command("unthrottle", "bob", "--address", "192.0.2.1", verbosity=0)
    left = {"throttle:post:1", f"throttle:login:{login_subject('bob', '192.0.2.2')}"}
    assert set(raw.keys("throttle:*")) == left
    refuses("is no IP address", "unthrottle", "bob", "--address", "home")
