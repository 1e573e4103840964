"""Drafts: a cookie keeps the text of a post that could not be published yet, and whose it is.

The text is not put into a URL: 280 characters of some scripts are too long for one, and logs keep URLs.
"""

import base64
import binascii
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies
from retwis_site.store.ids import parse_id
from timeline.posts.entities import LONGEST_POST, NewPost

COOKIE = f"{settings.COOKIE_PREFIX}draft"
LIVES = 3600  # seconds
NOBODY = "nobody"  # in the cookie, instead of a uid


@dataclass(frozen=True, slots=True)
class Draft:
    post: NewPost
    author: int | None  # uid; None: the form named nobody, so the draft belongs to the user who logs in next


def keep(response: HttpResponse, draft: Draft) -> None:
    """Set the cookie, for the next page that shows the composer to its author. A text longer than a post is cut."""
    post = draft.post
    encoded = base64.urlsafe_b64encode(post.body[:LONGEST_POST].encode()).decode()
    parts = (draft.author or NOBODY, post.reply_to or "", post.quote or "", encoded)
    cookies.keep(response, COOKIE, ".".join(map(str, parts)), LIVES)


def kept(request: HttpRequest, me: int | None, reply_to: int | None, quote: int | None) -> Draft | None:
    """The draft of the user `me` that waits for this composer: that of a reply, of a quote, or of neither. None without
    a cookie, and with one that cannot be decoded."""
    draft = _in_cookie(request)
    if draft is None or draft.author not in (None, me):
        return None
    return draft if (draft.post.reply_to, draft.post.quote) == (reply_to, quote) else None


def give_to(request: HttpRequest, response: HttpResponse, uid: int) -> None:
    """After a login: a draft of nobody belongs to this user from now on."""
    draft = _in_cookie(request)
    if draft is not None and draft.author is None:
        keep(response, Draft(draft.post, uid))


def forget(
    request: HttpRequest, response: HttpResponse, me: int | None, reply_to: int | None, quote: int | None
) -> None:
    """Remove the draft that `kept` would return. One of another composer, or of another user, stays."""
    if kept(request, me, reply_to, quote) is not None:
        cookies.take_back(response, COOKIE)


def _in_cookie(request: HttpRequest) -> Draft | None:
    parts = request.COOKIES.get(COOKIE, "").split(".")
    if len(parts) != 4:
        return None
    author, reply_to, quote, encoded = parts
    try:
        body = base64.urlsafe_b64decode(encoded).decode()[:LONGEST_POST]
    except (binascii.Error, ValueError):
        return None
    uid = parse_id(author)
    if not body or (uid is None and author != NOBODY):
        return None
    return Draft(NewPost(body, parse_id(reply_to), parse_id(quote)), uid)
