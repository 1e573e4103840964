"""A text that could not be posted yet waits in its author's browser, in a cookie, until it can.

Not in an address: 280 characters of some scripts are too long for one, and addresses end up in logs.
"""

import base64
import binascii

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies
from timeline.posts.entities import LONGEST_POST

COOKIE = f"{settings.COOKIE_PREFIX}draft"
LIVES = 3600  # seconds


def keep(response: HttpResponse, text: str) -> None:
    """Let a text, at most as long as a post, wait for the next composer."""
    encoded = base64.urlsafe_b64encode(text[:LONGEST_POST].encode()).decode()
    cookies.keep(response, COOKIE, encoded, LIVES)


def kept(request: HttpRequest) -> str:
    """The text that waits; empty without one, or with a cookie that is none of ours."""
    try:
        return base64.urlsafe_b64decode(request.COOKIES.get(COOKIE, "")).decode()[:LONGEST_POST]
    except (binascii.Error, ValueError):
        return ""


def forget(request: HttpRequest, response: HttpResponse) -> None:
    """The text is posted."""
    if COOKIE in request.COOKIES:
        cookies.take_back(response, COOKIE)
