"""Apps themselves: how one registers, and how it registers a person. https://docs.joinmastodon.org/methods/apps/"""

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib.auth.hashers import make_password
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.translation import gettext as _

from accounts.apps.feature import APPS
from accounts.apps.oauth import token_entity
from accounts.apps.repository import OUT_OF_BAND, App, Apps, Code, Tokens
from accounts.joining.joining import Joining
from accounts.signing_in.feature import REGISTRATIONS
from accounts.signing_in.forms import ApplicationForm, RegisterForm
from accounts.signing_in.guards import log_account_event
from accounts.signing_in.tokens import DEFAULT_SCOPES, OUT_OF_SCOPE, SCOPES, covers, in_order
from accounts.users.entities import NameTaken, NotSignedIn, Refused
from accounts.users.names import in_one_line
from retwis_site.http.apps import Forbidden, Invalid, bearer_of
from retwis_site.http.client_ip import client_address
from retwis_site.store.client import connect
from timeline.api.calls import Call, Endpoint

LONGEST_NAME = 60  # characters
LONGEST_ADDRESS = 2000  # also of all redirect URIs together, as Mastodon has it
# Schemes of addresses that a browser would carry out or read on its own.
REFUSED_SCHEMES = {"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source"}


def register_app(call: Call) -> dict[str, Any]:
    """A new app, with its secret, which is shown once. Raises Invalid, TooOften."""
    sent = call.sent
    name = in_one_line(sent.text("client_name") or "")
    if not name or len(name) > LONGEST_NAME:
        raise Invalid(f"Name must have 1 to {LONGEST_NAME} characters")
    website = (sent.text("website") or "").strip()
    if website and not (_is_address(website) and website.startswith(("https://", "http://"))):
        raise Invalid("Website is not a URL")
    uris = [uri for text in sent.texts("redirect_uris") for uri in text.split()]
    is_short = len(" ".join(uris)) <= LONGEST_ADDRESS
    if not uris or not is_short or not all(uri == OUT_OF_BAND or _is_address(uri) for uri in uris):
        raise Invalid("Redirect URI must be an absolute URI")
    scopes = (sent.text("scopes") or "").split() or DEFAULT_SCOPES
    if not set(SCOPES).issuperset(scopes):
        raise Invalid("Scopes doesn't match configured on the server")
    store = connect()
    APPS.count(store, client_address(call.request))
    app, secret = Apps(store).register(name, website, uris, scopes)
    return {**_application(app), "client_id": app.id, "client_secret": secret, "client_secret_expires_at": 0}


def _is_address(uri: str) -> bool:
    """Whether a browser may be sent there with a code: printable ASCII, with a scheme and something behind it, if only
    `//`, and without a fragment."""
    if len(uri) > LONGEST_ADDRESS or not uri.isascii() or not uri.isprintable() or "#" in uri or '"' in uri:
        return False
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018  raises for what is no port
    except ValueError:
        return False
    if parts.scheme in {"http", "https"}:
        return bool(parts.hostname) and "@" not in parts.netloc and not set(parts.netloc) & set(";,\\'*")
    has_more = bool(parts.netloc or parts.path) or uri.endswith("://")
    return bool(parts.scheme) and parts.scheme not in REFUSED_SCHEMES and has_more


def _application(app: App) -> dict[str, Any]:
    return {
        "id": app.id,
        "name": app.name,
        "website": app.website or None,
        "scopes": in_order(app.scopes),
        "redirect_uris": list(app.redirect_uris),
        "redirect_uri": "\n".join(app.redirect_uris),
        "vapid_key": "",
    }


def app_that_asks(call: Call) -> tuple[App, tuple[str, ...]]:
    """The app whose token was sent, be it a user's or its own, and the scopes of the token. Raises NotSignedIn."""
    viewer, token = call.viewer, bearer_of(call.request)
    own = Apps(connect()).of_own_token(token)
    if own is not None:
        return own
    viewer.require_user()
    app = Apps(connect()).find(viewer.checked.app)
    if app is None:
        raise NotSignedIn
    return app, viewer.checked.scopes


def verify_app(call: Call) -> dict[str, Any]:
    app, _ = app_that_asks(call)
    return _application(app)


# ---- Registration


def register_person(call: Call) -> dict[str, Any]:
    """A new account, by the rules of the site, and a token for it. An application that staff must approve gives no
    token yet. Raises NotSignedIn without a token of the app itself, Refusal, Invalid, TooOften."""
    own = Apps(connect()).of_own_token(bearer_of(call.request))
    if own is None:
        raise NotSignedIn
    app, scopes = own
    if not covers(scopes, "write:accounts"):
        raise Forbidden(OUT_OF_SCOPE)
    sent, site = call.sent, call.viewer.site
    code = sent.text("invite_code") or ""
    joining = Joining(connect())
    try:
        invitation = joining.check_open(site.registration, code)
    except Refused as refused:
        raise Forbidden(str(refused)) from refused
    password = sent.text("password") or ""
    typed = {"username": sent.text("username") or "", "password1": password, "password2": password}
    typed["why"] = sent.text("reason") or ""
    form = (ApplicationForm if site.registration == "approval" and invitation is None else RegisterForm)(typed)
    form.is_valid()
    if not sent.flag("agreement"):
        form.add_error(None, forms.ValidationError(_("You must agree to the rules of the site."), code="agreement"))
    if form.errors:
        raise _invalid(form)
    given = form.cleaned_data  # as the page: what was typed may have spaces around it, which the form has not judged
    name, why = given["username"], given.get("why", "")
    try:
        joining.check_name(name)  # such a refusal counts for no limit, and costs no hash
        REGISTRATIONS.count(connect(), client_address(call.request))
        user = joining.join(site.registration, name, make_password(given["password1"]), why, code)
    except Refused as refused:
        error = "ERR_TAKEN" if isinstance(refused, NameTaken) else "ERR_RESERVED"
        raise Invalid(
            f"Username: {refused}", {"username": [{"error": error, "description": str(refused)}]}
        ) from refused
    if user is None:
        raise Forbidden(_("Thank you. Log in later to see whether you can join."))
    log_account_event(call.request, "registered by an app", user)
    token = Tokens(connect()).issue(Code(user.uid, "", app.id, scopes, OUT_OF_BAND))
    return token_entity(token, scopes)


_ERRORS = {"required": "ERR_BLANK", "password_too_short": "ERR_TOO_SHORT", "agreement": "ERR_ACCEPTED"}
_FIELDS = {"password1": "password", "why": "reason", NON_FIELD_ERRORS: "agreement"}


def _invalid(form: RegisterForm) -> Invalid:
    """The errors of the form, as Mastodon tells them."""
    details: dict[str, list[dict[str, str]]] = {}
    for field, errors in form.errors.as_data().items():
        for error in errors:
            for said in error.messages:
                about = {"error": _ERRORS.get(error.code or "", "ERR_INVALID"), "description": said}
                if field != "password2":
                    details.setdefault(_FIELDS.get(field, field), []).append(about)
    sentences = [f"{field}: {one['description']}" for field, all_ in details.items() for one in all_]
    return Invalid(" ".join(sentences), details)


ENDPOINTS = (
    Endpoint("POST", "/api/v1/apps", register_app),
    Endpoint("GET", "/api/v1/apps/verify_credentials", verify_app),
    Endpoint("POST", "/api/v1/accounts", register_person),
)
