"""The management commands: accounts from the command line, what crashes leave finished or removed, and the checks."""

import contextlib
import io
import logging
import os
import signal
import subprocess
import sys
import time

import pytest
import redis
from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError

from retwis_site import embedded
from tests.conftest import PASSWORD, run_server, wait_until
from timeline.repositories.follows import Follows
from timeline.repositories.posts import Posts

LONG_AGO = 1_700_000_000
NEW_PASSWORD = "battery staple horse"
SECRET = "0123456789abcdef0123456789abcdef"
NEWER_SECRET = "fedcba9876543210fedcba9876543210"


@pytest.fixture
def typed(monkeypatch):
    """What stands on standard input, which is no terminal."""

    def type_in(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return type_in


def said(capsys, *command, **options):
    """What a command prints; nothing but a log may go to stderr."""
    capsys.readouterr()
    call_command(*command, **options)
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def everything(raw):
    """All keys with what they hold."""
    read = {
        "string": raw.get,
        "hash": raw.hgetall,
        "list": lambda key: raw.lrange(key, 0, -1),
        "zset": lambda key: raw.zrange(key, 0, -1, withscores=True),
    }
    return {key: read[raw.type(key)](key) for key in raw.keys()}  # noqa: SIM118  a client, not a dict


def environment(var, **changes):
    """The environment of a `manage.py` of its own."""
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "retwis_site.settings", "VAR_DIR": str(var), **changes}


def manage(*arguments, env, **options):
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, check=False, timeout=30, **options
    )


# ---- createuser


def test_createuser_makes_a_user_who_can_log_in(raw, typed, browser, capsys):
    typed(f"{PASSWORD}\n")
    assert said(capsys, "createuser", "Alice") == "Alice is user 1 now.\n"
    assert raw.hgetall("users") == {"alice": "1"}
    user = raw.hgetall("user:1")
    assert user["username"] == "Alice"
    assert check_password(PASSWORD, user["password"])
    assert raw.hgetall("auths") == {user["auth"]: "1"}
    assert raw.zrange("users_by_time", 0, -1) == ["Alice"]
    assert raw.zcard("outbox") == 0
    client = browser()
    assert client.post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert 'action="/logout/"' in client.get("/").content.decode()


def test_createuser_reads_one_line_and_keeps_the_blanks_in_it(raw, typed):
    typed(f"  {PASSWORD}  \r\nanother line\n")
    call_command("createuser", "alice", verbosity=0)
    assert check_password(f"  {PASSWORD}  ", raw.hget("user:1", "password"))


@pytest.mark.parametrize("name", ["alice", "ALICE"])
def test_createuser_refuses_a_name_that_is_taken(raw, alice, typed, name):
    before = everything(raw)
    typed(f"{PASSWORD}\n")
    with pytest.raises(CommandError, match=f"The name '{name}' is taken"):
        call_command("createuser", name)
    assert everything(raw) == before


@pytest.mark.parametrize("name", ["", "a b", "a-b", "ä", "a" * 31, "a\n", "../x"])
def test_createuser_refuses_a_name_of_other_characters(raw, typed, name):
    typed(f"{PASSWORD}\n")
    with pytest.raises(CommandError, match="cannot be a username: 1 to 30 letters"):
        call_command("createuser", name)
    assert raw.dbsize() == 0


@pytest.mark.parametrize(
    ("password", "complaint"),
    [
        ("short1!", "too short"),
        ("password123", "too common"),
        ("83746529384", "entirely numeric"),
        ("x" * 129, "At most 128 characters"),
        ("a null \0 in it", "Null characters"),
        ("", "A password is needed"),
        (None, "A password is needed"),
    ],
)
def test_createuser_refuses_a_weak_password(raw, typed, password, complaint):
    typed("" if password is None else f"{password}\n")
    with pytest.raises(CommandError, match=complaint):
        call_command("createuser", "alice")
    assert raw.dbsize() == 0


