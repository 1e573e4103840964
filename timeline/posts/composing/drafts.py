"""Drafts: a cookie keeps the text of a post that could not be published yet.

The text is not put into a URL: 280 characters of some scripts are too long for one, and logs keep URLs.
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
    """Set the cookie, for the next page that shows the composer. A text longer than a post is cut."""
    encoded = base64.urlsafe_b64encode(text[:LONGEST_POST].encode()).decode()
    cookies.keep(response, COOKIE, encoded, LIVES)


def kept(request: HttpRequest) -> str:
    """The text of the draft; empty without a cookie, or with a cookie that cannot be decoded."""
    try:
        return base64.urlsafe_b64decode(request.COOKIES.get(COOKIE, "")).decode()[:LONGEST_POST]
    except (binascii.Error, ValueError):
        return ""


def forget(request: HttpRequest, response: HttpResponse) -> None:
    """Remove the cookie."""
    if COOKIE in request.COOKIES:
        cookies.take_back(response, COOKIE)
