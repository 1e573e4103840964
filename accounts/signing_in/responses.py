"""Responses that begin or end a session in the browser, and their lines in the log."""

import logging

from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token

from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.devices import device_of
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import User, Verified
from retwis_site.features import features
from retwis_site.http import cookies
from retwis_site.http.client_ip import client_address
from retwis_site.store.client import connect

logger = logging.getLogger("retwis.accounts")

COOKIE_LIVES = 365 * 24 * 3600  # seconds


def log_account_event(request: RetwisRequest, what: str, user: User) -> None:
    """Log what happened to an account, and from which address."""
    logger.info("user %d %s from %s", user.uid, what, client_address(request))


def begin_session(request: RetwisRequest, verified: Verified, after: str) -> HttpResponse:
    """Open a session for this browser. Returns a redirect to `after`, with the sign-in cookie. Round trips and errors
    of `Sessions.open`."""
    login = Sessions(connect()).open(verified, device_of(request.headers.get("User-Agent", "")))
    rotate_token(request)
    response = HttpResponseRedirect(after)
    cookies.keep(response, settings.AUTH_COOKIE, login.secret, COOKIE_LIVES)
    for feature in features():
        if feature.after_login is not None:
            feature.after_login(request, response, login.user.uid)
    return response


def said_at_login(request: RetwisRequest) -> list[str]:
    """What waits in the browser's cookies for the user who logs in, in sentences."""
    return [str(cookie.at_login) for cookie in _personal() if cookie.at_login and cookie.name in request.COOKIES]


def take_back_at_logout(response: HttpResponse) -> None:
    """Remove the cookies that end with a session."""
    for cookie in _personal():
        if not cookie.outlives_logout:
            cookies.take_back(response, cookie.name)


def take_back_all(response: HttpResponse) -> None:
    """Remove every cookie about the user."""
    for cookie in _personal():
        cookies.take_back(response, cookie.name)


def _personal() -> list[cookies.PersonalCookie]:
    return [cookie for feature in features() for cookie in feature.cookies]
