"""The template filter `urlize`, for the words of staff. Django's own takes the punctuation of other scripts for a part
of an address. The settings name this module among the `builtins` of templates. Posts have `timeline/posts/links.py`."""

import regex
from django.template import Library
from django.utils.html import Urlizer
from django.utils.safestring import SafeString, mark_safe

register = Library()


class _Urlizer(Urlizer):
    # Brackets of ASCII may be part of an address: Django looks for their partners.
    word_split_re = regex.compile(r"""([\s<>"'\p{Pi}\p{Pf}[\p{Ps}\p{Pe}\p{Term}--\p{ASCII}]]+)""", regex.V1)


_urlizer = _Urlizer()


@register.filter(is_safe=True)
def urlize(text: str) -> SafeString:
    """The text with web and mail addresses as links."""
    return mark_safe(_urlizer(text, nofollow=True, autoescape=True))  # noqa: S308
