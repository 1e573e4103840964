"""Pages that are rendered for one request: forms with what was typed, and errors. Other pages are fragments.

`base.html` is the frame of both kinds, so both give it the same names.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.messages import get_messages
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template import loader
from django.urls import Resolver404, ResolverMatch, resolve, reverse
from django.utils.cache import get_conditional_response, patch_vary_headers, set_response_etag
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _, ngettext

from retwis_site.exceptions import (
    BadCursor,
    Gone,
    NoRoom,
    NotFound,
    NotShown,
    StoreError,
    StoreReadOnly,
    TooOften,
    WrongClock,
)
from retwis_site.features import features, frame_of_errors, is_upload
from retwis_site.http import apps, cookies
from retwis_site.http.client_ip import client_address
from retwis_site.http.cookies import csrf_token
from retwis_site.http.form_fields import FormField
from retwis_site.http.language import headers_in
from retwis_site.identity import Site, known_site
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, active_language, joined
from retwis_site.store.local_cache import Memory
from retwis_site.telemetry.log_lines import current_request_id, logged_path
from retwis_site.telemetry.middleware import FAILURE, Failure

# ---- The theme that a visitor chose, stored in a cookie.


THEMES = ("light", "dark")
THEME_COOKIE = f"{settings.COOKIE_PREFIX}theme"


def theme_of(request: HttpRequest) -> str:
    """The choice: `light` or `dark`; empty for the theme of the visitor's system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


# ---- Whether the keys of the script, such as `j` for the next post, are on. A cookie says that they are off.


SHORTCUTS_COOKIE = f"{settings.COOKIE_PREFIX}shortcuts"
OFF = "off"


def shortcuts_of(request: HttpRequest) -> str:
    """`on` or `off`, as the page tells the script."""
    return OFF if request.COOKIES.get(SHORTCUTS_COOKIE) == OFF else "on"


# ---- Pages


HTML = f"text/html; charset={settings.DEFAULT_CHARSET}"
MESSAGE = Fragment("retwis_site/_message.html")


