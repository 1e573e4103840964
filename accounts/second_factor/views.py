"""The second step of a login, a login with a passkey alone, the question for a second factor before what matters, and
the page where factors are added and removed."""

import json
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import pyotp
import segno
from django import forms
from django.contrib import messages
from django.core import signing
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _, gettext_lazy

from accounts.recovery.codes import LONGEST_TYPED, RecoveryCodes
from accounts.second_factor import passkeys
from accounts.second_factor.feature import CHANGES, FACTORS, FROM_ADDRESS
from accounts.second_factor.passkeys import ChallengePurpose, Purpose, WrongAnswer
from accounts.second_factor.repository import AlreadyThere, Factors, SecondFactors, is_code, is_secret, own_factors
from accounts.signing_in import guards
from accounts.signing_in.factors import PENDING_COOKIE, Pending, password_digest, pending_of, session_digest
from accounts.signing_in.forms import PresentPasswordForm, ShortTextField, exact_input
from accounts.signing_in.html import done, form_page, not_done, typed
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.entities import Way, device_of
from accounts.users.entities import Refused, SuspendedLogin, User, Verified
from retwis_site.http.client_ip import client_address
from retwis_site.http.form_fields import MaxLength
from retwis_site.rendering.dates import day
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect

# ---- Forms


class FactorForm(forms.Form):
    """A code of an app or a recovery code; or the answer of a passkey, which a script puts in."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        help_text=gettext_lazy("From your authenticator app, or one of your recovery codes."),
        validators=[MaxLength(LONGEST_TYPED)],
        required=False,
        widget=exact_input("one-time-code"),
    )
    passkey = forms.CharField(validators=[MaxLength(passkeys.LONGEST_ANSWER)], required=False)

    def clean(self) -> None:
        if not self.errors and not self.cleaned_data["code"] and not self.cleaned_data["passkey"]:
            self.add_error("code", _("This field is required."))


class NewAppForm(forms.Form):
    """The first code of an app."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        help_text=gettext_lazy("The six digits that the app shows now."),
        validators=[MaxLength(LONGEST_TYPED)],
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "dir": "ltr"}),
    )


LONGEST_NAME = 50  # characters


