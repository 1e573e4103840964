"""A worker notes every ten seconds that it runs. `/readyz` and `doctor` say when none has for a minute."""

import time

import pytest

from retwis_site.exceptions import StoreReadOnly, StoreRefused
from retwis_site.jobs import outbox
from retwis_site.jobs.lease import LeasedStore
from retwis_site.jobs.outbox import WORKER_GIVES_UP, Claim, Heartbeat, Outbox
from retwis_site.store import schema
from tests.support.clock import Clock
from tests.support.command_output import report_of
from tests.support.people import LONG_AGO
from tests.support.stored_keys import deliver

ADVICE = "retwis.W018"


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(outbox, "time", clock)
    return clock


def test_a_beat_notes_the_time_at_most_every_ten_seconds(raw, store, clock, round_trips):
    heart = Heartbeat(store)
    assert round_trips(heart.beat).commands == [("SET", "worker_seen", str(LONG_AGO))]
    clock.sleep(9.9)
    assert round_trips(heart.beat).round_trips == []
    clock.sleep(0.2)
    assert heart.beat()
    assert raw.get("worker_seen") == str(int(LONG_AGO + 10.1))


@pytest.mark.parametrize("error", [StoreReadOnly("MISCONF"), StoreRefused("NOPERM")])
def test_a_store_that_refuses_the_note_does_not_stop_the_worker(raw, store, monkeypatch, clock, log, error):
    def refuse(queued):
        raise error

    monkeypatch.setattr(store, "exchange", refuse)
    heart = Heartbeat(store)
    for _ in range(3):
        assert heart.beat()
        clock.sleep(11)
    assert not raw.exists("worker_seen")
    assert log.text.count("does not note that a worker runs") == 1
    claim = Claim(LeasedStore(store, WORKER_GIVES_UP), "fan:1:abc", attempt=1)
    monkeypatch.setattr(outbox, "RENEWS_EVERY", 0)
    assert claim.carry_out([1])


def test_a_worker_with_a_long_job_beats_with_the_lease(raw, store, round_trips):
    raw.set("lease:fan:1:abc", "a worker", ex=5)
    recorded = round_trips(lambda: Outbox(store).renew("fan:1:abc"))
    assert len(recorded.round_trips) == 2
    assert raw.ttl("lease:fan:1:abc") > outbox.LEASE - 5
    assert abs(int(raw.get("worker_seen")) - time.time()) < 10


def test_one_run_of_a_scheduled_task_counts(raw, capsys):
    deliver(capsys)
    assert abs(int(raw.get("worker_seen")) - time.time()) < 10


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (None, "no worker has run yet\n"),
        ("no number", "no worker has run yet\n"),
        (LONG_AGO, ""),
        (LONG_AGO - 60, ""),
        (LONG_AGO - 95, "no worker has run for 95 seconds\n"),
        (LONG_AGO + 1000, ""),  # by the clock of another machine
    ],
)
def test_readyz_says_that_no_worker_runs_and_is_still_200(raw, browser, clock, round_trips, seen, line):
    if seen is not None:
        raw.set("worker_seen", seen)
    client, answers = browser(), []
    recorded = round_trips(lambda: answers.append(client.get("/readyz")))
    assert [(answer.status_code, answer.content.decode()) for answer in answers] == [(200, f"ok\n{line}")]
    assert len(recorded.round_trips) == 1


def test_doctor_advises_to_run_a_worker(raw, store, alice, capsys):
    schema.mark(store)
    told = [(one["id"], one["text"]) for one in report_of(capsys)[1]["advice"]]
    assert (ADVICE, "No worker has run yet.") in told
    deliver(capsys)
    assert ADVICE not in [one["id"] for one in report_of(capsys)[1]["advice"]]


def test_a_key_of_the_wrong_type_is_replaced_by_the_next_beat(raw, store, alice, browser, capsys):
    raw.rpush("worker_seen", "x")
    assert ADVICE not in [one["id"] for one in report_of(capsys)[1]["advice"]]
    assert browser().get("/readyz").content == b"ok\n"
    Heartbeat(store).beat()
    assert raw.type("worker_seen") == "string"