@pytest.fixture
def terminal(monkeypatch, typed):
    """A terminal at which these passwords are typed."""

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
    with pytest.raises(CommandError, match="The two passwords differ"):
        call_command("createuser", "alice")
    assert raw.dbsize() == 0


# ---- changepassword


def test_changepassword_changes_the_password_and_signs_out_everywhere(raw, alice, typed, browser, capsys):
    phone = browser(alice)
    assert 'action="/logout/"' in phone.get("/").content.decode()
    typed(f"{NEW_PASSWORD}\n")
    out = said(capsys, "changepassword", "Alice")
    assert out == "Alice has a new password and is signed out everywhere.\n"
    assert 'action="/logout/"' not in phone.get("/").content.decode()
    login = browser().post("/login/", {"username": "alice", "password": PASSWORD})
    assert login.status_code == 422
    login = browser().post("/login/", {"username": "alice", "password": NEW_PASSWORD})
    assert login.status_code == 302
    secret = raw.hget("user:1", "auth")
    assert secret != alice.secret
    assert raw.hgetall("auths") == {secret: "1"}
    assert raw.zcard("outbox") == 0


def test_changepassword_finds_a_name_in_any_letter_case(raw, alice, bob, typed):
    typed(f"{NEW_PASSWORD}\n")
    call_command("changepassword", "aLICE", verbosity=0)
    assert check_password(NEW_PASSWORD, raw.hget("user:1", "password"))
    assert check_password(PASSWORD, raw.hget("user:2", "password"))
    assert raw.hget("user:2", "auth") == bob.secret


def test_changepassword_of_somebody_unknown_is_refused(raw, alice, typed):
    before = everything(raw)
    typed(f"{NEW_PASSWORD}\n")
    with pytest.raises(CommandError, match="Nobody has the name 'bob'"):
        call_command("changepassword", "bob")
    assert everything(raw) == before


@pytest.mark.parametrize(("password", "complaint"), [("short1!", "too short"), ("", "A password is needed")])
def test_changepassword_refuses_a_weak_password(raw, alice, typed, password, complaint):
    before = everything(raw)
    typed(f"{password}\n")
    with pytest.raises(CommandError, match=complaint):
        call_command("changepassword", "alice")
    assert everything(raw) == before


# ---- deliver: what crashed owners left


def deliver(capsys):
    return said(capsys, "deliver", "--once")


def left_behind(raw, intent):
    """An owner died; its intent is overdue."""
    raw.zadd("outbox", {intent: LONG_AGO})


def is_finished(raw):
    return raw.zcard("outbox") == 0 and raw.keys("lease:*") == []


def test_deliver_has_nothing_to_do_in_an_empty_store(raw, capsys):
    assert deliver(capsys) == "0 finished.\n"
    assert raw.dbsize() == 0


@pytest.mark.parametrize("committed", [False, True])
def test_deliver_finishes_a_registration(raw, capsys, browser, committed):
    """Its owner died before or after the commit, the HSETNX on the name."""
    raw.set("next_user_id", 1)
    left_behind(raw, "user:1")
    raw.hset("user:1", mapping={"username": "Alice", "password": "hash", "auth": SECRET})
    if committed:
        raw.hset("users", "alice", "1")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert raw.hgetall("users") == {"alice": "1"}
    assert raw.hgetall("auths") == {SECRET: "1"}
    assert raw.zrange("users_by_time", 0, -1) == ["Alice"]
    client = browser()
    client.cookies[settings.AUTH_COOKIE] = SECRET
    assert 'action="/logout/"' in client.get("/").content.decode()


def test_deliver_takes_back_a_registration_whose_name_somebody_else_won(raw, capsys, alice):
    before = everything(raw)
    raw.hset("user:2", mapping={"username": "ALICE", "password": "hash", "auth": SECRET})
    left_behind(raw, "user:2")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert everything(raw) == before


def test_deliver_strikes_out_a_registration_that_never_began(raw, capsys):
    left_behind(raw, "user:1")
    assert deliver(capsys) == "1 finished.\n"
    assert raw.dbsize() == 0


