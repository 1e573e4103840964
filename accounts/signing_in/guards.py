"""Decorators that restrict a view to POST, to users or to staff, or to those who have just shown a second factor, and
where a request may be redirected to."""

import logging
from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import unquote, urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token
from django.urls import Resolver404, ResolverMatch, get_script_prefix, resolve, reverse
from django.utils.cache import patch_cache_control
from django.utils.http import MAX_URL_LENGTH, url_has_allowed_host_and_scheme
from django.utils.translation import activate, gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.signing_in import factors
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.entities import device_of
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.entities import AccountFrozen, Role, User, Verified
from retwis_site.features import features
from retwis_site.http import cookies
from retwis_site.http.client_ip import client_address
from retwis_site.http.language import CODES
from retwis_site.http.security_headers import KEPT, OPENER
from retwis_site.rendering.pages import error_page, has_text, kept_fields, page_of_exception
from retwis_site.store.client import connect, trip

P = ParamSpec("P")
UserView = Callable[Concatenate[RetwisRequest, User, P], HttpResponseBase]
Guarded = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
V = TypeVar("V", bound=Callable[..., HttpResponseBase])

# ---- Marks of views. An attribute of the function says it to whom it concerns.


def marked(view: V, mark: str, says: object = True) -> V:
    setattr(view, mark, says)
    return view


def has_mark(request: HttpRequest, mark: str) -> bool:
    """Whether the view of this request has a mark."""
    return request.resolver_match is not None and hasattr(request.resolver_match.func, mark)


