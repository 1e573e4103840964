"""Moments as other Retwises wrote them."""

import re
from datetime import UTC, datetime

MILLISECONDS_FROM = 10**11  # as seconds it is the year 5138; as milliseconds 1973
LATEST = 253_402_300_799  # the last second of the year 9999, after which datetime has no dates

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
        return seconds if seconds <= LATEST else None
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
