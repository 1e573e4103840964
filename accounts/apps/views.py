"""The page on which a user allows an app something, the endpoints of OAuth 2, and the settings of one's apps.

https://docs.joinmastodon.org/methods/oauth/
"""

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from authlib.oauth2 import OAuth2Error
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.apps.feature import CONSENTS, NEW_TOKENS
from accounts.apps.oauth import BASIC, IN_BODY, Client, answer_of, server
from accounts.apps.repository import OUT_OF_BAND, App, Apps, Granting, Tokens, granting_of
from accounts.signing_in import guards
from accounts.signing_in.forms import PresentPasswordForm
from accounts.signing_in.html import done, form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.repository import Sessions, stored_of
from accounts.signing_in.tokens import SCOPES, TOKENS, Token, in_words
from accounts.users.entities import User
from retwis_site.http.apps import Unreadable, json_response
from retwis_site.http.client_ip import client_address
from retwis_site.http.security_headers import OF_CONSENT
from retwis_site.rendering.dates import Moment, moment
from retwis_site.rendering.fragments import active_language
from retwis_site.rendering.pages import error_page, origin_of
from retwis_site.store.client import connect

# ---- The consent of a user


@guards.for_passwords
@guards.keeps_opener
def authorize(request: RetwisRequest) -> HttpResponse:
    """Shows what an app asks for; a POST with `allow` gives it a code. Only a button leads to the app, and only to an
    address that it has registered: anybody may register one, so an error that led there would lead anywhere. Visitors
    log in first, and come back; so do those who have a second factor and have not shown it for ten minutes.

    An error page keeps no button of it, and so leads here again: a form there may not lead to the app.
    """
    me, granting, has_factor = granting_of(request.viewer)
    try:
        grant = server.get_consent_grant(request, me)
    except (OAuth2Error, ValueError, Unreadable):  # the last two: what Authlib cannot read
        text = _("The app has asked in a way that this site does not understand, or it is not known here any more.")
        return error_page(request, 400, _("This app cannot be allowed"), text)
    if "switch" in request.POST:
        return _as_somebody_else(request, me)
    if "deny" in request.POST:
        return _sent_back(request, grant, None)
    if has_factor and not guards.is_confirmed(request):
        return guards.confirm_first(request)
    form = _password_form(request, me)
    if "allow" in request.POST and (form is None or form.is_valid()):
        CONSENTS.count(connect(), me.uid)
        guards.log_account_event(request, "allowed an app", me)
        return _sent_back(request, grant, granting)
    return _consent_page(request, grant, form)


def _password_form(request: RetwisRequest, me: User) -> PresentPasswordForm | None:
    """What a user must show once more before an app is allowed something; None when the session is enough. An app asks
    for it with `force_login`."""
    if request.GET.get("force_login", "").lower() not in {"true", "1"}:
        return None
    shown = request.POST if "allow" in request.POST else None
    return PresentPasswordForm(shown, request=request, username=me.username)


def _consent_page(request: RetwisRequest, grant: Any, form: PresentPasswordForm | None) -> HttpResponse:
    client: Client = grant.request.client
    place = _place_of(grant.redirect_uri)
    context = {
        "app": client.app,
        "website": _shown_website(client.app),
        "allowed": in_words(grant.request.scope.split()),
        "place": place,
        "form": form,
        "address": request.get_full_path(),
    }
    response = form_page(request, "accounts/apps/consent.html", context)
    return _with_headers_of_consent(response) if place else response


def _with_headers_of_consent(response: HttpResponse) -> HttpResponse:
    for name, value in OF_CONSENT.items():
        response[name] = value
    return response


def _place_of(redirect_uri: str) -> str:
    """Where a redirect URI leads, as an origin or a scheme; empty for a code that is typed into the app."""
    parts = urlsplit(redirect_uri)
    if redirect_uri == OUT_OF_BAND:
        return ""
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def _shown_website(app: App) -> str:
    """The address of its site, if a link may lead there."""
    return app.website if app.website.startswith(("https://", "http://")) else ""


