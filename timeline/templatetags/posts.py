"""How a moment is written, and what of a text is a link."""

from datetime import UTC, datetime

from django import template

from timeline.links import Part, parts

register = template.Library()


@register.filter
def isotime(when: int) -> str:
    """A moment (unix s) for `<time datetime>`."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.filter
def linked(text: str) -> list[Part]:
    """A text in pieces, of which some lead somewhere. The template escapes each."""
    return parts(text)