def test_deliver_finishes_a_logout(raw, capsys, alice, browser):
    left_behind(raw, f"auth:1:{alice.secret}:abc")
    raw.hset("user:1", "auth", NEWER_SECRET)
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert raw.hgetall("auths") == {NEWER_SECRET: "1"}
    assert 'action="/logout/"' not in browser(alice).get("/").content.decode()


def test_deliver_strikes_out_a_logout_that_never_began(raw, capsys, alice, browser):
    before = everything(raw)
    left_behind(raw, f"auth:1:{alice.secret}:abc")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert everything(raw) == before
    assert 'action="/logout/"' in browser(alice).get("/").content.decode()


def test_deliver_strikes_out_the_first_secret_of_an_account_that_never_got_it(raw, capsys, alice):
    """A login to an account without a secret, as another program may have made it, gives it one; this one died."""
    raw.hdel("user:1", "auth")
    raw.delete("auths")
    before = everything(raw)
    left_behind(raw, "auth:1::abc")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert everything(raw) == before


def test_deliver_finishes_the_first_secret_of_an_account(raw, capsys, alice):
    raw.delete("auths")
    left_behind(raw, "auth:1::abc")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert raw.hgetall("auths") == {alice.secret: "1"}


def test_deliver_delivers_a_post(raw, capsys, store, alice, bob, carol, browser):
    """Its owner died right after the commit, the ZADD to the outbox. Homes are dropped and rebuild themselves."""
    Follows(store).follow(bob.user.uid, alice.user.uid)
    raw.set("next_post_id", 7)
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello from the grave"})
    raw.set("idem:1:token", "7")
    left_behind(raw, "post:7:abc")
    for home in ("posts:1", "posts:2", "timeline"):
        raw.rpush(home, "b1", "0")
    raw.rpush("posts:3", "b1", "0")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert raw.zrange("updates:1", 0, -1, withscores=True) == [("7", 7.0)]
    assert raw.exists("posts:1", "posts:2", "timeline") == 0
    assert raw.lrange("posts:3", 0, -1) == ["b1", "0"]
    for client, address in (
        (browser(alice), "/"),
        (browser(bob), "/"),
        (browser(), "/timeline/"),
        (browser(), "/@alice/"),
    ):
        assert "Hello from the grave" in client.get(address).content.decode()
    assert "Hello from the grave" not in browser(carol).get("/").content.decode()


def test_deliver_reaches_the_homes_of_many_followers(raw, capsys, alice):
    raw.zadd("followers:1", {str(uid): LONG_AGO for uid in range(2, 2502)})
    for uid in range(2, 2502):
        raw.rpush(f"posts:{uid}", "b1", "0")
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    left_behind(raw, "post:7:abc")
    assert deliver(capsys) == "1 finished.\n"
    assert raw.keys("posts:*") == []


def test_deliver_does_not_bring_back_a_post_that_was_deleted_meanwhile(raw, capsys, alice, browser):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "", "deleted": LONG_AGO + 1})
    left_behind(raw, "post:7:abc")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert raw.exists("updates:1") == 0
    assert browser().get("/@alice/7/").status_code == 410


def test_deliver_strikes_out_a_post_that_does_not_exist(raw, capsys):
    left_behind(raw, "post:7:abc")
    assert deliver(capsys) == "1 finished.\n"
    assert raw.dbsize() == 0


def test_deliver_finishes_a_follow(raw, capsys, alice, bob):
    raw.zadd("following:1", {"2": LONG_AGO})
    raw.rpush("posts:1", "b1", "0")
    raw.rpush("posts:2", "b1", "0")
    left_behind(raw, "follow:1:2:abc")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert raw.zrange("following:1", 0, -1, withscores=True) == [("2", LONG_AGO)]
    assert raw.zrange("followers:2", 0, -1, withscores=True) == [("1", LONG_AGO)]
    assert raw.exists("posts:1") == 0
    assert raw.exists("posts:2") == 1


