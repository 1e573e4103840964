"""A new password without the old one: with a recovery code, or with a link. And making codes."""

import logging
import time
from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.recovery.codes import RecoveryCodes, codes_left
from accounts.recovery.forms import RecoverForm, ResetForm
from accounts.recovery.limits import CODES, NEW_CODES, RECOVERIES
from accounts.recovery.links import ResetLinks
from accounts.signing_in.forms import PresentPasswordForm
from accounts.signing_in.guards import open_to_frozen, to_login
from accounts.signing_in.html.pages import form_page
from accounts.signing_in.limits import login_subject
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.responses import log_account_event
from accounts.signing_in.sessions.entities import Session
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import NotSignedIn, User
from accounts.users.repository import Users
from retwis_site.http.client_ip import client_address
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits

logger = logging.getLogger("retwis.accounts")

JUST_NOW = 15 * 60  # seconds after a login in which the first codes need no password

never_store = cache_control(private=True, no_store=True)


@open_to_frozen
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def recover(request: RetwisRequest) -> HttpResponse:
    """Set a new password with a code. It ends all sessions; the user logs in with the new password."""
    if request.method != "POST":
        return form_page(request, "accounts/recovery/recover.html", {"form": RecoverForm()})
    form = RecoverForm(request.POST)
    if form.is_valid():
        user = _claimed(request, form.cleaned_data["username"], form.cleaned_data["code"])
        if user is not None:
            return _with_new_password(request, user, form.cleaned_data["password1"], "used a recovery code")
        form.add_error(None, _("Wrong username or recovery code. A code works once."))
    return form_page(request, "accounts/recovery/recover.html", {"form": form}, status=422)


def _claimed(request: RetwisRequest, name: str, code: str) -> User | None:
    """The user of this name, when the code was one of theirs: it is taken. At most six round trips. Raises TooOften."""
    limits, address = RateLimits(connect()), client_address(request)
    subject = login_subject(name, address)
    limits.count(RECOVERIES, address)
    limits.count(CODES, subject)
    users = Users(connect())
    uid = users.find(name) or 0
    user = users.people([uid]).get(uid)
    if user is None or not RecoveryCodes(connect()).claim(uid, code):
        logger.warning("wrong name or recovery code from %s, counted as %s", address, subject)
        return None
    limits.forget(CODES, subject)
    return user


@open_to_frozen
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def reset(request: RetwisRequest, token: str) -> HttpResponse:
    """Set a new password with a link. A GET takes nothing: programs look at links, too. The link of a suspended account
    shows why it is suspended, and stays."""
    links = ResetLinks(connect())
    user = links.owner(token)
    if user is None:
        return _ended(request)
    if request.method != "POST":
        form = ResetForm(username=user.username)
        return form_page(request, "accounts/recovery/reset.html", {"form": form, "owner": user})
    RateLimits(connect()).count(RECOVERIES, client_address(request))
    form = ResetForm(request.POST, username=user.username)
    if not form.is_valid():
        return form_page(request, "accounts/recovery/reset.html", {"form": form, "owner": user}, status=422)
    if links.claim(token) is None:
        return _ended(request)
    return _with_new_password(request, user, form.cleaned_data["password1"], "used a link for a new password")


def _ended(request: RetwisRequest) -> HttpResponse:
    return form_page(request, "accounts/recovery/ended.html", {}, status=410)


def _with_new_password(request: RetwisRequest, user: User, password: str, how: str) -> HttpResponse:
    """The code or link is taken by now. When this process dies before the password is set, another one is needed."""
    Sessions(connect()).change_password(user.uid, make_password(password))
    log_account_event(request, how, user)
    messages.success(request, _("Your password was changed. Log in with it."))
    return redirect("login")


@open_to_frozen
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def recovery(request: RetwisRequest) -> HttpResponse:
    """How many codes are left; a POST makes new ones and shows them, once."""
    try:
        me, left, sessions = codes_left(request.viewer)
    except NotSignedIn:
        return to_login(request.path)
    is_new = not left and _logged_in_just_now(sessions, request.viewer.secret)
    context = {"left": left, "is_new": is_new}
    if request.method != "POST":
        form = PresentPasswordForm(request=request, username=me.username)
        return form_page(request, "accounts/recovery/recovery.html", {**context, "form": form})
    RateLimits(connect()).count(NEW_CODES, str(me.uid))
    form = PresentPasswordForm(request.POST, request=request, username=me.username)
    if not is_new and not form.is_valid():
        return form_page(request, "accounts/recovery/recovery.html", {**context, "form": form}, status=422)
    codes = RecoveryCodes(connect()).make(me.uid)
    log_account_event(request, "made recovery codes", me)
    return form_page(request, "accounts/recovery/codes.html", {"codes": codes})


def _logged_in_just_now(sessions: Sequence[Session], secret: str) -> bool:
    """Whether this browser has shown the password a moment ago, as after registering."""
    return any(session.secret == secret and session.since > time.time() - JUST_NOW for session in sessions)
