"""Unix seconds as dates, and as words in a language."""

import re
from datetime import UTC, datetime
from functools import lru_cache

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import override

LAST = 253_402_300_799  # unix seconds: the end of the year 9999, the last year of datetime
A_DAY = 86400  # seconds

_HOUR, _MINUTE = "\x01", "\x02"  # stand for the hour and the minute in the text of a day


def moment_of(seconds: int) -> datetime:
    """The date in UTC. A foreign database may hold times outside the calendar: they become the epoch or LAST."""
    return datetime.fromtimestamp(_in_calendar(seconds), UTC)


def iso(seconds: int) -> str:
    """The date in UTC, in ISO 8601."""
    return f"{moment_of(seconds):%Y-%m-%dT%H:%M:%SZ}"


def moment(seconds: int, language: str) -> str:
    """A date and time for people, to the minute."""
    number, rest = divmod(_in_calendar(seconds), A_DAY)
    text = _moment_on(number, language)
    return text.replace(_HOUR, f"{rest // 3600:02}").replace(_MINUTE, f"{rest // 60 % 60:02}")


@lru_cache(maxsize=4000)
def _moment_on(number: int, language: str) -> str:
    """Any moment of a day, counted from the epoch. Django needs 50 us to format one, and a page shows twenty."""
    with override(language):
        # Translators: a moment, in the letters of Django's `date` filter, such as "20 November 2026, 15:20 UTC". H is
        # the hour and i the minute.
        letters = re.sub(r"(?<!\\)H", _HOUR, _("j F Y, H:i T"))
        return date_format(moment_of(number * A_DAY), re.sub(r"(?<!\\)i", _MINUTE, letters))


def day(seconds: int, language: str) -> str:
    """A day for people."""
    with override(language):
        # Translators: a day, in the letters of Django's `date` filter, such as "2026-11-20"
        return date_format(moment_of(seconds), _("Y-m-d"))


def month(seconds: int, language: str) -> str:
    """A month for people."""
    with override(language):
        # Translators: a month, in the letters of Django's `date` filter, such as "March 2026"
        return date_format(moment_of(seconds), _("F Y"))


def _in_calendar(seconds: int) -> int:
    return min(max(seconds, 0), LAST)
