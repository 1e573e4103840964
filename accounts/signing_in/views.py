"""Register, log in, log out; what people are called, passwords, colours and languages."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.forms import Form
from django.http import HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect
from django.utils.translation import activate, get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.signing_in.forms import (
    AppearanceForm,
    LanguageForm,
    LoginForm,
    PasswordForm,
    PresentPasswordForm,
    ProfileForm,
    RegisterForm,
)
from accounts.signing_in.guards import change, login_required, own_page, page_of_form, to_login
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import Login, NameTaken, NotSignedIn, User
from accounts.users.name_index import Directory
from accounts.users.repository import Users
from retwis_site.http import cookies
from retwis_site.http.client_ip import client_address
from retwis_site.http.error_pages import error_page, kept_fields
from retwis_site.http.language import CODES, keep_language
from retwis_site.rendering.pages import keep_theme, page, theme_of
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import EDITS, REGISTRATIONS, Throttle

logger = logging.getLogger("retwis.accounts")

never_store = cache_control(private=True, no_store=True)

COOKIE_LIVES = 365 * 24 * 3600  # seconds


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def register(request: RetwisRequest) -> HttpResponse:
    if request.method != "POST":
        if request.user.is_authenticated:
            return redirect("home")
        return page(request, "accounts/register.html", {"form": RegisterForm()})
    form = RegisterForm(request.POST)
    if form.is_valid():
        throttle = Throttle(connect())
        counted = throttle.count(REGISTRATIONS, client_address(request))
        try:
            login = Users(connect()).register(
                form.cleaned_data["username"], make_password(form.cleaned_data["password1"])
            )
        except NameTaken:
            throttle.take_back(counted)
            form.add_error("username", _("That name is taken. Choose another one."))
        else:
            text = _("Welcome, %(name)s! Write your first post, or find people to follow.")
            messages.success(request, text % {"name": login.user.username})
            _note(request, "registered", login.user)
            return _signed_in(request, login, "/")
    return page(request, "accounts/register.html", {"form": form}, status=422)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: RetwisRequest) -> HttpResponse:
    if request.method != "POST":
        after = own_page(request, request.GET.get("next", ""))
        if request.user.is_authenticated:
            return HttpResponseRedirect(after)
        return page(request, "accounts/login.html", {"form": LoginForm(request=request), "next": after})
    after = own_page(request, request.POST.get("next", ""))
    form = LoginForm(request.POST, request=request)
    if not form.is_valid() or form.login is None:
        return page(request, "accounts/login.html", {"form": form, "next": after}, status=422)
    known = form.login.language in CODES
    if known:
        activate(form.login.language)
    messages.success(request, _("Welcome back, %(name)s.") % {"name": form.login.user.username})
    _note(request, "logged in", form.login.user)
    response = _signed_in(request, form.login, after)
    if known:
        keep_language(response, form.login.language)
    return response


@change
def logout(request: RetwisRequest) -> HttpResponse:
    """Ends the session on every device, and leaves no text to who comes next. Whoever is not signed in is signed out
    already."""
    if request.user.is_authenticated:
        me = request.visit.require_user()
        Users(connect()).end_sessions(me.uid, request.visit.secret)
        _note(request, "logged out", me)
        messages.success(request, _("You are logged out, on all your devices."))
    response = redirect("home")
    for cookie in (settings.AUTH_COOKIE, settings.DRAFT_COOKIE):
        cookies.take_back(response, cookie)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def profile_settings(request: RetwisRequest) -> HttpResponse:
    """What one is called and says about oneself, and the ways to all else that can be chosen."""
    if request.method == "POST":
        return _edit_profile(request)
    try:
        me, bio = Directory(connect()).bio(request.visit)
    except NotSignedIn:
        return to_login(request.path)
    return page(request, "accounts/settings.html", {"form": ProfileForm(initial={"name": me.name, "bio": bio})})


def _edit_profile(request: RetwisRequest) -> HttpResponse:
    try:
        me = request.visit.require_user()
    except NotSignedIn:
        text = _("Nothing was saved. Log in in another window, then send this again.")
        return error_page(request, 403, _("You are logged out"), text, kept_fields(request))
    form = ProfileForm(request.POST)
    if not form.is_valid():
        return page(request, "accounts/settings.html", {"form": form}, status=422)
    Throttle(connect()).count(EDITS, str(me.uid))
    Directory(connect()).edit(me, form.cleaned_data["name"], form.cleaned_data["bio"])
    messages.success(request, _("Saved."))
    return redirect("settings")


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_store
def password(request: RetwisRequest) -> HttpResponse:
    """Change one's password, which ends every other session."""
    me = request.visit.require_user()
    if request.method != "POST":
        form = PasswordForm(request=request, username=me.username)
        return page(request, "accounts/password.html", {"form": form})
    form = PasswordForm(request.POST, request=request, username=me.username)
    if not form.is_valid():
        return page(request, "accounts/password.html", {"form": form}, status=422)
    secret = Users(connect()).change_password(me.uid, make_password(form.cleaned_data["password1"]))
    _note(request, "changed the password", me)
    messages.success(request, _("Your password is changed, and all your other devices are logged out."))
    return _signed_in(request, Login(me, secret), "/")


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_store
def delete_account(request: RetwisRequest) -> HttpResponse:
    """Delete one's account for good: nothing brings it back. The browser keeps nothing of it."""
    me = request.visit.require_user()
    if request.method != "POST":
        form = PresentPasswordForm(request=request, username=me.username)
        return page(request, "accounts/delete.html", {"form": form})
    form = PresentPasswordForm(request.POST, request=request, username=me.username)
    if not form.is_valid():
        return page(request, "accounts/delete.html", {"form": form}, status=422)
    Users(connect()).delete(me, request.visit.secret)
    _note(request, "deleted the account", me)
    messages.success(request, _("Your account is deleted."))
    response = redirect("home")
    for cookie in (settings.AUTH_COOKIE, settings.DRAFT_COOKIE, settings.SINCE_COOKIE):
        cookies.take_back(response, cookie)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def appearance(request: RetwisRequest) -> HttpResponse:
    """Light, dark or like the system, for one browser, whoever uses it."""
    present = theme_of(request) or AppearanceForm.SYSTEM
    return _choice(request, "accounts/appearance.html", AppearanceForm, "theme", present, keep_theme)