def change(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Marks a view that changes something. It answers POST alone, so `page_of_form` never returns its address."""
    return marked(require_POST(view), "is_change")


def open_to_frozen(view: V) -> V:
    """Marks a view whose POST a frozen user may send: it changes nothing that others see."""
    return marked(view, "open_to_frozen")


def for_acting(view: V) -> V:
    """Marks a view whose page is one form that a frozen user may not send: they read so before they fill it in."""
    return marked(view, "for_acting")


def gives_file(view: V) -> V:
    """Marks a view that answers with a file, which is no page to come back to."""
    return marked(view, "gives_file")


never_store = cache_control(private=True, no_store=True)

for_forms = require_http_methods(["GET", "HEAD", "POST"])


def for_own_forms(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Marks a view of a form about what is the viewer's own. No cache stores its pages."""
    return for_forms(never_store(view))


def for_secrets(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Marks a view that is sent passwords, codes or the like. No error report shows what was typed, and an error page
    keeps the declared fields alone."""
    return marked(sensitive_post_parameters()(view), "has_secrets")


def keeps_opener(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """A view that may stand on the way to the consent of an app, or is that. So may its error pages."""

    def keeping(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        request = cast(HttpRequest, args[0])
        try:
            response = view(*args, **kwargs)
        except Exception as error:
            page = page_of_exception(request, error)
            if page is None:
                raise
            _keep_opener(page, request.path)
            response = page
        _keep_opener(response, page_after(request))
        return response

    return update_wrapper(keeping, view)


def _keep_opener(response: HttpResponseBase, after: str) -> None:
    if after.partition("?")[0].rstrip("/") == reverse("oauth_authorize"):
        response[OPENER] = KEPT


def for_passwords(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Marks a view of a form of one's own with secrets, which a frozen user may send."""
    return open_to_frozen(for_secrets(for_own_forms(view)))


def _giving_user(view: UserView[P], guard: Callable[[RetwisRequest], User | HttpResponseBase]) -> Guarded[P]:
    """Gives the view the user that `guard` returns, after the request. A response of `guard` is the answer instead."""

    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        retwis_request = cast(RetwisRequest, request)
        found = guard(retwis_request)
        return view(retwis_request, found, *args, **kwargs) if isinstance(found, User) else found

    return update_wrapper(guarded, view)


def login_required(view: UserView[P]) -> Guarded[P]:
    """Gives the view the signed-in user, after the request. Raises NotSignedIn. Round trips as for `request.user`."""
    return _giving_user(view, lambda request: request.viewer.require_user())


def user_change(view: UserView[P]) -> Guarded[P]:
    """Marks a view with which a signed-in user changes something: a `change`, and `login_required`."""
    return change(login_required(view))


def staff_required(view: UserView[P]) -> Guarded[P]:
    """Gives the view the signed-in moderator or admin, after the request. For everyone else the address does not exist:
    404, with any method, so it stands above `require_safe` and the like. Only a form that is sent after a logout keeps
    its text, as all do. No cache stores the answer. Where the site requires a second factor of staff, a viewer without
    one is led to the page where it can be added. Round trips as for `request.user`. Raises NotSignedIn; AccountFrozen
    for a frozen moderator."""
    return _only({Role.MODERATOR, Role.ADMIN}, view)


def admin_required(view: UserView[P]) -> Guarded[P]:
    """Like `staff_required`, for admins alone."""
    return _only({Role.ADMIN}, view)


def _only(roles: set[Role], view: UserView[P]) -> Guarded[P]:
    def guard(request: RetwisRequest) -> User | HttpResponseBase:
        if request.method == "POST":
            request.viewer.require_user()
        if request.viewer.checked.role not in roles:
            raise Http404
        if request.viewer.checked.is_frozen:
            raise AccountFrozen
        if request.viewer.lacks_required_factor:
            return HttpResponseRedirect(reverse("security"))
        return request.viewer.require_user()

    return marked(never_store(_giving_user(view, guard)), "for_roles", roles)


def sudo_required(view: UserView[P]) -> Guarded[P]:
    """Gives the view the signed-in user, after the request: one who has no second factor, or has shown it in the last
    ten minutes, at the login or since. Others are led to the page that asks for it, and from there back to this page. A
    form on a page of its own is opened anew then, and what was typed is not kept.

    Round trips as for `request.user`. Raises NotSignedIn.
    """

    def guard(request: RetwisRequest) -> User | HttpResponseBase:
        me, [has_factor] = request.viewer.ask_as_user(lambda pipe, me: trip(factors.ask_has_factor(pipe, me)))
        return confirm_first(request) if has_factor and not is_confirmed(request) else me

    return _giving_user(view, guard)


def is_confirmed(request: RetwisRequest) -> bool:
    """Whether this session has shown a second factor in the last ten minutes. No round trip."""
    return factors.is_confirmation(request.COOKIES.get(factors.CONFIRMED_COOKIE, ""), request.viewer.secret)


def confirm_first(request: HttpRequest) -> HttpResponseRedirect:
    """A redirect to the page that asks for the second factor, and leads back to this page."""
    is_page = not has_mark(request, "is_change") and not has_mark(request, "gives_file")
    return _redirect_on("confirm", request.get_full_path() if is_page else page_of_form(request))


def log_in_first(request: HttpRequest) -> HttpResponse:
    """What becomes of NotSignedIn: a redirect to the login page, which leads back to this page.

    A redirect cannot repeat a POST. So after a `change`, it leads to the page that has the form. What was typed into a
    form would be lost on that way: a page keeps it, with a button that sends it again.
    """
    kept = kept_fields(request) if request.method == "POST" else []
    if has_text(kept):
        text = _("Nothing was saved. Log in in another window, then send this form again.")
        return error_page(request, 403, _("You are logged out"), text, kept, login_at=reverse("login"))
    return to_login(page_of_form(request) if has_mark(request, "is_change") else request.get_full_path())


def to_login(after: str) -> HttpResponseRedirect:
    """A redirect to the login page, which leads on to `after`. No cache stores it, as it stores no page of these."""
    return _redirect_on("login", after)


def _redirect_on(view: str, after: str) -> HttpResponseRedirect:
    response = HttpResponseRedirect(_with_next(view, after))
    patch_cache_control(response, private=True, no_store=True)
    _keep_opener(response, after)
    return response


def leading_on(view: str, after: str) -> str:
    """The address of a page that leads on to `after`. By itself it leads to home."""
    return reverse(view) if after == reverse("home") else _with_next(view, after)


def _with_next(view: str, after: str) -> str:
    return f"{reverse(view)}?{urlencode({'next': after})}"


def page_after(request: HttpRequest) -> str:
    """Where a page leads on to, by the field `next` of its form or of its address; home without one."""
    return own_page(request, (request.POST if request.method == "POST" else request.GET).get("next", ""))


def page_of_form(request: HttpRequest) -> str:
    """The path and query of this site's page that has the form, from the Referer header; home when that is unknown. A
    form on a page of its own says in the field `next` which page has led there.

    A form with an error is shown at the address of a `change`. That address answers no GET, so home is returned.
    """
    named = request.POST.get("next", "")
    address = named or request.META.get("HTTP_REFERER", "")
    if len(address) > MAX_URL_LENGTH:  # urlsplit brings a host into a normal form, see `names.LONGEST_LINE`
        return reverse("home")
    try:
        parts = urlsplit(address)
        view = match_of(parts.path).func
    except (Resolver404, ValueError):  # the header may hold anything
        return reverse("home")
    if parts.netloc != ("" if named else request.get_host()):
        return reverse("home")
    if getattr(view, "is_change", False):
        return reverse("home")
    return own_page(request, f"{parts.path}?{parts.query}" if parts.query else parts.path)


def match_of(address: str) -> ResolverMatch:
    """The view to which a path of this site leads, with or without a query. Raises Resolver404."""
    path, top = unquote(address.partition("?")[0]), get_script_prefix()
    if not path.startswith(top):
        raise Resolver404({"path": path})
    return resolve(f"/{path.removeprefix(top)}")


def own_page(request: HttpRequest, address: str) -> str:
    """The address when it is a path of this site, else that of home."""
    is_safe = url_has_allowed_host_and_scheme(address, allowed_hosts=None, require_https=request.is_secure())
    is_path = address.startswith(get_script_prefix()) and not address.startswith("//")
    return address if is_safe and is_path else reverse("home")


# ---- Responses that begin or end a session in the browser, and their lines in the log.


logger = logging.getLogger("retwis.accounts")

COOKIE_LIVES = 365 * 24 * 3600  # seconds
# After a session, the browser has it until no page is left that a process kept before (`pages.kept_for_visitors`).
# So what its user has just seen does not vanish. Nothing reads it: a browser with it gets no kept page.
ENDED_COOKIE = f"{settings.COOKIE_PREFIX}ended"
ENDED_LIVES = 2  # seconds
SESSION_ENDED = "ended"  # a class of the message, by which the script knows that it has to forget what was typed


def log_account_event(request: RetwisRequest, what: str, user: User) -> None:
    """Log what happened to an account, and from which address."""
    logger.info("user %d %s from %s", user.uid, what, client_address(request))


def begin_session(request: RetwisRequest, verified: Verified, after: str) -> HttpResponse:
    """Open a session for this browser. Returns a redirect to `after`, with the sign-in cookie. Round trips and errors
    of `Sessions.open`."""
    secret = Sessions(connect()).open(verified, device_of(request.headers.get("User-Agent", "")))
    rotate_token(request)
    response = HttpResponseRedirect(after)
    cookies.keep(response, settings.AUTH_COOKIE, secret, COOKIE_LIVES)
    for feature in features():
        if feature.after_login is not None:
            feature.after_login(request, response, verified.user.uid)
    return response


def begin_second_step(verified: Verified, after: str) -> HttpResponse:
    """Lead this browser from the password to the second factor, and from there to `after`. It has no session yet."""
    pending = factors.Pending(verified.user.uid, verified.generation, verified.digest, verified.language)
    response = _redirect_on("second_step", after)
    cookies.keep(response, factors.PENDING_COOKIE, pending.signed(), factors.PENDING_LIVES)
    return response


def log_in(request: RetwisRequest, verified: Verified, after: str) -> HttpResponse:
    """Like `begin_session`, of a login: in the language of the account, with a greeting. Each way but the password
    alone has shown a second factor just now."""
    response = begin_session(request, verified, after)
    if verified.way:
        note_confirmation(response, response.cookies[settings.AUTH_COOKIE].value)
        cookies.take_back(response, factors.PENDING_COOKIE)
    if verified.language in CODES:
        activate(verified.language)
        cookies.keep_choice(response, settings.LANGUAGE_COOKIE_NAME, verified.language)
    text = _("Welcome, %(name)s!") if verified.is_new else _("Welcome back, %(name)s.")
    messages.success(request, text % {"name": verified.user.username})
    log_account_event(request, "logged in", verified.user)
    return response


def note_confirmation(response: HttpResponse, secret: str) -> None:
    """Let the browser keep that the session with this secret has shown a second factor now."""
    cookies.keep(response, factors.CONFIRMED_COOKIE, factors.confirmation(secret), factors.CONFIRMED_FOR)


def said_at_login(request: RetwisRequest) -> list[str]:
    """What waits in the browser's cookies for the user who logs in, in sentences."""
    return [str(cookie.at_login) for cookie in _personal() if cookie.at_login and cookie.name in request.COOKIES]


def logged_out(request: HttpRequest, said: str) -> HttpResponse:
    """A redirect to the home page, which begins with what is said, without the cookies that end with a session."""
    messages.success(request, said, extra_tags=SESSION_ENDED)
    response = HttpResponseRedirect(reverse("home"))
    for cookie in _personal():
        if not cookie.outlives_logout:
            cookies.take_back(response, cookie.name)
    cookies.keep(response, ENDED_COOKIE, "1", ENDED_LIVES)
    return response


def take_back_all(response: HttpResponse) -> None:
    """Remove every cookie about the user."""
    for cookie in _personal():
        cookies.take_back(response, cookie.name)


def _personal() -> list[cookies.PersonalCookie]:
    return [cookie for feature in features() for cookie in feature.cookies]
