"""A user's name where no element can stand around it: `{{ person|isolated }}`."""

from django import template

from accounts.entities import User

register = template.Library()

FIRST_STRONG_ISOLATE, POP = "\u2068", "\u2069"
# What turns the direction of writing, or ends that.
_TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


@register.filter
def isolated(person: User) -> str:
    """The shown name for a title or an attribute: whichever way it is written, what stands around it is not."""
    if not person.name:
        return person.username
    return f"{FIRST_STRONG_ISOLATE}{person.name.translate(_TURNS)}{POP}"
