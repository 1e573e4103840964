"""The age of a post in words."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import NamedTuple

from django.utils.translation import gettext, ngettext, override

from retwis_site.rendering.dates import A_DAY, short_day
from retwis_site.rendering.fragments import Html, escaped


class Age(NamedTuple):
    """How old a post is."""

    words: Html  # as in the official Retwis: `posted 3 minutes ago via web`
    short: Html  # `now`, `3 min`, `2 h`; after a day the date: `14 Nov`, `14 Nov 2025`


def age(written: int, now: int, language: str) -> Age:
    """The age of what was written at `written`; both in unix seconds."""
    seconds = max(0, now - written)
    if seconds < 60:
        return _young(seconds, "second", language)
    if seconds < 3600:
        return _young(seconds // 60, "minute", language)
    if seconds < A_DAY:
        return _young(seconds // 3600, "hour", language)
    return _old(seconds // A_DAY, written // A_DAY, now // A_DAY, language)


_PHRASES: dict[str, Callable[[int], str]] = {
    # The official Retwis writes "seconds" also after one second.
    "second": lambda n: ngettext("posted %(number)d seconds ago via web", "posted %(number)d seconds ago via web", n),
    "minute": lambda n: ngettext("posted %(number)d minute ago via web", "posted %(number)d minutes ago via web", n),
    "hour": lambda n: ngettext("posted %(number)d hour ago via web", "posted %(number)d hours ago via web", n),
    "day": lambda n: ngettext("posted %(number)d day ago via web", "posted %(number)d days ago via web", n),
}
_SHORT: dict[str, Callable[[int], str]] = {
    # Translators: the age of a post of less than a minute, as short as it can be
    "second": lambda n: gettext("now"),
    # Translators: the age of a post, as short as it can be
    "minute": lambda n: ngettext("%(number)d min", "%(number)d min", n),
    # Translators: the age of a post, as short as it can be
    "hour": lambda n: ngettext("%(number)d h", "%(number)d h", n),
}


# Each age is made once, so it is the same object for the same words. gettext would compute the plural form each time.


@lru_cache(maxsize=5000)
def _young(number: int, unit: str, language: str) -> Age:
    with override(language):
        named = {"number": number}
        return Age(escaped(_PHRASES[unit](number) % named), escaped(_SHORT[unit](number) % named))


@lru_cache(maxsize=5000)
def _old(days: int, written: int, today: int, language: str) -> Age:
    """`written`, `today`: days since the epoch."""
    with override(language):
        return Age(escaped(_PHRASES["day"](days) % {"number": days}), escaped(short_day(written, today, language)))


# A whole number for each plural category of Unicode, in the languages that have the category.
_SAMPLES = {"other": 100, "zero": 0, "one": 1, "two": 2, "few": 3, "many": 11}


@cache
def phrases(language: str) -> Html:
    """What the script needs to let ages grow, as JSON. By unit and plural category, the long and the short words of an
    age, with `#` for the number; categories with the words of `other` are left out. By month, the short words of a day
    in it, with `#` for the day."""
    with override(language):
        found: dict[str, object] = {unit: _by_category(unit) for unit in _PHRASES if unit != "second"}
        days = [int(datetime(2026, month, 17, tzinfo=UTC).timestamp()) // A_DAY for month in range(1, 13)]
        found["months"] = "|".join(short_day(day, day, language).replace("17", "#") for day in days)
    return escaped(json.dumps(found, ensure_ascii=False, separators=(",", ":")))


def _by_category(unit: str) -> dict[str, str]:
    says = [_PHRASES[unit], _SHORT[unit]] if unit in _SHORT else [_PHRASES[unit]]
    found: dict[str, str] = {}
    for category, n in _SAMPLES.items():
        words = "|".join((say(n) % {"number": n}).replace(str(n), "#") for say in says)
        if words != found.get("other"):
            found[category] = words
    return found
