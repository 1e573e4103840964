"""Logins, logouts and password changes that are killed between any two round trips."""

import io

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.signing_in.sessions.entities import MOST_SESSIONS, Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import Verified
from retwis_site.jobs.worker import drain
from tests.support.people import NEW_PASSWORD, PASSWORD, log_in
from tests.support.stores.key_layouts import make_due, noted
from tests.support.stores.seam import killed_before_round_trip

STEPS = range(10)


def signed_in(store, login):
    return Viewer(store, login.secret).user.is_authenticated


def finish_jobs(store, raw):
    make_due(raw)
    drain(store, "worker")
    assert noted(raw) == []


def sessions_of(raw):
    return {name.partition(":")[2] for name in raw.hkeys("user:1") if name.startswith("session:")}


def check_the_keys(raw):
    """What is left is harmless, and `cleanup` removes it."""
    call_command("doctor", stdout=io.StringIO())
    call_command("cleanup", stdout=io.StringIO())
    assert raw.hgetall("auths") == dict.fromkeys([raw.hget("user:1", "auth"), *sessions_of(raw)], "1")
    used = {name.partition(":")[2] for name in raw.hkeys("user:1") if name.startswith("used:")}
    assert used <= sessions_of(raw)


@pytest.mark.parametrize("verb", ["end_all", "change_password"])
@pytest.mark.parametrize("step", STEPS)
def test_the_end_of_all_sessions(store, alice, raw, step, verb):
    phone = log_in(store)
    arguments = () if verb == "end_all" else (make_password(NEW_PASSWORD),)
    killed = killed_before_round_trip(step, lambda: getattr(Sessions(store), verb)(1, *arguments))
    changed = raw.hget("user:1", "auth") != alice.secret
    assert changed or killed
    assert changed == (step > 2)
    assert signed_in(store, phone) == signed_in(store, alice) == (not changed)  # at once
    finish_jobs(store, raw)
    assert sessions_of(raw) == (set() if changed else {phone.secret})
    check_the_keys(raw)
    new = NEW_PASSWORD if changed and verb == "change_password" else PASSWORD
    assert signed_in(store, log_in(store, password=new))
    assert (log_in(store, password=NEW_PASSWORD) is not None) == (new == NEW_PASSWORD)


@pytest.mark.parametrize("step", STEPS)
def test_the_end_of_one_session(store, alice, raw, step):
    phone, desktop = log_in(store), log_in(store)
    raw.hset("user:1", f"used:{phone.secret}", "3600")
    killed = killed_before_round_trip(step, lambda: Sessions(store).end(1, phone.secret))
    assert killed == (step < 2)
    assert signed_in(store, phone) == (step == 0)
    assert signed_in(store, desktop)
    assert signed_in(store, alice)
    check_the_keys(raw)


@pytest.mark.parametrize("step", STEPS)
def test_a_logout_with_the_official_secret(store, alice, raw, step):
    phone = log_in(store)
    killed_before_round_trip(step, lambda: Sessions(store).end(1, alice.secret))
    assert signed_in(store, alice) == (step < 4)
    assert signed_in(store, phone)
    finish_jobs(store, raw)
    assert signed_in(store, phone)
    check_the_keys(raw)


@pytest.mark.parametrize("step", STEPS)
def test_a_login(store, alice, raw, step):
    for _ in range(MOST_SESSIONS):
        log_in(store)
    raw.hset("user:1", mapping={"session:ended": "1:earlier:Firefox:Linux", "used:ended": "3600"})
    raw.hset("auths", "ended", "1")
    before = sessions_of(raw)
    killed = killed_before_round_trip(step, lambda: Sessions(store).open(Verified(alice.user), Device()))
    assert killed == (step < 4)
    assert len(sessions_of(raw) - before) == (step > 1)
    if killed and step > 1:  # one more than there may be, until a login or `doctor --fix`
        call_command("doctor", "--fix", stdout=io.StringIO())
    check_the_keys(raw)
    assert len(sessions_of(raw)) == MOST_SESSIONS