def test_deliver_finishes_an_unfollow(raw, capsys, alice, bob, carol):
    raw.zadd("following:1", {"3": LONG_AGO})
    raw.zadd("followers:2", {"1": LONG_AGO, "3": LONG_AGO})
    raw.rpush("posts:1", "b1", "0")
    left_behind(raw, "follow:1:2:abc")
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    assert raw.zrange("followers:2", 0, -1) == ["3"]
    assert raw.zrange("following:1", 0, -1) == ["3"]
    assert raw.exists("posts:1") == 0


@pytest.mark.parametrize("committed", [False, True])
def test_deliver_finishes_a_deletion(raw, capsys, store, alice, browser, committed):
    pid = Posts(store).publish(alice.user.uid, "I never said that", "token")
    left_behind(raw, f"del:{pid}:1:abc")
    if committed:
        raw.hset(f"post:{pid}", mapping={"deleted": LONG_AGO, "body": ""})
    assert deliver(capsys) == "1 finished.\n"
    assert is_finished(raw)
    post = raw.hgetall(f"post:{pid}")
    assert post["body"] == ""
    assert int(post["deleted"]) > 0
    assert 29 * 86400 < raw.ttl(f"post:{pid}") <= 30 * 86400
    assert raw.exists(f"updates:{alice.user.uid}") == 0
    assert browser().get(f"/@alice/{pid}/").status_code == 410
    assert "I never said that" not in browser().get("/timeline/").content.decode()


def test_deliver_finishes_all_kinds_in_one_go_and_the_second_time_nothing(raw, capsys, store, alice, bob):
    pid = Posts(store).publish(alice.user.uid, "I never said that", "token")
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("following:1", {"2": LONG_AGO})
    for intent in ("user:9", f"auth:1:{alice.secret}:a", "post:7:b", "follow:1:2:c", f"del:{pid}:1:d"):
        left_behind(raw, intent)
    assert deliver(capsys) == "5 finished.\n"
    assert is_finished(raw)
    after = everything(raw)
    assert deliver(capsys) == "0 finished.\n"
    assert everything(raw) == after


def test_deliver_leaves_what_is_not_due_to_its_owner(raw, capsys, alice):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"post:7:abc": int(time.time()) + 60})
    before = everything(raw)
    assert deliver(capsys) == "0 finished.\n"
    assert everything(raw) == before


def test_deliver_leaves_what_another_worker_has(raw, capsys, alice):
    for pid in (7, 8):
        raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
        left_behind(raw, f"post:{pid}:abc")
    raw.set("lease:post:7:abc", "another:1", ex=60)
    assert deliver(capsys) == "1 finished.\n"
    assert raw.zrange("outbox", 0, -1) == ["post:7:abc"]
    assert raw.zrange("updates:1", 0, -1) == ["8"]
    assert raw.get("lease:post:7:abc") == "another:1"
    raw.delete("lease:post:7:abc")
    assert deliver(capsys) == "1 finished.\n"
    assert raw.zrange("updates:1", 0, -1) == ["7", "8"]
    assert is_finished(raw)


@pytest.fixture
def log(caplog, monkeypatch):
    """The site's own log, kept from the console."""
    logger = logging.getLogger("retwis")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "handlers", [])
    return caplog


def test_an_intent_of_an_unknown_kind_stays_and_is_logged(raw, capsys, alice, log):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"adopt:secret:1": LONG_AGO - 1, "post:7:abc": LONG_AGO})
    assert deliver(capsys) == "1 finished.\n"
    assert raw.zrange("outbox", 0, -1, withscores=True) == [("adopt:secret:1", LONG_AGO - 1)]
    assert raw.keys("lease:*") == []
    assert [record.levelname for record in log.records] == ["ERROR"]
    assert "adopt" in log.text
    assert "secret" not in log.text


