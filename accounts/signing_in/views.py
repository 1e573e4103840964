"""Register, log in, log out."""

from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import activate
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from accounts.joining.joining import Joining
from accounts.joining.refusals import CannotJoin
from accounts.signing_in.feature import REGISTRATIONS
from accounts.signing_in.forms import ApplicationForm, LoginForm, RegisterForm
from accounts.signing_in.guards import (
    begin_session,
    change,
    log_account_event,
    open_to_frozen,
    own_page,
    said_at_login,
    take_back_at_logout,
)
from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import NameTaken, Verified
from retwis_site.http.client_ip import client_address
from retwis_site.http.language import CODES, keep_language
from retwis_site.rendering.error_pages import error_page
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits


@open_to_frozen
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def register(request: RetwisRequest) -> HttpResponse:
    return _register(request, request.POST.get("code", ""))


@open_to_frozen
@require_safe
def invited(request: RetwisRequest, code: str) -> HttpResponse:
    """The registration, for a person with an invitation."""
    return _register(request, code)


def _register(request: RetwisRequest, code: str) -> HttpResponse:
    if request.method != "POST" and request.user.is_authenticated:
        return redirect("home")
    # An empty form decides nothing: it is shown even while the store fails.
    mode = (request.viewer.site if request.method == "POST" or code else request.viewer.shown_site).registration
    joining = Joining(connect())
    kind = ApplicationForm if mode == "approval" and not code else RegisterForm
    form = kind(request.POST if request.method == "POST" else None)
    try:
        joining.check_open(mode, code)
    except CannotJoin as refusal:
        return error_page(request, 403, _("You cannot join now"), str(refusal.text))
    if request.method != "POST":
        return _register_page(request, form, code, status=200)
    if not form.is_valid():
        return _register_page(request, form, code, status=422)
    limits = RateLimits(connect())
    counted = limits.count(REGISTRATIONS, client_address(request))
    typed = form.cleaned_data
    try:
        password = make_password(typed["password1"])
        login = joining.join(mode, typed["username"], password, typed.get("why", ""), code)
    except (NameTaken, CannotJoin) as refusal:
        limits.take_back(counted)
        taken = _("This username is taken. Choose another one.")
        form.add_error("username", taken if isinstance(refusal, NameTaken) else str(refusal.text))
        return _register_page(request, form, code, status=422)
    if login is None:
        messages.success(request, _("Thank you. Log in later to see whether you can join."))
        return redirect("login")
    text = _("Welcome, %(name)s! Write your first post, or find people to follow.")
    messages.success(request, text % {"name": login.user.username})
    log_account_event(request, "registered", login.user)
    return begin_session(request, Verified(login.user), reverse("recovery"))


def _register_page(request: RetwisRequest, form: RegisterForm, code: str, status: int) -> HttpResponse:
    context = {"form": form, "said": said_at_login(request), "code": code}
    return form_page(request, "accounts/signing_in/register.html", context, status=status)


@open_to_frozen
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: RetwisRequest) -> HttpResponse:
    if request.method != "POST":
        after = own_page(request, request.GET.get("next", ""))
        if request.user.is_authenticated:
            return HttpResponseRedirect(after)
        return _login_page(request, LoginForm(request=request), after)
    after = own_page(request, request.POST.get("next", ""))
    form = LoginForm(request.POST, request=request)
    if not form.is_valid() or form.verified is None:
        return _login_page(request, form, after, status=422)
    user, language = form.verified.user, form.verified.language
    response = begin_session(request, form.verified, after)
    if language in CODES:
        activate(language)
        keep_language(response, language)
    messages.success(request, _("Welcome back, %(name)s.") % {"name": user.username})
    log_account_event(request, "logged in", user)
    return response


def _login_page(request: RetwisRequest, form: LoginForm, after: str, status: int = 200) -> HttpResponse:
    context = {"form": form, "next": after, "said": said_at_login(request)}
    return form_page(request, "accounts/signing_in/login.html", context, status)


@open_to_frozen
@change
def logout(request: RetwisRequest) -> HttpResponse:
    """End the session of this browser, and remove the cookies that end with it. For a visitor: the cookies alone."""
    if request.user.is_authenticated:
        me = request.viewer.require_user()
        Sessions(connect()).end(me.uid, request.viewer.secret)
        log_account_event(request, "logged out", me)
        messages.success(request, _("You are logged out."))
    response = redirect("home")
    take_back_at_logout(response)
    return response


# ---- Addresses


urlpatterns = [
    path("register/", register, name="register"),
    path("invited/<str:code>/", invited, name="invited"),
    path("login/", login, name="login"),
    path("logout/", logout, name="logout"),
]
