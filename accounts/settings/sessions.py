"""The page of one's sessions, and ending them."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from accounts.settings.feature import SESSIONS
from accounts.settings.session_rows import rows, sessions_of
from accounts.signing_in.guards import (
    begin_session,
    log_account_event,
    login_required,
    open_to_frozen,
    take_back_at_logout,
    to_login,
)
from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.entities import Session
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import NotSignedIn, User, Verified
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits

OTHERS = "others"  # in place of a session's number: all but the one of this browser

never_store = cache_control(private=True, no_store=True)


@open_to_frozen
@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def sessions(request: RetwisRequest) -> HttpResponse:
    """The devices on which the user is logged in. A POST with `end`, the number of a session or OTHERS, ends these."""
    try:
        me, found = sessions_of(request.viewer)
    except NotSignedIn:
        return to_login(request.path)
    if request.method != "POST":
        listed = rows(found, request.viewer.secret, active_language())
        has_others = any(not row.is_here for row in listed)
        is_shared = not any(row.is_here for row in listed)
        context = {"rows": listed, "has_others": has_others, "is_shared": is_shared}
        return form_page(request, "accounts/settings/sessions/sessions.html", context)
    RateLimits(connect()).count(SESSIONS, str(me.uid))
    which = request.POST.get("end", "")
    if which == OTHERS:
        here = next((session for session in found if session.secret == request.viewer.secret), None)
        return _end_others(request, me, here)
    ended = [session.secret for session in found if session.number == which]
    for secret in ended:
        Sessions(connect()).end(me.uid, secret)
        log_account_event(request, "logged out a device", me)
    if request.viewer.secret in ended:
        return _after_logout(_("You are logged out."), request)
    messages.success(request, _("This device is logged out."))
    return redirect("sessions")


def _end_others(request: RetwisRequest, me: User, here: Session | None) -> HttpResponse:
    """All sessions end, and this browser gets a new one: two steps, each of them whole. The new one is as old as the
    one before: nobody has typed a password. A browser with the official secret, whose age is not known, logs in
    again."""
    generation = Sessions(connect()).end_all(me.uid)
    log_account_event(request, "logged out all other devices", me)
    if here is None:
        return _after_logout(_("You are logged out on all your devices."), request)
    messages.success(request, _("All your other devices are logged out."))
    return begin_session(request, Verified(me, generation, since=here.since), request.path)


@open_to_frozen
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_store
def log_out_everywhere(request: RetwisRequest, me: User) -> HttpResponse:
    """Asks first; a POST ends every session, also that of this browser."""
    if request.method != "POST":
        return form_page(request, "accounts/settings/sessions/everywhere.html", {})
    RateLimits(connect()).count(SESSIONS, str(me.uid))
    Sessions(connect()).end_all(me.uid)
    log_account_event(request, "logged out everywhere", me)
    return _after_logout(_("You are logged out on all your devices."), request)


def _after_logout(said: str, request: RetwisRequest) -> HttpResponse:
    messages.success(request, said)
    response = redirect("home")
    take_back_at_logout(response)
    return response
