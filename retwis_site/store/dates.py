"""Moments as the calendar has them."""

from datetime import UTC, datetime

LAST = 253_402_300_799  # unix seconds: with the year 9999 calendars end


def moment_of(seconds: int) -> datetime:
    """In UTC. What no calendar has, as a database from elsewhere may, is the first or the last moment of all."""
    return datetime.fromtimestamp(min(max(seconds, 0), LAST), UTC)


def iso(seconds: int) -> str:
    """The same in ISO 8601."""
    return f"{moment_of(seconds):%Y-%m-%dT%H:%M:%SZ}"
