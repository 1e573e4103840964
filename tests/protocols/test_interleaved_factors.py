"""Second factors in interleaved requests, some of them killed: nothing serves twice, and nothing opens an account that
has one without it."""

from contextlib import suppress
from functools import partial

import pyotp
import pytest

from accounts.recovery.codes import RecoveryCodes, field_of
from accounts.second_factor.repository import AlreadyThere, Passkey, SecondFactors, Totp
from accounts.signing_in.factors import remove_factors, use_of
from accounts.signing_in.sessions.entities import SESSIONS, Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import User, Verified
from tests.support.protocols.interleaving import interleave
from tests.support.protocols.small_site import ALICE, finish_jobs, make_small_site
from tests.support.stores.seam import examples

RUNS = 15  # seeds for each scenario
SECRET, OTHER = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "PXP3KPEHPD3YWSBJPXP3KPEHPD3YWSBJ"
PASSKEY = Passkey("a1", "Phone", "b2", 1)


@pytest.fixture(params=[0, 1], ids=["nobody is killed", "one is killed"])
def schedules(request, raw, layout):
    """A new site, and another interleaving of it, again and again."""

    def make():
        for seed in range(examples(RUNS)):
            make_small_site(raw, layout)
            raw.hset("user:1", "generation", "")
            yield partial(interleave, seed, request.param), seed

    return make


def logging_in(store, way, taken):
    """A second step that shows a factor, and begins a session when it was taken."""

    def work():
        if way():
            taken.append(way)
            Sessions(store).open(Verified(User(ALICE, "alice"), ""), Device())

    return work


def ways(store, code, recovery_code):
    """Each factor of alice's, to be shown twice."""
    second = SecondFactors(store)
    return {
        "a code": lambda: second.take_code(ALICE, Totp(SECRET, 1), code),
        "a recovery code": lambda: RecoveryCodes(store).claim(ALICE, recovery_code),
        "a passkey": lambda: second.take_passkey(ALICE, PASSKEY, "challenge", 7),
        "a passkey that does not count": lambda: second.take_passkey(ALICE, PASSKEY._replace(id="c3"), "other", 0),
    }


def test_nothing_serves_twice(store, raw, schedules):
    for interleaved, seed in schedules():
        code = pyotp.TOTP(SECRET).now()
        shown, taken = ways(store, code, RecoveryCodes(store).make(ALICE)[0]), []
        for name, field in (("totp", f"1:{SECRET}"), ("passkey:a1", "{}"), ("passkey:c3", "{}")):
            raw.hset("credentials:1", name, field)
        before = len(SESSIONS.standing_in(raw.hgetall("user:1")))
        interleaved([logging_in(store, way, taken) for way in shown.values() for _ in range(2)])
        assert len(taken) == len(set(taken)) <= len(shown), seed
        assert len(SESSIONS.standing_in(raw.hgetall("user:1"))) - before <= len(taken), seed


def test_a_recovery_code_serves_for_one_login_or_one_new_password(store, raw, schedules):
    def recovering(code, password, taken):
        def work():
            is_there = RecoveryCodes(store).owner(ALICE, code) is not None
            if is_there and Sessions(store).change_password(ALICE, password, [field_of(ALICE, code)]):
                taken.append(password)

        return work

    for interleaved, seed in schedules():
        code, taken = RecoveryCodes(store).make(ALICE)[0], []
        logins = [logging_in(store, partial(RecoveryCodes(store).claim, ALICE, code), taken) for _ in range(2)]
        interleaved([*logins, recovering(code, "one hash", taken), recovering(code, "another hash", taken)])
        finish_jobs(store, raw)
        assert len(taken) <= 1, seed
        assert not raw.hexists("user:1", field_of(ALICE, code)) or not taken, seed


def test_of_two_apps_one_counts_and_its_first_code_is_spent(store, raw, schedules):
    def adding(secret):
        def work():
            with suppress(AlreadyThere):
                SecondFactors(store).add_totp(ALICE, secret, pyotp.TOTP(secret).now())

        return work

    for interleaved, seed in schedules():
        interleaved([adding(secret) for secret in (SECRET, OTHER) for _ in range(2)])
        stored = (raw.hget("credentials:1", "totp") or ":").rpartition(":")[2]
        assert stored in {"", SECRET, OTHER}, seed
        if stored:
            assert raw.zscore("factor_uses:1", use_of("totp", stored)) > 0, seed


def test_a_removal_lets_no_code_serve_twice(store, raw, schedules):
    def add():
        with suppress(AlreadyThere):
            SecondFactors(store).add_passkey(ALICE, PASSKEY, 7)

    for interleaved, seed in schedules():
        raw.hset("credentials:1", "totp", f"1:{SECRET}")
        code, taken = pyotp.TOTP(SECRET).now(), []
        show = ways(store, code, "")["a code"]
        removals = [lambda: remove_factors(store, ALICE), lambda: SecondFactors(store).remove_totp(ALICE)]
        interleaved([*removals, add, *[logging_in(store, show, taken) for _ in range(2)]])
        assert set(raw.hkeys("credentials:1")) <= {"passkey:a1"}, seed
        assert len(taken) <= 1, seed


def test_a_session_of_a_password_that_is_changed_meanwhile_has_ended(store, raw, schedules):
    for interleaved, seed in schedules():
        raw.hset("credentials:1", "totp", f"1:{SECRET}")
        code, taken = pyotp.TOTP(SECRET).now(), []
        show = ways(store, code, "")["a code"]
        change = partial(Sessions(store).change_password, ALICE, "another hash")
        interleaved([logging_in(store, show, taken), change])
        finish_jobs(store, raw)
        if raw.hget("user:1", "password") == "another hash":
            assert SESSIONS.standing_in(raw.hgetall("user:1")) == {}, seed
