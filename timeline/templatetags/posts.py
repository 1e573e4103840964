"""How a post's time is told."""

import time
from datetime import UTC, datetime

from django import template

register = template.Library()


@register.filter
def ago(when: int) -> str:
    """The age of something in words, as the official Retwis tells it: `0 seconds`, `1 minute`, `2 hours`, `3 days`."""
    age = max(0, int(time.time()) - when)
    if age < 60:
        return f"{age} seconds"
    if age < 3600:
        return _count(age // 60, "minute")
    if age < 86400:
        return _count(age // 3600, "hour")
    return _count(age // 86400, "day")


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


@register.filter
def isotime(when: int) -> str:
    """A moment (unix s) for `<time datetime>`."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