def test_many_intents_of_unknown_kinds_hide_no_other(raw, capsys, alice, log):
    raw.zadd("outbox", {f"adopt:{number}": LONG_AGO + number for number in range(250)})
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"post:7:abc": LONG_AGO + 1000})
    assert deliver(capsys) == "1 finished.\n"
    assert raw.zrange("updates:1", 0, -1) == ["7"]
    assert raw.zcard("outbox") == 250


def test_an_intent_that_cannot_be_finished_holds_up_no_other(raw, capsys, alice, log):
    """A user whose hash has gone: damage that a worker cannot mend."""
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {f"auth:9:{SECRET}:abc": LONG_AGO - 1, "post:7:abc": LONG_AGO})
    with contextlib.suppress(CommandError):
        call_command("deliver", "--once")
    assert raw.zrange("outbox", 0, -1) == [f"auth:9:{SECRET}:abc"]
    assert raw.zrange("updates:1", 0, -1) == ["7"]
    assert "ERROR" in [record.levelname for record in log.records]
    assert SECRET not in log.text


def test_a_hundred_and_more_intents_are_finished_in_one_go(raw, capsys):
    for uid in range(1, 151):
        left_behind(raw, f"user:{uid}")
    assert deliver(capsys) == "150 finished.\n"
    assert raw.dbsize() == 0


@pytest.mark.real_server
def test_deliver_watches_the_outbox_until_sigterm(raw, alice, tmp_path):
    command = [sys.executable, "manage.py", "deliver"]
    with subprocess.Popen(
        command, cwd=settings.BASE_DIR, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    ) as worker:
        try:
            for pid in (7, 8):
                raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
                left_behind(raw, f"post:{pid}:abc")
                wait_until(lambda: raw.zcard("outbox") == 0, "the worker")
            assert raw.zrange("updates:1", 0, -1) == ["7", "8"]
            wait_until(lambda: raw.keys("lease:*") == [], "the worker to give the lease back")
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(10) == 0
        finally:
            worker.kill()


# ---- cleanup


@pytest.fixture
def site(raw, store, alice, bob):
    """A healthy site, with a deleted post and lists that were read."""
    Follows(store).follow(bob.user.uid, alice.user.uid)
    posts = Posts(store)
    posts.publish(alice.user.uid, "First", "token1")
    deleted = posts.publish(alice.user.uid, "Second", "token2")
    posts.publish(bob.user.uid, "Third", "token3")
    posts.delete(alice.user.uid, deleted)
    raw.lrem("timeline", 0, deleted)
    raw.rpush("posts:1", "1", "b1", "0")
    raw.rpush("posts:2", "3", "1", "b2", "-1")
    raw.set("celery", "not ours")
    raw.hset("user:settings", "theme", "dark")
    return raw


def litter(raw):
    raw.hset("auths", mapping={SECRET: "1", NEWER_SECRET: "99"})
    raw.hset("user:50", mapping={"username": "ghost", "password": "hash", "auth": "unknown"})
    raw.hset("user:51", mapping={"username": "ALICE", "password": "hash", "auth": "unknown"})
    raw.hset("user:52", "password", "hash")
    raw.hset("post:60", mapping={"user_id": "1", "time": int(time.time()) - 120, "body": "Never sent"})
    raw.lpush("posts:1", "998", "2", "998")
    raw.rpush("timeline", "999")


FOUND = """\
stale entries in auths: 2 found, {2}
orphaned user: hashes: 3 found, {3}
orphaned post: hashes: 1 found, {1}
lists with dead ids: 2 found, {4}
"""


def test_cleanup_finds_nothing_on_a_healthy_site(site, capsys):
    before = everything(site)
    out = said(capsys, "cleanup")
    assert out.count("0 found, 0 freed") == 4
    assert out.endswith("Nothing to clean up.\n")
    assert everything(site) == before


def test_cleanup_removes_each_kind_of_debris_and_nothing_else(site, capsys):
    before = everything(site)
    litter(site)
    freed = {number: f"{number} freed" for number in range(1, 5)}
    assert said(capsys, "cleanup") == FOUND.format(None, freed[1], freed[2], freed[3], freed[4])
    assert everything(site) == before
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")


