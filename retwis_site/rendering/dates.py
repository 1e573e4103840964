"""Unix seconds as dates."""

from datetime import UTC, datetime

LAST = 253_402_300_799  # unix seconds: the end of the year 9999, the last year of datetime


def moment_of(seconds: int) -> datetime:
    """The date in UTC. A foreign database may hold times outside the calendar: they become the epoch or LAST."""
    return datetime.fromtimestamp(min(max(seconds, 0), LAST), UTC)


def iso(seconds: int) -> str:
    """The date in UTC, in ISO 8601."""
    return f"{moment_of(seconds):%Y-%m-%dT%H:%M:%SZ}"
