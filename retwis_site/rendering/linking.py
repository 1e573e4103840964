"""The template filter `urlize`, for the words of staff. Django's own takes the punctuation of other scripts for a part
of an address. The settings name this module among the `builtins` of templates. Posts have `timeline/posts/links.py`."""

import regex
from django.template import Library
from django.utils.html import urlizer

from retwis_site.rendering.fragments import Html, joined

register = Library()

# Brackets of ASCII may be part of an address: Django looks for their partners.
_between_words = regex.compile(r"""([\s<>"'\p{Pi}\p{Pf}[\p{Ps}\p{Pe}\p{Term}--\p{ASCII}]]+)""", regex.V1)


@register.filter
def urlize(text: str) -> Html:
    """The text with web and mail addresses as links."""
    words = _between_words.split(text)
    return joined(urlizer.handle_word(word, safe_input=False, nofollow=True, autoescape=True) for word in words)
