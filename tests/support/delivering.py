"""A worker that does all jobs, running `deliver` once, and what it leaves behind."""

from retwis_site.jobs.worker import drain
from tests.support.command_output import said
from tests.support.stores.key_layouts import make_due


def drain_due(store, raw):
    """Make every job due, and let a worker do what it can."""
    make_due(raw)
    drain(store, "worker")


def deliver(capsys):
    """Run `deliver --once`. Returns what it prints."""
    return said(capsys, "deliver", "--once")


def is_finished(raw):
    """Whether the outbox is empty and no lease is left."""
    return raw.zcard("outbox") == 0 and raw.keys("lease:*") == []


def finish_one_job(raw, capsys):
    """`deliver` finishes the only job that is due, and leaves nothing of it."""
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