class NewPasskeyForm(forms.Form):
    """The name of a passkey. The answer of the browser, which a script puts in, is looked at before it."""

    name = ShortTextField(
        LONGEST_NAME,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("To tell your passkeys apart, such as the name of this device."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )


# ---- The question for a factor


logger = logging.getLogger("retwis.accounts")


class FactorQuestion(NamedTuple):
    """For a factor of whom, and what the challenge of a passkey is signed with."""

    uid: int
    factors: Factors
    asked: ChallengePurpose


def _answered(request: RetwisRequest, question: FactorQuestion, form: FactorForm) -> Way | None:
    """With which factor the form answers; None for a wrong one, of which the form says so then. At most eight round
    trips. Raises TooOften."""
    address = client_address(request)
    FROM_ADDRESS.count(connect(), address)
    FACTORS.count(connect(), question.uid)
    way = _taken(request, question, form.cleaned_data["code"], form.cleaned_data["passkey"])
    if way is not None:
        FACTORS.forget(connect(), question.uid)
        return way
    logger.warning("wrong second factor of user %d from %s", question.uid, address)
    if form.cleaned_data["passkey"]:
        form.add_error(None, _("This passkey did not work. Try again, or use a code."))
    else:
        form.add_error("code", _("Wrong code. Each code works once, and those of an app only for a short time."))
    return None


def _taken(request: RetwisRequest, question: FactorQuestion, code: str, passkey: str) -> Way | None:
    """Takes a passkey's answer, the code of an app, or a recovery code. At most five round trips."""
    uid, factors, _asked = question
    if passkey:
        return Way.WITH_PASSKEY if _took_passkey(request, question, passkey) else None
    if is_code(code):
        is_right = factors.totp is not None and SecondFactors(connect()).take_code(uid, factors.totp, code)
        return Way.WITH_CODE if is_right else None
    return Way.WITH_RECOVERY_CODE if RecoveryCodes(connect()).claim(uid, code) else None


def _took_passkey(request: RetwisRequest, question: FactorQuestion, answer: str) -> bool:
    try:
        found = passkeys.shown(answer, question.factors, origin_of(request), question.asked)
    except WrongAnswer:  # what it says may be typed by a stranger, and is not logged
        return False
    return SecondFactors(connect()).take_passkey(question.uid, *found)


def _ask(request: RetwisRequest, template: str, question: FactorQuestion, **context: Any) -> HttpResponse:
    """A page that asks for a factor."""
    options = ""
    if question.factors.passkeys:
        options = json.dumps(passkeys.options_to_show(origin_of(request), question.factors, question.asked))
    return form_page(request, template, {**context, "options": options})


# ---- Logging in


@guards.for_passwords
@guards.keeps_opener
def second_step(request: RetwisRequest) -> HttpResponse:
    """After the password: asks for the second factor, and begins the session."""
    after = guards.page_after(request)
    pending = pending_of(request.COOKIES.get(PENDING_COOKIE, ""))
    found = _standing(pending) if pending else None
    if pending is None or found is None:
        if request.user.is_authenticated:  # after Back, or in another tab: this login has been finished
            return HttpResponseRedirect(after)
        messages.info(request, _("Log in again: too much time has passed, or the account has changed."))
        return guards.to_login(after)
    verified, question = found
    form = FactorForm(typed(request))
    way = _answered(request, question, form) if form.is_valid() else None
    if way is None:
        name, template = verified.user.username, "accounts/second_factor/second_step.html"
        return _ask(request, template, question, form=form, username=name, next=after)
    verified.way = way
    return guards.log_in(request, verified, after)


def _standing(pending: Pending) -> tuple[Verified, FactorQuestion] | None:
    """Who logs in; None when the password was changed since, when all sessions were ended, or when the account has no
    second factor any more. One round trip. Raises SuspendedLogin."""
    stored, factors = SecondFactors(connect()).account(pending.uid)
    if stored is None or not stored.needs_factor:
        return None
    if (password_digest(stored.encoded), stored.generation) != (pending.digest, pending.generation):
        return None
    if stored.is_suspended:
        raise SuspendedLogin(pending.uid)
    asked = ChallengePurpose(Purpose.SECOND_STEP, f"{pending.uid} {pending.digest}")
    verified = Verified(User(pending.uid, stored.username), pending.generation, pending.language)
    return verified, FactorQuestion(pending.uid, factors, asked)


@guards.for_passwords
@guards.keeps_opener
def passkey_login(request: RetwisRequest) -> HttpResponse:
    """Log in with a passkey alone. A GET returns what the browser is asked, as JSON, and asks the store for nothing."""
    asked = ChallengePurpose(Purpose.LOGIN)
    if request.method != "POST":
        options = passkeys.options_to_show(origin_of(request), Factors(), asked)
        return JsonResponse(options, content_type="application/json; charset=utf-8")
    after, answer = guards.page_after(request), request.POST.get("passkey", "")
    FROM_ADDRESS.count(connect(), client_address(request))
    uid = passkeys.claimed(answer)
    stored, factors = SecondFactors(connect()).account(uid) if uid else (None, Factors())
    if not uid or stored is None or not _took_passkey(request, FactorQuestion(uid, factors, asked), answer):
        logger.warning("wrong passkey from %s", client_address(request))
        messages.error(request, _("This passkey did not work. Try again, or log in with your password."))
        return guards.to_login(after)
    if stored.is_suspended:
        raise SuspendedLogin(uid)
    verified = Verified(User(uid, stored.username), stored.generation, stored.language, way=Way.PASSKEY)
    return guards.log_in(request, verified, after)


# ---- Before what matters


@guards.for_passwords
@guards.keeps_opener
def confirm(request: RetwisRequest) -> HttpResponse:
    """Asks the signed-in user for a second factor, which then counts for ten minutes. `sudo_required` leads here."""
    after = guards.page_after(request)
    me, factors, _left = own_factors(request.viewer)
    if factors.is_empty:
        return HttpResponseRedirect(after)
    asked = ChallengePurpose(Purpose.CONFIRM, session_digest(request.viewer.secret))
    question, form = FactorQuestion(me.uid, factors, asked), FactorForm(typed(request))
    if not form.is_valid() or _answered(request, question, form) is None:
        return _ask(request, "accounts/second_factor/confirm.html", question, form=form, next=after)
    guards.log_account_event(request, "confirmed a second factor", me)
    messages.success(request, _("Confirmed. You are not asked again for ten minutes."))
    response = HttpResponseRedirect(after)
    guards.note_confirmation(response, request.viewer.secret)
    return response


# ---- The page of one's factors


@guards.never_store
def security(request: RetwisRequest) -> HttpResponse:
    """What the viewer has beside the password."""
    me, factors, codes_left = own_factors(request.viewer)
    language = active_language()
    context = {
        "app_since": day(factors.totp.since, language) if factors.totp else "",
        "passkeys": [(one, day(one.since, language)) for one in factors.passkeys],
        "accepted": json.dumps(passkeys.accepted(origin_of(request), me, factors)),
        "is_empty": factors.is_empty,
        "codes_left": codes_left,
        "is_required": request.viewer.lacks_required_factor,
    }
    return form_page(request, "accounts/second_factor/security.html", context)


@guards.for_passwords
@guards.sudo_required
def add_totp(request: RetwisRequest, me: User) -> HttpResponse:
    """Add an authenticator app. The password brings the QR code and the key; a code of the app makes them count. Until
    then the store knows nothing of them: the form has the key, signed for this session."""
    if "key" not in request.POST:
        # Users with a factor have confirmed it by now. Nothing is asked for the others.
        if guards.is_confirmed(request) and own_factors(request.viewer).factors.totp:
            return not_done(request, str(AlreadyThere.message), "security")
        title = _("Set up an authenticator app")
        says = _("Any app for codes works, and so do most password managers. First type your password.")
        return _after_password(request, me, title, says, _show_key)
    CHANGES.count(connect(), me.uid)
    secret = _key_in(request)
    if secret is None:
        return not_done(request, _("Too much time has passed. Begin again."), "add_totp")
    form = NewAppForm(typed(request))
    try:
        if form.is_valid() and not SecondFactors(connect()).add_totp(me.uid, secret, form.cleaned_data["code"]):
            form.add_error("code", _("Wrong code. Look at the app again: it shows another one every 30 seconds."))
    except Refused as refusal:
        return not_done(request, str(refusal), "security")
    if not form.is_valid():
        return _show_key(request, me, form, secret)
    return _added(request, me, "added an authenticator app", _("Your authenticator app is set up."))


def _show_key(request: RetwisRequest, me: User, form: NewAppForm | None = None, secret: str = "") -> HttpResponse:
    """The QR code, and the key as text. A new one without `secret`."""
    secret = secret or pyotp.random_base32()
    uri = pyotp.TOTP(secret).provisioning_uri(name=me.username, issuer_name=request.viewer.site.name)
    context = {
        "form": form or NewAppForm(),
        "qr": _qr_code(uri),
        "uri": uri,
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "key": signing.dumps(secret, salt=_salt(request)),
    }
    return form_page(request, "accounts/second_factor/new_totp.html", context)


class QrCode(NamedTuple):
    """A QR code as the path of an SVG: a line of the height and the length 1 for each dark module."""

    size: int  # of each side, in modules, with the quiet zone
    path: str


def _qr_code(text: str) -> QrCode:
    rows = [*segno.make(text, error="m").matrix_iter(border=4)]
    dark = [(x, y) for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark]
    return QrCode(len(rows), "".join(f"M{x} {y + 0.5}h1" for x, y in dark))


KEY_LIVES = 15 * 60  # seconds


def _salt(request: RetwisRequest) -> str:
    return f"a new authenticator app: {session_digest(request.viewer.secret)}"


def _key_in(request: RetwisRequest) -> str | None:
    """The secret of the form; None for an old one, and for one of another session."""
    try:
        secret = signing.loads(request.POST["key"], salt=_salt(request), max_age=KEY_LIVES)
    except signing.BadSignature:
        return None
    return secret if isinstance(secret, str) and is_secret(secret) else None


@guards.open_to_frozen
@guards.change
@guards.sudo_required
def remove_totp(request: RetwisRequest, me: User) -> HttpResponse:
    CHANGES.count(connect(), me.uid)
    SecondFactors(connect()).remove_totp(me.uid)
    guards.log_account_event(request, "removed the authenticator app", me)
    return done(request, _("The authenticator app was removed."), "security")


@guards.for_passwords
@guards.sudo_required
def add_passkey(request: RetwisRequest, me: User) -> HttpResponse:
    """Add a passkey. The password brings the challenge for the browser, and the browser's answer makes the passkey."""
    if "passkey" not in request.POST:
        title = _("Add a passkey")
        says = _("First type your password. Then your browser asks where to keep the passkey.")
        return _after_password(request, me, title, says, _ask_for_new_passkey)
    CHANGES.count(connect(), me.uid)
    form = NewPasskeyForm(typed(request))
    name = form.cleaned_data["name"] if form.is_valid() else ""
    try:
        answer = request.POST["passkey"]
        passkey, counter = passkeys.added(answer, name or _name_of(request), origin_of(request), _to_add(request))
        if not form.is_valid():  # the right answer shows that the password was typed: only then comes another challenge
            return _ask_for_new_passkey(request, me, form)
        SecondFactors(connect()).add_passkey(me.uid, passkey, counter)
    except WrongAnswer:
        return not_done(request, _("The passkey could not be added. Try again."), "add_passkey")
    except Refused as refusal:
        return not_done(request, str(refusal), "security")
    return _added(request, me, "added a passkey", _("Your passkey was added."))


def _ask_for_new_passkey(request: RetwisRequest, me: User, form: NewPasskeyForm | None = None) -> HttpResponse:
    options = passkeys.options_to_add(origin_of(request), me, own_factors(request.viewer).factors, _to_add(request))
    form = form or NewPasskeyForm(initial={"name": _name_of(request)})
    context = {"form": form, "options": json.dumps(options)}
    return form_page(request, "accounts/second_factor/new_passkey.html", context)


def _to_add(request: RetwisRequest) -> ChallengePurpose:
    """Only the password has brought such a challenge."""
    return ChallengePurpose(Purpose.ADD, session_digest(request.viewer.secret))


def _name_of(request: RetwisRequest) -> str:
    """A name for a passkey of this browser."""
    return device_of(request.headers.get("User-Agent", "")).in_words() or _("Passkey")


@guards.open_to_frozen
@guards.change
@guards.sudo_required
def remove_passkey(request: RetwisRequest, me: User) -> HttpResponse:
    """Remove the passkey with the id in the field `passkey`."""
    CHANGES.count(connect(), me.uid)
    SecondFactors(connect()).remove_passkey(me.uid, request.POST.get("passkey", ""))
    guards.log_account_event(request, "removed a passkey", me)
    return done(request, _("The passkey was removed."), "security")


def _after_password(
    request: RetwisRequest, me: User, title: str, says: str, go_on: Callable[[RetwisRequest, User], HttpResponse]
) -> HttpResponse:
    """Asks for the current password, and goes on with the right one."""
    form = PresentPasswordForm(typed(request), request=request, username=me.username)
    if form.is_bound:
        CHANGES.count(connect(), me.uid)
    if form.is_valid():
        return go_on(request, me)
    return form_page(request, "accounts/second_factor/add.html", {"form": form, "title": title, "says": says})


def _added(request: RetwisRequest, me: User, event: str, said: str) -> HttpResponse:
    """Leads on to the recovery codes, when the user has none: without them a lost phone is a lost account."""
    guards.log_account_event(request, event, me)
    messages.success(request, said)
    response = redirect("security" if own_factors(request.viewer).codes_left else "recovery")
    guards.note_confirmation(response, request.viewer.secret)
    return response


# ---- Addresses


urlpatterns = [
    path("login/second/", second_step, name="second_step"),
    path("login/passkey/", passkey_login, name="passkey_login"),
    path("settings/confirm/", confirm, name="confirm"),
    path("settings/security/", security, name="security"),
    path("settings/security/totp/add/", add_totp, name="add_totp"),
    path("settings/security/totp/remove/", remove_totp, name="remove_totp"),
    path("settings/security/passkeys/add/", add_passkey, name="add_passkey"),
    path("settings/security/passkeys/remove/", remove_passkey, name="remove_passkey"),
]
