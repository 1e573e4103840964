"""How a moment is written."""

from datetime import UTC, datetime

from django import template

register = template.Library()


@register.filter
def isotime(when: int) -> str:
    """A moment (unix s) for `<time datetime>`."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
