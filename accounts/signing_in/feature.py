"""Signing in: registration and login, sessions, rate limits."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.signing_in import factors
from accounts.signing_in.forms import ApplicationForm, LoginForm
from accounts.signing_in.html import frame_of_error
from accounts.signing_in.middleware import POSTS_CHANGED
from accounts.signing_in.passwords import ATTEMPTS, HASHING, LOGINS
from accounts.signing_in.sessions.repository import SessionChecks, account_lines, finish_auth, remove_sessions
from retwis_site.features import Feature
from retwis_site.http.cookies import PersonalCookie
from retwis_site.http.form_fields import fields_of, hidden
from retwis_site.store.rate_limits import Limit

REGISTRATIONS = Limit(
    *("register", 30, 3600, "new accounts from your network"),
    _("Too many new accounts from your network in a short time."),
)


# ---- What it declares


FEATURE = Feature(
    urls="accounts.signing_in.views",
    slow_views={("POST", "login"): HASHING, ("POST", "register"): HASHING},
    jobs={"auth": finish_auth},
    put_off={},
    limits=(LOGINS, ATTEMPTS, REGISTRATIONS),
    searchers=(SessionChecks,),
    account_lines=account_lines,
    remove_account=remove_sessions,
    form_fields={
        "login": (*fields_of(LoginForm), *hidden("next")),
        "register": (*fields_of(ApplicationForm), *hidden("code", "next")),
    },
    frame_of_errors=frame_of_error,
    cookies=tuple(
        map(
            PersonalCookie,
            (settings.AUTH_COOKIE, POSTS_CHANGED, factors.PENDING_COOKIE, factors.CONFIRMED_COOKIE),
        )
    ),
)
