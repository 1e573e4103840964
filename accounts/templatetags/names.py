"""How a user is named in a template: as they want to be called, with their username beside it."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.entities import User

register = template.Library()

FIRST_STRONG_ISOLATE, POP = "\u2068", "\u2069"
# What turns the direction of writing, or ends that.
_TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


@register.simple_tag
def name_of(person: User) -> SafeString:
    """HTML. Whichever way a name is written, what stands around it is not."""
    if not person.name:
        return format_html("{}", person.username)
    return format_html('<bdi>{}</bdi> <bdi class="handle">@{}</bdi>', person.name, person.username)


@register.filter
def isolated(person: User) -> str:
    """The shown name where no element can stand around it: in a title, or an attribute."""
    if not person.name:
        return person.username
    return f"{FIRST_STRONG_ISOLATE}{person.name.translate(_TURNS)}{POP}"
