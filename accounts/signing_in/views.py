"""Register, log in, log out."""

from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.joining.joining import Joining
from accounts.signing_in import guards
from accounts.signing_in.feature import REGISTRATIONS
from accounts.signing_in.forms import APPLIED, ApplicationForm, LoginForm, RegisterForm
from accounts.signing_in.html import done, form_page, typed
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import Refused, Verified
from retwis_site.features import first_page
from retwis_site.http.client_ip import client_address
from retwis_site.rendering.pages import error_page
from retwis_site.store.client import connect


@guards.open_to_frozen
@guards.for_secrets
@guards.for_forms
@guards.keeps_opener
def register(request: RetwisRequest) -> HttpResponse:
    return _register(request, request.POST.get("code", ""))


@guards.open_to_frozen
@require_safe
def invited(request: RetwisRequest, code: str) -> HttpResponse:
    """The registration, for a person with an invitation."""
    return _register(request, code)


def _register(request: RetwisRequest, code: str) -> HttpResponse:
    if request.method != "POST" and request.user.is_authenticated:
        return HttpResponseRedirect(guards.page_after(request))
    # An empty form decides nothing: it is shown even while the store fails.
    mode = (request.viewer.site if request.method == "POST" or code else request.viewer.shown_site).registration
    joining = Joining(connect())
    try:
        invitation = joining.check_open(mode, code)
    except Refused as refusal:
        return _sent_again(request) or error_page(request, 403, _("You cannot join now"), str(refusal))
    form = (ApplicationForm if mode == "approval" and invitation is None else RegisterForm)(typed(request))
    form.is_valid()
    if "username" in getattr(form, "cleaned_data", {}):
        try:  # beside the other errors; such a form counts for no limit, and costs no hash
            joining.check_name(form.cleaned_data["username"])
        except Refused as refusal:
            form.add_error("username", str(refusal))
    if form.is_valid():
        REGISTRATIONS.count(connect(), client_address(request))
        given = form.cleaned_data
        try:
            password = make_password(given["password1"])
            joined = joining.join(mode, given["username"], password, given.get("why", ""), code)
        except Refused as refusal:
            form.add_error("username", str(refusal))
        else:
            return _joined(request, joined and Verified(joined))
    if form.has_error("username") and (again := _sent_again(request)) is not None:
        return again
    context = {"form": form, "code": code, "invitation": invitation, **_around(request, _page_before(request))}
    return form_page(request, "accounts/signing_in/register.html", context)


def _around(request: RetwisRequest, after: str) -> dict[str, object]:
    """What both forms show: their links to each other, and to a new password, lead on to the page `after`."""
    links = {view: guards.leading_on(view, after) for view in ("login", "register", "recover")}
    return {"said": guards.said_at_login(request), "next": after, **links}


def _page_before(request: RetwisRequest) -> str:
    """To which page a member comes at last: that from which the login was asked for, or that of the person, post or tag
    where the visitor chose to log in or to register."""
    if request.method == "POST" or "next" in request.GET:
        return guards.page_after(request)
    page = guards.page_of_form(request)
    return page if guards.match_of(page).kwargs.keys() & {"username", "tag"} else reverse("home")


def _sent_again(request: RetwisRequest) -> HttpResponse | None:
    """The first answer once more, for a new member or an applicant whose form comes again, since that was lost or the
    store failed after the commit. None for all others. Of an account that is older or in use no password is compared: a
    name that is taken costs no hash, and counts as no wrong password."""
    form = (ApplicationForm if "why" in request.POST else RegisterForm)(typed(request))
    if not form.is_valid():
        return None
    given = form.cleaned_data
    if not Joining(connect()).may_be_sent_again(given["username"], given.get("why")):
        return None
    login = LoginForm({"username": given["username"], "password": given["password1"]}, request=request)
    if not login.is_valid():
        return _joined(request, None) if login.has_error(NON_FIELD_ERRORS, APPLIED) else None
    return _joined(request, login.verified) if login.verified and not login.verified.digest else None


def _joined(request: RetwisRequest, verified: Verified | None) -> HttpResponse:
    if verified is None:
        return done(request, _("Thank you. Log in later to see whether you can join."), "login")
    text = _("Welcome, %(name)s!")
    messages.success(request, text % {"name": verified.user.username})
    guards.log_account_event(request, "registered", verified.user)
    after = guards.leading_on(first_page(), guards.page_after(request))
    return guards.begin_session(request, verified, after)


@guards.open_to_frozen
@guards.for_secrets
@guards.for_forms
@guards.keeps_opener
def login(request: RetwisRequest) -> HttpResponse:
    after = _page_before(request)
    if request.method != "POST" and request.user.is_authenticated:
        return HttpResponseRedirect(after)
    form = LoginForm(typed(request), request=request)
    if not form.is_valid() or form.verified is None:
        return form_page(request, "accounts/signing_in/login.html", {"form": form, **_around(request, after)})
    if form.verified.digest:
        return guards.begin_second_step(form.verified, after)
    if form.verified.is_new:  # as after registering: there are the recovery codes
        after = guards.leading_on(first_page(), after)
    return guards.log_in(request, form.verified, after)


@guards.open_to_frozen
@guards.change
def logout(request: RetwisRequest) -> HttpResponse:
    """End the session of this browser, and remove the cookies that end with it. For a visitor: the cookies alone."""
    if request.user.is_authenticated:
        me = request.viewer.require_user()
        Sessions(connect()).end(me.uid, request.viewer.secret)
        guards.log_account_event(request, "logged out", me)
    return guards.logged_out(request, _("You are logged out."))


# ---- Addresses


urlpatterns = [
    path("register/", register, name="register"),
    path("invited/<str:code>/", invited, name="invited"),
    path("login/", login, name="login"),
    path("logout/", logout, name="logout"),
]
