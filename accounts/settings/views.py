"""The settings: profile, password, appearance, language, and deleting the account."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.forms import Form
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.community.roles import LastAdmin, Roles
from accounts.settings import sessions
from accounts.settings.feature import EDITS, PASSWORD_FORMS
from accounts.settings.forms import AppearanceForm, LanguageForm, PasswordForm, ProfileForm, profile_of
from accounts.signing_in.forms import PresentPasswordForm
from accounts.signing_in.guards import (
    begin_session,
    log_account_event,
    login_required,
    open_to_frozen,
    own_page,
    page_of_form,
    take_back_all,
    to_login,
)
from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import NotSignedIn, Role, User, Verified
from accounts.users.name_index import NameIndex
from accounts.users.repository import Users
from retwis_site.http.language import keep_language
from retwis_site.rendering.error_pages import error_page, kept_fields
from retwis_site.rendering.pages import keep_theme, theme_of
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits

never_store = cache_control(private=True, no_store=True)


@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def profile_settings(request: RetwisRequest) -> HttpResponse:
    """The form for the display name and the bio, with links to the other settings."""
    if request.method == "POST":
        return _edit_profile(request)
    try:
        me, bio = profile_of(request.viewer)
    except NotSignedIn:
        return to_login(request.path)
    return form_page(
        request, "accounts/settings/settings.html", {"form": ProfileForm(initial={"name": me.name, "bio": bio})}
    )


def _edit_profile(request: RetwisRequest) -> HttpResponse:
    try:
        me = request.viewer.require_user()
    except NotSignedIn:
        text = _("Nothing was saved. Log in in another window, then send this form again.")
        return error_page(request, 403, _("You are logged out"), text, kept_fields(request))
    form = ProfileForm(request.POST)
    if not form.is_valid():
        return form_page(request, "accounts/settings/settings.html", {"form": form}, status=422)
    RateLimits(connect()).count(EDITS, str(me.uid))
    NameIndex(connect()).edit(me, form.cleaned_data["name"], form.cleaned_data["bio"])
    messages.success(request, _("Saved."))
    return redirect("settings")


@open_to_frozen
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_store
def password(request: RetwisRequest, me: User) -> HttpResponse:
    """Change the password, and end every other session."""
    if request.method != "POST":
        form = PasswordForm(request=request, username=me.username)
        return form_page(request, "accounts/settings/password.html", {"form": form})
    RateLimits(connect()).count(PASSWORD_FORMS, str(me.uid))
    form = PasswordForm(request.POST, request=request, username=me.username)
    if not form.is_valid():
        return form_page(request, "accounts/settings/password.html", {"form": form}, status=422)
    generation = Sessions(connect()).change_password(me.uid, make_password(form.cleaned_data["password1"]))
    log_account_event(request, "changed the password", me)
    messages.success(request, _("Your password was changed. All your other devices are logged out."))
    return begin_session(request, Verified(me, generation), "/")


@open_to_frozen
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_store
def delete_account(request: RetwisRequest, me: User) -> HttpResponse:
    """Delete the account for good, and remove every personal cookie from the browser."""
    if request.method != "POST":
        form = PresentPasswordForm(request=request, username=me.username)
        return form_page(request, "accounts/settings/delete.html", {"form": form})
    RateLimits(connect()).count(PASSWORD_FORMS, str(me.uid))
    form = PresentPasswordForm(request.POST, request=request, username=me.username)
    if not form.is_valid():
        return form_page(request, "accounts/settings/delete.html", {"form": form}, status=422)
    if request.viewer.role is not Role.MEMBER and not _without_role(request, me):
        form.add_error(None, str(LastAdmin.message))
        return form_page(request, "accounts/settings/delete.html", {"form": form, "is_last_admin": True}, status=422)
    AccountDeletion(connect()).delete(me, request.viewer.secret)
    log_account_event(request, "deleted the account", me)
    messages.success(request, _("Your account was deleted."))
    response = redirect("home")
    take_back_all(response)
    return response


def _without_role(request: RetwisRequest, me: User) -> bool:
    """Take the role of a user who goes. Returns False for the only admin, who has not been warned yet."""
    try:
        Roles(connect()).give(me.uid, Role.MEMBER, me.uid)
    except LastAdmin:
        return bool(request.POST.get("last_admin"))
    return True


@open_to_frozen
@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def appearance(request: RetwisRequest) -> HttpResponse:
    """Light, dark or like the system. A cookie keeps it, so it is the choice of one browser and of no account."""
    present = theme_of(request) or AppearanceForm.SYSTEM
    return _choice(request, "accounts/settings/appearance.html", AppearanceForm, "theme", present, keep_theme)


@open_to_frozen
@require_http_methods(["GET", "HEAD", "POST"])
@never_store
def language(request: RetwisRequest) -> HttpResponse:
    """The language of one browser. For a signed-in user, also the language of the browser of each later login."""

    def keep(response: HttpResponse, code: str) -> None:
        if request.user.is_authenticated:
            Users(connect()).choose_language(request.viewer.require_user().uid, code)
        keep_language(response, code)

    return _choice(request, "accounts/settings/language.html", LanguageForm, "language", get_language(), keep)


def _choice(
    request: RetwisRequest,
    template: str,
    form_class: type[Form],
    field: str,
    present: str | None,
    keep: Callable[[HttpResponse, str], None],
) -> HttpResponse:
    """A page with one choice. Saving it redirects to the page that led here."""
    if request.method != "POST":
        form = form_class(initial={field: present})
        return form_page(request, template, {"form": form, "field": form[field], "next": page_of_form(request)})
    form = form_class(request.POST)
    after = own_page(request, request.POST.get("next", ""))
    if not form.is_valid():
        return form_page(request, template, {"form": form, "field": form[field], "next": after}, status=422)
    response = HttpResponseRedirect(after)
    keep(response, form.cleaned_data[field])
    return response


# ---- Addresses


urlpatterns = [
    path("settings/", profile_settings, name="settings"),
    path("settings/password/", password, name="password"),
    path("settings/appearance/", appearance, name="appearance"),
    path("settings/language/", language, name="language"),
    path("settings/sessions/", sessions.sessions, name="sessions"),
    path("settings/sessions/everywhere/", sessions.log_out_everywhere, name="log_out_everywhere"),
    path("settings/delete/", delete_account, name="delete_account"),
]
