"""The language of a request: the cookie's choice, else the best match for Accept-Language. And lists in it.

How such a header refuses a language is how any other refuses what it names: `wanted_and_refused`."""

import re
from functools import cache, lru_cache, reduce

from django.conf import settings
from django.http import HttpRequest
from django.http.response import ResponseHeaders
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation.trans_real import LANGUAGE_CODE_MAX_LENGTH as MAX_LENGTH

CODES = frozenset(code for code, _ in settings.LANGUAGES)
COOKIE = settings.LANGUAGE_COOKIE_NAME
DEFAULT = settings.LANGUAGE_CODE
MOST_LANGUAGES = 10  # of an Accept-Language header


def language_of(request: HttpRequest) -> str:
    """The code of one of the site's languages: `en`, `de`, `ar`. Of an Accept-Language header the beginning counts. A
    client may send more; Django and the cache must not keep it: parsed, each language takes 200 bytes."""
    chosen = request.COOKIES.get(COOKIE, "")
    if chosen in CODES:
        return chosen
    header = request.META.get("HTTP_ACCEPT_LANGUAGE", "")
    if len(header) > MAX_LENGTH:
        header = header[:MAX_LENGTH].rpartition(",")[0]
    return _best_match(",".join(header.split(",", MOST_LANGUAGES)[:MOST_LANGUAGES]))


@lru_cache(maxsize=1000)
def _best_match(header: str) -> str:
    """The code that Django chooses for an Accept-Language header. When the header refuses that language, the first of
    the site's that it does not refuse, if there is one."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"], refused = wanted_and_refused(header)
    best = translation.get_language_from_request(request)
    candidates = [best, *(code for code, _ in settings.LANGUAGES)]
    return next((code for code in candidates if refused.isdisjoint({code, code.partition("-")[0]})), best)


@cache
def headers_in(language: str) -> ResponseHeaders:
    """The headers of an answer in this language. An answer varies with the cookies for two more reasons: the user and
    the theme."""
    return ResponseHeaders({"Content-Language": language, "Vary": "Accept-Language, Cookie"})


def listed(*parts: str) -> str:
    """One part or more, with the comma of the active language between them."""
    return reduce(lambda before, after: _("%(before)s, %(after)s") % {"before": before, "after": after}, parts)


# ---- Headers that list what a client takes, each with a weight: `fr, de;q=0.5, ar;q=0`. The weight 0 refuses (RFC
# 9110, 12.4.2), which neither Django nor WhiteNoise looks at.


_is_refused = re.compile(r"[^;]*;\s*q\s*=\s*0(\.0{0,3})?\s*", re.IGNORECASE).fullmatch


def wanted_and_refused(header: str) -> tuple[str, frozenset[str]]:
    """The header without what it refuses, and the names that it refuses, in lower case."""
    parts = header.split(",")
    refused = {part for part in parts if _is_refused(part)}
    names = frozenset(part.partition(";")[0].strip().lower() for part in refused)
    return ",".join(part for part in parts if part not in refused).strip(), names
