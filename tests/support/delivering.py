"""Running `deliver` once, and what it leaves behind."""

from tests.support.command_output import said


def deliver(capsys):
    """Run `deliver --once`. Returns what it prints."""
    return said(capsys, "deliver", "--once")


def is_finished(raw):
    """Whether the outbox is empty and no lease is left."""
    return raw.zcard("outbox") == 0 and raw.keys("lease:*") == []
