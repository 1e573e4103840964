"""Template filters: dates and times, and the links in a text. Dates are in unix seconds."""

from django import template
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from retwis_site.rendering.dates import iso, moment_of
from timeline.posts.html.links import Segment, segments

register = template.Library()


@register.filter
def isotime(when: int) -> str:
    """A date and time for the attribute of `<time datetime>`."""
    return iso(when)


@register.filter
def moment(when: int) -> str:
    """A date and time for people, to the minute."""
    # Translators: a moment, in the letters of Django's `date` filter, such as "20 November 2026, 15:20 UTC"
    return date_format(moment_of(when), _("j F Y, H:i T"))


@register.filter
def day(when: int) -> str:
    # Translators: a day, in the letters of Django's `date` filter, such as "2026-11-20"
    return date_format(moment_of(when), _("Y-m-d"))


@register.filter
def month(when: int) -> str:
    # Translators: a month, in the letters of Django's `date` filter, such as "March 2026"
    return date_format(moment_of(when), _("F Y"))


@register.filter
def linked(text: str) -> list[Segment]:
    """The segments of a text. The template escapes each of them."""
    return segments(text)