def test_cleanup_in_a_dry_run_finds_the_same_and_changes_nothing(site, capsys):
    litter(site)
    before = everything(site)
    assert said(capsys, "cleanup", "--dry-run") == FOUND.format(*["none removed (dry run)"] * 5)
    assert everything(site) == before


def test_cleanup_names_what_it_finds_when_asked_to(site, capsys):
    litter(site)
    out = said(capsys, "cleanup", "--dry-run", verbosity=2)
    assert "user:50" in out
    assert "post:60" in out
    assert "posts:1" in out


def test_cleanup_goes_through_large_collections(raw, alice, capsys):
    raw.hset("auths", mapping={f"stale{number}": "1" for number in range(1200)})
    for pid in range(10, 700):
        raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Never sent"})
    raw.rpush("timeline", *range(2000, 3100))
    out = said(capsys, "cleanup")
    assert "stale entries in auths: 1200 found, 1200 freed" in out
    assert "orphaned post: hashes: 690 found, 690 freed" in out
    assert "lists with dead ids: 1 found, 1100 freed" in out
    assert raw.hgetall("auths") == {alice.secret: "1"}
    assert raw.keys("post:*") == []
    assert raw.exists("timeline") == 0


def test_cleanup_leaves_a_registration_under_way_alone(raw, capsys):
    raw.zadd("outbox", {"user:1": int(time.time()) + 60})
    raw.hset("user:1", mapping={"username": "alice", "password": "hash", "auth": SECRET})
    before = everything(raw)
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")
    assert everything(raw) == before


def test_cleanup_leaves_a_logout_under_way_alone(raw, alice, capsys):
    """Its commit has been, and its new secret is in `auths`: only the old one is stale."""
    raw.zadd("outbox", {f"auth:1:{alice.secret}:abc": int(time.time()) + 60})
    raw.hset("user:1", "auth", NEWER_SECRET)
    raw.hset("auths", NEWER_SECRET, "1")
    assert "stale entries in auths: 1 found, 1 freed" in said(capsys, "cleanup")
    assert raw.hgetall("auths") == {NEWER_SECRET: "1"}


def test_cleanup_leaves_names_of_other_characters_alone(raw, capsys):
    """As a database from elsewhere may hold them."""
    raw.hset("users", "Ünal Ö", "1")
    raw.hset("user:1", mapping={"username": "Ünal Ö", "password": "hash", "auth": SECRET})
    raw.hset("auths", SECRET, "1")
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")


def test_cleanup_removes_an_orphaned_post_only_when_it_is_older_than_a_lease(raw, alice, capsys):
    now = int(time.time())
    raw.hset("post:1", mapping={"user_id": "1", "time": now, "body": "On its way"})
    raw.hset("post:2", mapping={"user_id": "1", "time": now - 30, "body": "On its way"})
    raw.hset("post:3", mapping={"user_id": "1", "time": now - 90, "body": "Never sent"})
    assert "orphaned post: hashes: 1 found, 1 freed" in said(capsys, "cleanup")
    assert sorted(raw.keys("post:*")) == ["post:1", "post:2"]


def test_cleanup_leaves_a_post_that_waits_in_the_outbox_alone(raw, alice, capsys):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    left_behind(raw, "post:7:abc")
    before = everything(raw)
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")
    assert everything(raw) == before


def test_cleanup_leaves_a_deleted_post_to_its_thirty_days(raw, store, alice, capsys):
    pid = Posts(store).publish(alice.user.uid, "I never said that", "token")
    Posts(store).delete(alice.user.uid, pid)
    raw.hset(f"post:{pid}", "time", LONG_AGO)
    out = said(capsys, "cleanup")
    assert "orphaned post: hashes: 0 found" in out
    assert raw.hget(f"post:{pid}", "deleted")
    assert raw.ttl(f"post:{pid}") > 0


# ---- what commands print


