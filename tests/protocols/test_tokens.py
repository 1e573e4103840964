"""Codes and tokens of apps, killed between any two round trips, and interleaved with what ends them."""

import time
from functools import partial

import pytest
from django.core.management import call_command

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.tokens import MOST_TOKENS, TOKENS
from retwis_site.jobs.worker import drain
from tests.support.apps import opens, token_of
from tests.support.protocols.interleaving import interleave
from tests.support.protocols.small_site import ALICE, finish_jobs, make_small_site
from tests.support.stores.seam import examples, killed_before_round_trip

RUNS = 100


def new_code(store, generation=""):
    app, _ = Apps(store).register("Tusky", "", [OUT_OF_BAND], ["read"])
    return Tokens(store).new_code(Code(ALICE, generation, app.id, ("read",), OUT_OF_BAND))


def exchange(store, code, given):
    """What the endpoint for tokens does."""

    def work():
        taken = Tokens(store).take_code(code)
        if taken is not None:
            given.append(Tokens(store).issue(taken))
            Tokens(store).note_token(code, taken.uid, given[-1])

    return work


def assert_clean(raw):
    """What is left is harmless, and `cleanup` removes it."""
    call_command("doctor", "--fix", verbosity=0)
    call_command("cleanup", verbosity=0)
    assert TOKENS.ended_in(raw.hgetall("user:1")) == set()
    assert [key for key in raw.keys("app:*") if raw.ttl(key) < 0] == []


@pytest.mark.parametrize("step", range(6))
def test_a_code_that_is_exchanged(store, alice, raw, step):
    began = int(time.time()) - 86400
    raw.hset("user:1", mapping={f"token:{number:032}": f"{began + number}::app:read" for number in range(MOST_TOKENS)})
    raw.hset("user:1", mapping={"token:ended": "1:earlier:app:read", "token_used:ended": "3600"})
    code, given = new_code(store), []
    killed = killed_before_round_trip(step, exchange(store, code, given))
    assert killed == (step < 5)
    assert len(raw.hgetall("user:1").keys() & {f"token:{number:032}" for number in range(MOST_TOKENS)}) == (
        MOST_TOKENS - (step > 3)
    )
    again = []
    exchange(store, code, again)()
    assert len(again) == (step < 2)  # before it was taken, nothing has happened
    assert_clean(raw)


@pytest.mark.parametrize("step", range(11))
def test_a_password_change_ends_tokens_in_its_one_command(store, alice, raw, step):
    token = token_of(alice)
    killed_before_round_trip(step, lambda: Sessions(store).change_password(1, "another hash"))
    changed = raw.hexists("user:1", "generation")
    assert opens(store, token) != changed == (step > 3)
    finish_jobs(store, raw)
    assert opens(store, token) != changed
    assert_clean(raw)


ENDINGS = {
    "a password change": lambda s: partial(Sessions(s.store).change_password, ALICE, "another hash"),
    "logged out everywhere": lambda s: partial(Sessions(s.store).end_all, ALICE),
    "the account is deleted": lambda s: s.delete_account(ALICE),
}


def test_no_code_gives_a_token_that_outlives_the_end_of_all_apps(store, raw, layout):
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        code, given = new_code(store), []
        ends = partial(Tokens(store).end_some, ALICE, lambda token: True)
        interleave(seed, 0, [exchange(store, code, given), ends])
        assert not any(opens(store, token) for token in given), seed
        assert not [name for name in raw.hkeys("user:1") if name.startswith("token")], seed


@pytest.mark.parametrize("kills", [0, 1])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_code_gives_one_token_at_most_and_none_outlives_what_ends_it(acts, store, raw, layout, ending, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        code, first, second = new_code(store, raw.hget("user:1", "generation") or ""), [], []
        interleave(seed, kills, [exchange(store, code, first), exchange(store, code, second), ENDINGS[ending](acts)])
        finish_jobs(store, raw)
        drain(store, "worker")
        assert len(first + second) <= 1, seed
        ended = raw.hexists("user:1", "deleted") or raw.hexists("user:1", "generation")
        assert ended or kills, seed
        for token in first + second:
            assert not (ended and opens(store, token)), seed
        if raw.hexists("user:1", "deleted"):
            assert not [name for name in raw.hkeys("user:1") if name.startswith("token")], seed