def page(request: HttpRequest, template: str, context: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """A page that is rendered now. Its template has the context, `request`, and what `base.html` needs: `here` (the
    name of the view), `theme`, `shortcuts`, `messages`, `csrf_token`, and what `of_site` gives."""
    around = {
        "request": request,
        "here": request.resolver_match.view_name if request.resolver_match else "",
        "theme": theme_of(request),
        "shortcuts": shortcuts_of(request),
        "messages": messages(request),
        "title_number": NOTHING,
        "banner": NOTHING,
        **of_site(known_site()),
        "csrf_token": SimpleLazyObject(lambda: csrf_token(request)),  # a page without a form sets no cookie
    }
    return html_response(loader.render_to_string(template, {**around, **context}).encode(), active_language(), status)


def of_site(site: Site) -> dict[str, str]:
    """The site's own words in the frame. The announcement is empty: who sees one is up to the pages of accounts."""
    return {"site_name": site.name, "tagline": site.shown_tagline, "colour": site.colour, "announcement": NOTHING}


def html_response(html: bytes, language: str, status: int = 200) -> HttpResponse:
    """A response with this page, which is in `language`."""
    response = HttpResponse(html, HTML, status)
    response.headers._store.update(headers_in(language)._store)
    return response


def messages(request: HttpRequest) -> Html:
    """The messages for this page ("Posted."), as HTML. Then they count as shown."""
    if not cookies.may_have_messages(request):
        return NOTHING
    stored, language = get_messages(request), active_language()
    if not stored:  # to go through the empty ones would set the cookie
        return NOTHING
    return joined(MESSAGE.fill(language, text=str(one), tags=one.tags or "") for one in stored)


def origin_of(request: HttpRequest) -> str:
    """The site's scheme and host in this request, such as `https://retwis.example`. Raises DisallowedHost."""
    host = getattr(request, "allowed_host", None) or request.get_host()
    return f"{request.scheme}://{host}"


def lasting_origin(request: HttpRequest) -> str:
    """The same for what is kept: as SITE_ADDRESS says it, where it is set. A client chooses among ALLOWED_HOSTS, and
    any port."""
    return settings.GIVEN_ADDRESS or origin_of(request)


# ---- Pages that a process keeps for a second, for all visitors to whom they look the same.


# What a page shows of these cookies decides under which look it is kept. A browser with any other cookie gets a page
# that is made for it.
IMPERSONAL = frozenset({THEME_COOKIE, SHORTCUTS_COOKIE, settings.LANGUAGE_COOKIE_NAME, settings.CSRF_COOKIE_NAME})


class Kept(NamedTuple):
    """A page, and what it was made of besides its look."""

    origin: str  # compared, and no part of the look: with ALLOWED_HOSTS=.example.com, a client has many
    changes: int  # of `Memory`
    html: bytes
    etag: str


# By look: path, language, theme, shortcuts. A page has some 20 KB, so all have 1 MB.
_kept: Memory[tuple[str, str, str, str], Kept] = Memory(size=40, seconds=1)


def kept_for_visitors(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view whose page is kept for visitors for one second, counted from before it was made. No round trip then. What
    this process has changed since, such as a deleted post, ends it at once.

    The view depends on nothing but the viewer, the origin and the look, and a visitor's page has no token. A kept page
    has an ETag of its content: browsers ask again each time, and get a 304 while it is the same. What the view raises,
    such as a failure of the store, is raised. Not kept: an address with a query; all pages with INSPECT, since each
    shows what it sends to the store, and with DEBUG.
    """

    @wraps(view)
    def kept_view(request: HttpRequest) -> HttpResponse:
        is_impersonal = IMPERSONAL.issuperset(request.COOKIES) and not cookies.may_have_messages(request)
        if settings.INSPECT or settings.DEBUG or request.META.get("QUERY_STRING") or not is_impersonal:
            return view(request)
        language, made_of = active_language(), (origin_of(request), Memory.changes)
        look = (request.path, language, theme_of(request), shortcuts_of(request))
        kept = _kept.get(look)
        if kept is None or kept[:2] != made_of:
            until = _kept.ends()
            made = view(request)
            if made.status_code != 200 or made.cookies:
                return made
            set_response_etag(made)
            kept = _kept.put_until(look, Kept(*made_of, made.content, made["ETag"]), until)
        response = html_response(kept.html, language)
        response["ETag"], response["Cache-Control"] = kept.etag, "no-cache"
        return get_conditional_response(request, kept.etag, None, response) or response

    return kept_view


# ---- Error pages: each says what is wrong and, for a form, shows the typed text again.
#
# They never load the user: that needs the store, which may be what failed. What a process knows of a member without it
# is their frame (`frame_of_errors`).


logger = logging.getLogger("retwis.store")
security = logging.getLogger("retwis.security")

RETRY_AFTER = 5  # seconds
RECORD_NOT_FOUND = "Record not found"  # apps compare it
# What the frame shows of a viewer. A template logs a name that it lacks, with the exception that led to the page.
FRAME_OF_NOBODY = {"signed_in": False, "can_register": False, "session": "", "title_number": "", "here": ""}

# ---- The fields of a form that failed. Its error page sends them again, so that nothing is lost.
#
# All of them: one that were missing would make it another act. A form with secrets comes back with its declared fields
# alone. A form from another site has no button that sends it (`_is_foreign`): that site may have invented it.


# The page has its own token; and a password is none of a form that does not ask for it.
NOT_KEPT = {"csrfmiddlewaretoken", "password", "password1", "password2"}


@dataclass(frozen=True)
class KeptField:
    """A field and its text; the text of a password is empty."""

    field: FormField
    value: str


def kept_fields(request: HttpRequest) -> list[KeptField]:
    """What the request has of its form, in the order of the form. No round trip."""
    return kept_of(request, request.POST)


def kept_of(request: HttpRequest, typed: QueryDict) -> list[KeptField]:
    """The same of what was typed into the form at the request's address. A field that is not shown may have several
    values. Fields that had files come last and empty: a page cannot choose a file."""
    form = _form_of(request)
    if form is None:
        return []
    declared = {one.name: one for feature in features() for one in feature.form_fields.get(form.url_name or "", ())}
    has_secrets = getattr(form.func, "has_secrets", False)
    files = {one.name: KeptField(one, "") for one in declared.values() if one.kind in ("file", "files")}
    given = [kept for name, kept in files.items() if name not in typed]  # browsers send an empty text for no file
    kept = [
        KeptField(field, "" if field.kind == "password" else text.rstrip("\N{REPLACEMENT CHARACTER}"))
        for field in (declared.get(name) or FormField(name, "hidden") for name in typed if name not in files)
        if field.name in declared or not (has_secrets or field.name in NOT_KEPT)
        for text in typed.getlist(field.name)[0 if field.kind == "hidden" else -1 :]
    ]
    return kept + given if is_upload(request.META) else kept


def has_text(kept: Sequence[KeptField]) -> bool:
    """Whether a person has typed some of it. All else is quickly chosen anew, on a page that shows who is logged in."""
    return any(one.field.kind in ("text", "textarea") for one in kept)


def _form_of(request: HttpRequest) -> ResolverMatch | None:
    """The view of the form's address; a form that is refused at once has not been resolved yet."""
    try:
        return request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return None


def _way_back(request: HttpRequest, kept: Sequence[KeptField]) -> list[KeptField]:
    """The field `next` of a change, with the page that had its form. Sent from the error page, the form would lead back
    to that."""
    form, site, page = _form_of(request), origin_of(request), request.META.get("HTTP_REFERER", "")
    is_change = form is not None and getattr(form.func, "is_change", False)
    if not is_change or any(one.field.name == "next" for one in kept) or not page.startswith(f"{site}/"):
        return []
    return [KeptField(FormField("next", "hidden"), page.removeprefix(site))]


# ---- What is wrong, as a page


def error_page(
    request: HttpRequest,
    status: int,
    title: str,
    text: str,
    kept: list[KeptField] | None = None,
    undone_at: str = "",
    login_at: str = "",
) -> HttpResponse:
    """A page that says what is wrong. With `kept` it has a form that sends these fields again, and no cache keeps it.
    What is gone takes no form any more, so a 410 shows the texts among them, to copy.
    `undone_at`: the address of a page on which the viewer can change that. `login_at`: that of the login, beside the
    form. Apps get JSON with the text."""
    if apps.is_of_app(request):
        return apps.refusal(status, text)
    has_form = (bool(kept) and status != 410) or (status == 503 and request.method == "POST")
    fields = [*(kept or []), *(_way_back(request, kept or []) if has_form else [])]
    context = {"status": status, "title": title, "text": text, "kept": fields, "has_form": has_form}
    context |= {"foreign": _is_foreign(request), "uploads": is_upload(request.META)}
    context |= {"request_id": current_request_id(), "undone_at": undone_at, "login_at": login_at}
    frame = frame_of_errors(request)
    answer = page(request, "retwis_site/error.html", {**FRAME_OF_NOBODY, **frame, **context}, status=status)
    if frame:
        patch_vary_headers(answer, ["Cookie"])
    if frame or kept:
        answer["Cache-Control"] = "private, no-store"
    return answer


def _is_foreign(request: HttpRequest) -> bool:
    """Whether another site may have sent this form. Then the page has no button that posts it. Old browsers send no
    Origin: then the Referer says it, and where a browser hides that too, whether the form had the token."""
    if request.method != "POST":
        return False
    sender = request.headers.get("Origin") or request.headers.get("Referer")
    if not sender:
        return not getattr(request, "csrf_processing_done", False)
    try:
        own = (*settings.CSRF_TRUSTED_ORIGINS, origin_of(request))
    except DisallowedHost:
        return True
    return not f"{sender}/".startswith(tuple(f"{origin}/" for origin in own))


def page_of_exception(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    """The page for a repository's exception; None for any other."""
    if isinstance(exception, StoreError):
        return store_failure(request, exception)
    if isinstance(exception, TooOften):
        return too_often(request, exception)
    if isinstance(exception, NoRoom):
        return no_room(request, exception)
    if isinstance(exception, NotFound):
        return not_found(request, exception)
    if isinstance(exception, Gone):
        return error_page(request, 410, str(exception.title), str(exception.message), kept_fields(request))
    if isinstance(exception, NotShown):
        match, undone_at = request.resolver_match, ""
        if exception.undone_at and match:
            undone_at = reverse(exception.undone_at, args=[match.kwargs["username"]])
        return error_page(request, 403, _("Not shown"), str(exception.message), undone_at=undone_at)
    if isinstance(exception, BadCursor):
        return error_page(request, 400, _("Invalid address"), _("This list has no page at this address."))
    return None


def not_a_page(request: HttpRequest, allowed: str) -> HttpResponse:
    """405. `allowed`: the methods that the address takes."""
    text = _("This address only accepts forms. It cannot be opened as a page.")
    if apps.is_of_app(request):
        text = "This method is not allowed here"
    answer = error_page(request, 405, _("This is not a page"), text)
    answer["Allow"] = allowed
    return answer


def store_failure(request: HttpRequest, exception: StoreError) -> HttpResponse:
    """503: the site knows nothing, so it claims nothing. The page has the typed text and its token, to send again."""
    logger.error("%s %s: %s", request.method, logged_path(request), exception)
    failure: Failure = "store"
    text = _("The site cannot reach its database right now. Nothing is lost. Try again in a few seconds.")
    if isinstance(exception, StoreReadOnly | WrongClock):
        failure = "read-only"
        text = _("The site can only be read right now, and takes no changes. Nothing is lost. Try again later.")
    return _unavailable(request, failure, _("Temporarily unavailable"), text)


def too_busy(request: HttpRequest) -> HttpResponse:
    """503: too many requests for the same work wait already."""
    log_refusal(request, "too busy")
    text = _("Too many people are doing this right now. Nothing is lost. Try again in a few seconds.")
    return _unavailable(request, "queue", _("Too busy right now"), text)


def log_refusal(request: HttpRequest, why: str) -> None:
    """Log a request that is refused, and from which address."""
    security.warning("%s %s: %s, from %s", request.method, logged_path(request), why, client_address(request))


def _unavailable(request: HttpRequest, failure: Failure, title: str, text: str) -> HttpResponse:
    request.META[FAILURE] = failure
    return _try_later(request, 503, title, text, RETRY_AFTER)


def no_room(request: HttpRequest, exception: NoRoom) -> HttpResponse:
    """503: the disk is full."""
    logger.error("%s %s: %s", request.method, logged_path(request), exception)
    text = _("The server has no room for this file right now. Nothing is lost. Try again later.")
    return _try_later(request, 503, _("Temporarily unavailable"), text, RETRY_AFTER)


def _try_later(request: HttpRequest, status: int, title: str, text: str, seconds: int) -> HttpResponse:
    answer = error_page(request, status, title, text, kept_fields(request))
    answer["Retry-After"], answer["Cache-Control"] = str(seconds), "no-store"
    return answer


def too_often(request: HttpRequest, exception: TooOften) -> HttpResponse:
    """429. Retry-After: seconds until the oldest counted action leaves the window. Then the form can be sent again."""
    log_refusal(request, f"too often, more than {exception}")
    minutes = -(-exception.retry_after // 60)
    wait = ngettext("Try again in a minute.", "Try again in %(minutes)d minutes.", minutes) % {"minutes": minutes}
    return _try_later(request, 429, _("Too many requests"), f"{exception.message} {wait}", exception.retry_after)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 400, _("Bad request"), _("The site could not understand this request."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    log_refusal(request, "not allowed")
    return error_page(request, 403, _("Not allowed"), str(exception) or _("You are not allowed to do that."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form with a wrong token: from an old page, after a login in another tab, or from another site."""
    kept = kept_fields(request)
    text = _("Nothing was saved. You logged in or out after you opened this form, or cookies are off.")
    if not has_text(kept):
        kept = []
        again = _("Go back, reload the page, and try again.")
        text = f"{text} {again}"
    return error_page(request, 403, _("Please send the form again"), text, kept)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404. Django's own exception, for an address that leads nowhere, says the same as ours."""
    message = exception.message if isinstance(exception, NotFound) else NotFound.message
    text = RECORD_NOT_FOUND if apps.is_of_app(request) else str(message)
    return error_page(request, 404, _("Page not found"), text)


def server_error(request: HttpRequest) -> HttpResponse:
    text = _("There was an error on our side. It was logged. Please try again.")
    # What has failed before the check of the token may have been the reading of the form.
    kept = kept_fields(request) if getattr(request, "csrf_processing_done", False) else []
    return error_page(request, 500, _("Something went wrong"), text, kept)