@pytest.mark.parametrize(
    "command",
    [
        ("seed", "--users=3", "--posts=2", "--follows=1"),
        ("createuser", "bob"),
        ("changepassword", "alice"),
        ("deliver", "--once"),
        ("cleanup",),
        ("cleanup", "--dry-run"),
    ],
    ids=" ".join,
)
def test_verbosity_0_is_silent(site, typed, capsys, command):
    litter(site)
    left_behind(site, "user:98")
    if command[0] == "seed":
        site.flushall()
    if command[0] == "createuser":
        command = ("createuser", "carol")
    typed(f"{NEW_PASSWORD}\n")
    assert said(capsys, *command, verbosity=0) == ""


def test_without_a_terminal_there_is_no_progress_bar(raw, capsys):
    out = said(capsys, "seed", "--users=30", "--posts=60", "--follows=2")
    assert out.count("\n") == 1
    assert "\r" not in out


@pytest.mark.parametrize(("verbosity", "shown"), [(0, False), (1, True)])
def test_on_a_terminal_a_bar_goes_up_to_the_end(raw, monkeypatch, verbosity, shown):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("timeline.seeding.BATCH", 10)
    stderr = sys.stderr
    call_command("seed", "--users=30", "--posts=60", "--follows=2", verbosity=verbosity, stdout=io.StringIO())
    bars = stderr.getvalue().split("\r")[1:]
    assert bool(bars) is shown
    if shown:
        assert len(bars) > 5
        assert "." not in bars[-1]
        assert bars[-1].endswith("\n")


# ---- manage.py check


def retwis_messages(capsys, *arguments):
    """The lines of `manage.py check` that are the site's own."""
    capsys.readouterr()
    call_command("check", *arguments)
    printed = capsys.readouterr()
    return [line for line in (printed.out + printed.err).splitlines() if "retwis." in line]


def test_check_finds_nothing(capsys):
    call_command("check")
    assert capsys.readouterr().out == "System check identified no issues (0 silenced).\n"


def test_an_unknown_topology_is_an_error(settings):
    settings.REDIS_TOPOLOGY = "ring"
    with pytest.raises(SystemCheckError, match=r"retwis\.E001.* REDIS_TOPOLOGY='ring' is not supported"):
        call_command("check")


@pytest.mark.parametrize("command", [("check",), ("check", "--deploy"), ("seed",), ("deliver", "--once")], ids=" ".join)
def test_with_an_unknown_topology_every_command_fails_and_says_why(tmp_path, command):
    env = environment(tmp_path, REDIS_TOPOLOGY="ring", REDIS_URL="redis://127.0.0.1:1")
    ended = manage(*command, env=env)
    assert ended.returncode == 1
    assert "REDIS_TOPOLOGY='ring' is not supported" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.fixture
def config(raw):
    """Set the test server's own settings; they are set back afterwards."""
    before = {**raw.config_get("appendonly"), **raw.config_get("maxmemory-policy")}

    def change(name, value):
        raw.config_set(name, value)

    yield change
    for name, value in before.items():
        raw.config_set(name, value)


@pytest.mark.real_server
def test_the_deploy_check_is_content_with_a_server_that_keeps_everything(config, capsys):
    config("appendonly", "yes")
    config("maxmemory-policy", "noeviction")
    assert retwis_messages(capsys, "--deploy") == []


@pytest.mark.real_server
def test_the_deploy_check_warns_of_a_server_that_keeps_no_append_only_file(config, capsys):
    config("appendonly", "no")
    (line,) = retwis_messages(capsys, "--deploy")
    assert "(retwis.W003)" in line
    assert "appendonly no" in line


@pytest.mark.real_server
def test_the_deploy_check_warns_of_a_server_that_may_evict_keys(config, capsys):
    config("appendonly", "yes")
    config("maxmemory-policy", "allkeys-lru")
    (line,) = retwis_messages(capsys, "--deploy")
    assert "(retwis.W004)" in line
    assert "maxmemory-policy allkeys-lru" in line


