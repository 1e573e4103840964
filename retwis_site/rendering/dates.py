"""Unix seconds as dates, and as words in a language; and from dates as programs write them."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from django.utils.formats import date_format
from django.utils.translation import gettext as _, override

LAST = 253_402_300_799  # unix seconds: the end of the year 9999, the last year of datetime
A_DAY = 86400  # seconds

_HOUR, _MINUTE = "\x01", "\x02"  # stand for the hour and the minute in the words of a day
_TWO_DIGITS = tuple(f"{number:02}" for number in range(60))


def moment_of(seconds: int) -> datetime:
    """The date in UTC. A foreign database may hold times outside the calendar: they become the epoch or LAST."""
    return datetime.fromtimestamp(_in_calendar(seconds), UTC)


def _in_calendar(seconds: int) -> int:
    return min(max(seconds, 0), LAST)


def iso(seconds: int) -> str:
    """The date in UTC, in ISO 8601."""
    return f"{moment_of(seconds).isoformat()[:19]}Z"  # an export has millions: a format takes longer


def unix(text: str) -> int | None:
    """The unix seconds of a date as `iso` gives it; None for any other text."""
    try:
        seconds = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
    return seconds if seconds >= 0 and iso(seconds) == text else None


class Moment(NamedTuple):
    """A date and time: `iso` for the attribute of `<time>`, and in words, to the minute."""

    iso: str
    words: str


def moment(seconds: int, language: str) -> Moment:
    """A date and time, for people.

    Django needs 20 us to format one, and a page shows twenty. So each day is formatted once, and the rest is
    put in."""
    number, rest = divmod(_in_calendar(seconds), A_DAY)
    minutes, second = divmod(rest, 60)
    hour, minute = _TWO_DIGITS[minutes // 60], _TWO_DIGITS[minutes % 60]
    date, words = _day(number, language)
    words = words.replace(_HOUR, hour).replace(_MINUTE, minute)
    return Moment(f"{date}T{hour}:{minute}:{_TWO_DIGITS[second]}Z", words)


@lru_cache(maxsize=4000)
def _day(number: int, language: str) -> tuple[str, str]:
    """A day, counted from the epoch: its date in ISO 8601, and in words with any moment of it."""
    midnight = moment_of(number * A_DAY)
    with override(language):
        # Translators: a moment, in the letters of Django's `date` filter, such as "20 November 2026, 15:20 UTC". H is
        # the hour and i the minute.
        letters = re.sub(r"(?<!\\)H", _HOUR, _("j F Y, H:i T"))
        return f"{midnight:%Y-%m-%d}", date_format(midnight, re.sub(r"(?<!\\)i", _MINUTE, letters))


def day(seconds: int, language: str) -> str:
    """A day for people."""
    with override(language):
        # Translators: a day, in the letters of Django's `date` filter, such as "20 November 2026"
        return date_format(moment_of(seconds), _("j F Y"))


def short_day(number: int, today: int, language: str) -> str:
    """A day as short as it can be: without the year when that is the year of `today`. Both are counted from the
    epoch."""
    date = moment_of(number * A_DAY)
    with override(language):
        if date.year == moment_of(today * A_DAY).year:
            # Translators: a day of this year, in the letters of Django's `date` filter, such as "14 Nov"
            return date_format(date, _("j M"))
        # Translators: a day of another year, in the letters of Django's `date` filter, such as "14 Nov 2025"
        return date_format(date, _("j M Y"))


def month(seconds: int, language: str) -> str:
    """A month for people."""
    return _month(_in_calendar(seconds) // A_DAY, language)


@lru_cache(maxsize=4000)
def _month(number: int, language: str) -> str:
    """The month of a day, counted from the epoch."""
    with override(language):
        # Translators: a month, in the letters of Django's `date` filter, such as "March 2026"
        return date_format(moment_of(number * A_DAY), _("F Y"))


# ---- Moments as other programs wrote them


MILLISECONDS_FROM = 10**11  # as seconds it is the year 5138; as milliseconds 1973

_NUMBER = re.compile(r"\d{1,16}(\.\d*)?([eE]\+?\d\d?)?\Z", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d[ T]", re.ASCII)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
# Ruby's Time#to_s until version 1.8: "Sat Jun 13 12:00:00 +0100 2009"; in UTC it has "UTC" for the offset.
_RUBY_1_8 = re.compile(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) (UTC|GMT|[+-]\d{4}) (\d{4})\Z", re.ASCII)


def unix_seconds(text: str | None) -> int | None:
    """From seconds or milliseconds, whole, with a fraction or an exponent; from ISO 8601; from Ruby's Time#to_s in both
    of its forms. A moment without an offset is in UTC. None for anything else, and after the year 9999."""
    if text is None:
        return None
    text = text.strip()
    if _NUMBER.match(text):
        number = float(text)
        seconds = int(number / 1000 if number >= MILLISECONDS_FROM else number)
        return seconds if seconds <= LAST else None
    ruby = _RUBY_1_8.match(text)
    if ruby and ruby[1] in _MONTHS:
        text = f"{ruby[5]}-{_MONTHS.index(ruby[1]) // 3 + 1:02}-{int(ruby[2]):02} {ruby[3]} {ruby[4]}"
    if not _DAY.match(text):
        return None
    return _from_iso(re.sub(r" ?(UTC|GMT|Z)\Z", "+0000", text).replace(" +", "+").replace(" -", "-"))


def is_milliseconds(text: str) -> bool:
    """Whether a number is one of milliseconds rather than of seconds."""
    return bool(_NUMBER.match(text)) and float(text) >= MILLISECONDS_FROM


def _from_iso(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return seconds if seconds >= 0 else None


def seconds_of(score: float | None) -> int | None:
    """The score of a sorted set. None for an infinite one."""
    return None if score is None else unix_seconds(f"{score:.3f}")