def _sent_back(request: RetwisRequest, grant: Any, granting: Granting | None) -> HttpResponse:
    """Back to the app, with a code or an error; or a page, for an app without an address."""
    if grant.redirect_uri != OUT_OF_BAND:
        answer: HttpResponse = server.create_authorization_response(request, granting, grant)
        # The address as the app has registered it: Authlib has lost the slashes of `icecubesapp://`.
        answer["Location"] = f"{grant.redirect_uri.partition('?')[0]}?{answer['Location'].partition('?')[2]}"
        return _with_headers_of_consent(answer)
    if granting is None:
        return done(request, _("The app was not allowed to use your account."), "home")
    grant.request.user = granting
    context = {"app": grant.request.client.app, "code": grant.generate_authorization_code()}
    return form_page(request, "accounts/apps/code.html", context)


def _as_somebody_else(request: RetwisRequest, me: User) -> HttpResponse:
    """Ends the session, and comes back here with another one."""
    Sessions(connect()).end(me.uid, request.viewer.secret)
    guards.log_account_event(request, "logged out", me)
    response = guards.logged_out(request, _("You are logged out."))
    for name, value in guards.to_login(request.get_full_path()).items():
        response[name] = value
    return response


# ---- What apps ask


@csrf_exempt
@require_POST
@guards.never_store
def token(request: RetwisRequest) -> HttpResponse:
    """A token for a code, or for no user. Errors are `{error, error_description}`."""
    NEW_TOKENS.count(connect(), client_address(request))
    return answer_of(request, server.create_token_response)


@csrf_exempt
@require_POST
@guards.never_store
def revoke(request: RetwisRequest) -> HttpResponse:
    """Ends a token, if it is one of the app that asks."""
    return answer_of(request, lambda asked: server.create_endpoint_response("revocation", asked))


@require_safe
def metadata(request: HttpRequest) -> HttpResponse:
    """RFC 8414."""
    origin = origin_of(request)
    methods = [BASIC, IN_BODY]
    return json_response(
        {
            "issuer": origin + reverse("home"),
            "authorization_endpoint": origin + reverse("oauth_authorize"),
            "token_endpoint": origin + reverse("oauth_token"),
            "revocation_endpoint": origin + reverse("oauth_revoke"),
            "app_registration_endpoint": f"{origin}{reverse('home')}api/v1/apps",
            "scopes_supported": [*SCOPES],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "client_credentials"],
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_methods_supported": methods,
            "code_challenge_methods_supported": ["S256"],
        }
    )


# ---- The page of one's apps, and ending what they may do


ALL = "all"  # in place of a token's number


class AppRow(NamedTuple):
    number: str  # of the token
    name: str
    website: str
    allowed: list[Promise]
    since: Moment
    used: Moment


@guards.open_to_frozen
@guards.for_own_forms
def apps(request: RetwisRequest) -> HttpResponse:
    """What apps may do for the user. A POST with `revoke`, the number of a token or ALL, ends that."""
    me, stored = stored_of(request.viewer)
    if request.method != "POST":
        found = TOKENS.standing_in(stored).values()
        known = Apps(connect()).find_all({token.app for token in found})
        rows = [_row(token, known.get(token.app), active_language()) for token in found]
        return form_page(request, "accounts/apps/apps.html", {"rows": rows})
    CONSENTS.count(connect(), me.uid)
    which = request.POST.get("revoke", "")
    Tokens(connect()).end_some(me.uid, lambda token: which in (ALL, _number(token)))
    guards.log_account_event(request, "removed an app", me)
    text = _("No app can use your account now.") if which == ALL else _("The app can no longer use your account.")
    return done(request, text, "apps")


def _number(token: Token) -> str:
    return token.digest[:16]


def _row(token: Token, app: App | None, language: str) -> AppRow:
    return AppRow(
        _number(token),
        app.name if app else _("Unknown app"),
        _shown_website(app) if app else "",
        in_words(token.scopes),
        moment(token.since, language),
        moment(max(token.since, token.used), language),  # an hour may have begun before the token
    )


# ---- Addresses


_OF_APPS = {  # with and without a last slash
    "oauth/authorize": (authorize, "oauth_authorize"),
    "oauth/token": (token, "oauth_token"),
    "oauth/revoke": (revoke, "oauth_revoke"),
    ".well-known/oauth-authorization-server": (metadata, "oauth_metadata"),
}
urlpatterns = [
    path("settings/apps/", apps, name="apps"),
    *(path(address, view, name=name) for address, (view, name) in _OF_APPS.items()),
    *(path(f"{address}/", view, name=f"{name}_with_slash") for address, (view, name) in _OF_APPS.items()),
]