@pytest.mark.real_server
def test_without_deploy_the_server_is_not_asked(config, sent, capsys):
    config("maxmemory-policy", "allkeys-lru")
    assert retwis_messages(capsys) == []
    assert sent.commands == []


def test_the_deploy_check_warns_of_the_embedded_server(settings, capsys, sent):
    settings.REDIS_URL = ""
    (line,) = retwis_messages(capsys, "--deploy")
    assert "(retwis.W001)" in line
    assert sent.commands == []


def test_the_deploy_check_warns_when_the_server_cannot_be_asked(tmp_path):
    ended = manage("check", "--deploy", env=environment(tmp_path, REDIS_URL="redis://127.0.0.1:1"))
    assert ended.returncode == 0
    assert "(retwis.W002)" in ended.stderr
    assert "Traceback" not in ended.stderr


# ---- a store that cannot be reached


@pytest.mark.parametrize(
    "command",
    [("seed",), ("createuser", "alice"), ("changepassword", "alice"), ("deliver", "--once"), ("cleanup",)],
    ids=" ".join,
)
def test_a_store_that_is_down_is_one_line_that_names_the_fix(tmp_path, command):
    env = environment(tmp_path, REDIS_URL="redis://127.0.0.1:1")
    ended = manage(*command, env=env, input=f"{PASSWORD}\n")
    assert ended.returncode == 1
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("CommandError: the store at REDIS_URL does not answer:")
    assert line.endswith("Start that server, or set REDIS_URL to one that runs.")


def test_what_is_said_of_a_store_that_is_down_has_proper_sentences(tmp_path):
    ended = manage("cleanup", env=environment(tmp_path, REDIS_URL="redis://127.0.0.1:1"))
    assert ".." not in ended.stderr


@pytest.mark.real_server
def test_a_store_that_takes_no_writes_is_one_line_too(tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    with run_server(str(folder), "--maxmemory", "1", "--maxmemory-policy", "noeviction"):
        env = environment(tmp_path, REDIS_URL=f"unix://{folder}/redis.sock")
        ended = manage("seed", "--users=3", "--posts=2", "--follows=1", env=env)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("CommandError: the store takes no writes: ")


# ---- without REDIS_URL


@pytest.mark.real_server
def test_a_lone_command_starts_the_embedded_server_for_its_own_duration(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    env = environment(settings.VAR_DIR)
    del env["REDIS_URL"]
    first = manage("createuser", "Alice", env=env, input=f"{PASSWORD}\n")
    assert (first.returncode, first.stdout) == (0, "Alice is user 1 now.\n")
    assert not embedded.answers()
    assert not (settings.VAR_DIR / "store" / "server.pid").exists()
    second = manage("createuser", "alice", env=env, input=f"{PASSWORD}\n")
    assert second.returncode == 1
    assert second.stderr == "CommandError: The name 'alice' is taken, perhaps in other letter case.\n"
    assert not embedded.answers()
    assert not (settings.VAR_DIR / "store" / "server.pid").exists()


@pytest.mark.real_server
@pytest.mark.parametrize("sent_signal", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_lone_command_and_its_embedded_server(settings, tmp_path, sent_signal):
    settings.VAR_DIR = tmp_path / "var"
    env = environment(settings.VAR_DIR)
    del env["REDIS_URL"]
    command = [sys.executable, "manage.py", "seed", "--users=20000", "--posts=200000"]
    with subprocess.Popen(command, cwd=settings.BASE_DIR, env=env, stderr=subprocess.PIPE) as seeding:
        try:
            with redis.Redis(unix_socket_path=str(embedded.socket_path())) as store:
                wait_until(lambda: store.exists("next_user_id"), "the first keys")
            pid = embedded._pid()
            seeding.send_signal(sent_signal)
            assert seeding.wait(20) == 128 + sent_signal
            assert seeding.stderr.read() == b""
            assert not embedded._is_server(pid)
            assert not embedded.answers()
        finally:
            seeding.kill()
            if (left := embedded._pid()) is not None and embedded._is_server(left):
                os.kill(left, signal.SIGKILL)