@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def language(request: RetwisRequest) -> HttpResponse:
    """The language of one browser, and of whoever is signed in there, wherever they log in next."""

    def keep(response: HttpResponse, code: str) -> None:
        if request.user.is_authenticated:
            Users(connect()).choose_language(request.visit.require_user().uid, code)
        keep_language(response, code)

    return _choice(request, "accounts/language.html", LanguageForm, "language", get_language(), keep)


def _choice(
    request: RetwisRequest,
    template: str,
    form_class: type[Form],
    field: str,
    present: str | None,
    keep: Callable[[HttpResponse, str], None],
) -> HttpResponse:
    """A page on which one of a few things is chosen. It leads back to where it was opened from."""
    if request.method != "POST":
        form = form_class(initial={field: present})
        return page(request, template, {"form": form, "field": form[field], "next": page_of_form(request)})
    form = form_class(request.POST)
    after = own_page(request, request.POST.get("next", ""))
    if not form.is_valid():
        return page(request, template, {"form": form, "field": form[field], "next": after}, status=422)
    response = HttpResponseRedirect(after)
    keep(response, form.cleaned_data[field])
    return response


def _note(request: RetwisRequest, what: str, user: User) -> None:
    """For the log: who did something to an account, and from where."""
    logger.info("user %d %s from %s", user.uid, what, client_address(request))


def _signed_in(request: RetwisRequest, login: Login, after: str) -> HttpResponse:
    """To `after`, with the cookie."""
    rotate_token(request)
    response = HttpResponseRedirect(after)
    cookies.keep(response, settings.AUTH_COOKIE, login.secret, COOKIE_LIVES)
    return response
