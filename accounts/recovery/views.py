"""A new password without the old one: with a recovery code, or with a link. And making codes."""

import logging
import time

from django import forms
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _, gettext_lazy

from accounts.recovery.codes import LONGEST_TYPED, NUMBER, RecoveryCodes, ResetLinks, codes_in, field_of
from accounts.recovery.feature import CODES, NEW_CODES, RECOVERIES
from accounts.signing_in import guards
from accounts.signing_in.factors import ask_has_factor, remove_factors
from accounts.signing_in.forms import NewPasswordForm, PresentPasswordForm, UsernameField, exact_input
from accounts.signing_in.html import done, form_page, typed
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.passwords import login_subject
from accounts.signing_in.sessions.entities import SESSIONS
from accounts.signing_in.sessions.repository import Sessions, ask_stored, stored_of
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.http.client_ip import client_address
from retwis_site.http.form_fields import MaxLength
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import answer, connect, trip

# ---- Forms of the recovery of an account.


class RecoverForm(NewPasswordForm):
    """The name of an account, one of its codes, and a new password."""

    field_order = ("username", "code", "password1", "password2")

    username = UsernameField()
    code = forms.CharField(
        label=gettext_lazy("Recovery code"),
        help_text=gettext_lazy("One of the codes that you kept. Each works once."),
        validators=[MaxLength(LONGEST_TYPED)],
        widget=exact_input("off"),
    )


# ---- Views


logger = logging.getLogger("retwis.accounts")

JUST_NOW = 15 * 60  # seconds after a login or a registration in which the first codes need no password


@guards.for_passwords
@guards.keeps_opener
def recover(request: RetwisRequest) -> HttpResponse:
    """Set a new password with a code. It ends all sessions; the user logs in with the new password."""
    form = RecoverForm(typed(request))
    if form.is_valid():
        code = form.cleaned_data["code"]
        user = _owner_of(request, form.cleaned_data["username"], code)
        password, how = form.cleaned_data["password1"], "used a recovery code"
        if user is not None and _set_password(request, user, password, how, field_of(user.uid, code)):
            return _led_to_login(request)
        text = _("Wrong username or recovery code. Each code works once: if you used it, log in with the new password.")
        form.add_error(None, text)
    return form_page(request, "accounts/recovery/recover.html", {"form": form, "next": guards.page_after(request)})


def _owner_of(request: RetwisRequest, name: str, code: str) -> User | None:
    """The user of this name, when the code is one of theirs. At most six round trips. Raises TooOften,
    SuspendedLogin."""
    address = client_address(request)
    subject = login_subject(name, address)
    RECOVERIES.count(connect(), address)
    CODES.count(connect(), subject)
    user = RecoveryCodes(connect()).owner(Users(connect()).find_typed(name) or 0, code)
    if user is None:
        logger.warning("wrong name or recovery code from %s, counted as %s", address, subject)
        return None
    CODES.forget(connect(), subject)
    return user


@guards.for_passwords
def reset(request: RetwisRequest, token: str) -> HttpResponse:
    """Set a new password with a link. A GET takes nothing: programs look at links, too. The link of a suspended account
    shows why it is suspended, and stays. The link is for people who have lost everything, so it also removes the second
    factor, and the page says so."""
    user = ResetLinks(connect()).owner(token)
    if user is None:
        return form_page(request, "accounts/recovery/ended.html", {}, status=410)
    form = NewPasswordForm(typed(request), username=user.username)
    if form.is_bound:
        RECOVERIES.count(connect(), client_address(request))
    if not form.is_valid():
        context = {"form": form, "owner": user, "has_factor": answer(connect(), ask_has_factor, user.uid)}
        return form_page(request, "accounts/recovery/reset.html", context)
    _set_password(request, user, form.cleaned_data["password1"], "used a link for a new password")
    # Last: a dead process leaves an account that is as safe as before, and another link is needed.
    if remove_factors(connect(), user.uid):
        guards.log_account_event(request, "lost the second factor by the link", user)
    return _led_to_login(request)


def _set_password(request: RetwisRequest, user: User, password: str, how: str, *spent: str) -> bool:
    """The password takes the code or ends the link. Of two requests at once with a link the last one sets it. False
    when another request has taken the code first."""
    is_set = bool(Sessions(connect()).change_password(user.uid, make_password(password), spent))
    if is_set:
        guards.log_account_event(request, how, user)
    return is_set


def _led_to_login(request: RetwisRequest) -> HttpResponse:
    """The login then leads on to the page from which somebody had to log in."""
    after = guards.leading_on("login", guards.page_after(request))
    return done(request, _("Your password was changed. Log in with it."), after)


@guards.for_passwords
@guards.keeps_opener
def recovery(request: RetwisRequest) -> HttpResponse:
    """How many codes are left; a POST makes new ones and shows them, once."""
    me, [stored, has_factor] = request.viewer.ask_as_user(
        lambda pipe, me: trip(ask_stored(pipe, me), ask_has_factor(pipe, me))
    )
    if has_factor and not guards.is_confirmed(request):
        return guards.confirm_first(request)
    left, after = len(codes_in(stored)), guards.page_after(request)
    here = SESSIONS.standing_in(stored).get(request.viewer.secret)
    is_new = not left and here is not None and here.since > time.time() - JUST_NOW
    form = PresentPasswordForm(typed(request), request=request, username=me.username)
    if form.is_bound:
        NEW_CODES.count(connect(), me.uid)
    if not (form.is_bound and is_new) and not form.is_valid():
        context = {"form": form, "left": left, "has_factor": has_factor, "is_new": is_new, "next": after}
        return form_page(request, "accounts/recovery/recovery.html", context)
    codes = RecoveryCodes(connect()).make(me.uid)
    guards.log_account_event(request, "made recovery codes", me)
    context = {"codes": codes, "whose": _whose(request, me), "next": after}
    return form_page(request, "accounts/recovery/codes.html", context)


@guards.open_to_frozen
@guards.for_secrets
@guards.change
@guards.never_store
def recovery_file(request: RetwisRequest) -> HttpResponse:
    """The codes of the form as a text file, for a browser that keeps files. The store has only their hashes, so the
    form brings them back; what is no code of this user is left out. Redirects when none is left."""
    me, stored = stored_of(request.viewer)
    typed_codes = request.POST.get("codes", "").split()[:NUMBER]
    codes = [code for code in typed_codes if field_of(me.uid, code) in stored]
    if not codes:
        return redirect("recovery")
    text = _("Each one sets a new password once:") + f" {origin_of(request)}{reverse('recover')}"
    lines = (_whose(request, me), text, "", *codes, "")
    response = HttpResponse("\n".join(lines), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="recovery-codes.txt"'
    return response


def _whose(request: HttpRequest, me: User) -> str:
    """For paper and for a file, which people keep beside those of other accounts."""
    return _("Recovery codes of %(name)s on %(site)s") % {"name": f"@{me.username}", "site": origin_of(request)}


# ---- Addresses


urlpatterns = [
    path("recover/", recover, name="recover"),
    path("reset/<str:token>/", reset, name="reset"),
    path("settings/recovery/", recovery, name="recovery"),
    path("settings/recovery/file/", recovery_file, name="recovery_file"),
]
