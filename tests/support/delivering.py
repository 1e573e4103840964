"""Running `deliver` once, and what it leaves behind."""

from tests.support.command_output import said


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
