"""System checks for `manage.py check`. `--deploy` adds the sign-in cookie and the settings of the store's servers."""

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.checks.security import base, csrf
from django.core.exceptions import ImproperlyConfigured
from django.template import TemplateDoesNotExist, TemplateSyntaxError

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.features import require_right_settings
from retwis_site.maintenance.server_advice import advice, clock_advice
from retwis_site.rendering.fragments import Fragment
from retwis_site.rendering.template_names import FragmentError
from retwis_site.store.client import Store, connect
from retwis_site.store.kinds import KINDS, PREFIX

MOST_NAMED = 10  # kinds of keys in one message


@register("store")
def settings_are_right(**kwargs: Any) -> list[CheckMessage]:
    """The settings name a store, and the site starts with them. No round trip."""
    try:
        require_right_settings()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="retwis.E001")]
    return []


@register("store")
def clock_makes_ids(**kwargs: Any) -> list[CheckMessage]:
    """With POST_IDS=snowflake, ids can be made of the time that this machine tells. No round trip."""
    return [Error(one.text, hint=one.hint, id=one.id) for one in clock_advice()]


@register("templates")
def templates_can_be_filled(**kwargs: Any) -> list[CheckMessage]:
    """Each template of a fragment can be filled, with names that the code gives it. No round trip."""
    try:
        Fragment.load_all()
    except (FragmentError, TemplateSyntaxError, TemplateDoesNotExist) as error:
        return [Error(str(error), id="retwis.E003")]
    return []


@register("security")
def requests_pass_the_site(**kwargs: Any) -> list[CheckMessage]:
    """MIDDLEWARE has the site's own, of which Django's middlewares for security are parts."""
    name = "retwis_site.middleware.SiteMiddleware"
    if name in settings.MIDDLEWARE:
        return []
    hint = "Take MIDDLEWARE from retwis_site/settings.py, and add yours before or after it."
    return [Error(f"MIDDLEWARE lacks {name}: forms need no token.", hint=hint, id="retwis.E006")]


@register("security", deploy=True)
def sign_in_cookie_is_safe(**kwargs: Any) -> list[CheckMessage]:
    """Others cannot read or set the sign-in cookie. Django's own checks know only its session cookie."""
    messages: list[CheckMessage] = []
    if not settings.HTTPS:
        hint = "Serve the site over HTTPS and set HTTPS=1."
        text = f"The sign-in cookie `{settings.AUTH_COOKIE}` is sent unencrypted, so others on the network can read it."
        messages.append(Warning(text, hint=hint, id="retwis.W005"))
    if settings.HTTPS and not settings.AUTH_COOKIE.startswith("__Host-"):
        hint = "Start its name with __Host-, as in retwis_site/settings.py."
        text = f"Another host of the domain can set the sign-in cookie `{settings.AUTH_COOKIE}`."
        messages.append(Error(text, hint=hint, id="retwis.E002"))
    return messages


# Django warns of these settings only where MIDDLEWARE itself has the middleware that reads them.
_OF_PARTS = {
    "SECURE_HSTS_SECONDS": base.W004,
    "SECURE_HSTS_INCLUDE_SUBDOMAINS": base.W005,
    "SECURE_SSL_REDIRECT": base.W008,
    "SECURE_HSTS_PRELOAD": base.W021,
    "CSRF_COOKIE_SECURE": csrf.W016,
}


@register("security", deploy=True)
def parts_of_the_middleware_are_strict(**kwargs: Any) -> list[CheckMessage]:
    """A site of its own leaves on what HTTPS turns on. Without HTTPS, `sign_in_cookie_is_safe` warns."""
    return [warning for name, warning in _OF_PARTS.items() if settings.HTTPS and not getattr(settings, name)]


@register("store", deploy=True)
def server_keeps_what_it_is_given(**kwargs: Any) -> list[CheckMessage]:
    """The servers at REDIS_URL keep every key. One round trip to each. The embedded server has the right settings."""
    if settings_are_right():
        return []
    if not settings.REDIS_URL:
        hint = "Set REDIS_URL to a server that runs independently of the web processes."
        return [Warning("The embedded server is for trials and small sites.", hint=hint, id="retwis.W001")]
    try:
        return [Warning(one.text, hint=one.hint, id=one.id) for one in advice(connect()) if one.is_proven]
    except StoreError as error:
        hint = "Look whether the server at REDIS_URL runs, and whether user and password are right."
        return [Error(f"The store cannot be asked: {error}", hint=hint, id="retwis.E007")]


@register("store", deploy=True)
def user_may_touch_all_keys(**kwargs: Any) -> list[CheckMessage]:
    """The store's user has the rights of this version, for this prefix: with the `users.acl` of an older one, what is
    new fails. One round trip for each kind of key."""
    if settings_are_right() or not settings.REDIS_URL:
        return []
    try:
        refused = list(_untouchable(connect()))
    except StoreError:  # the check above tells it
        return []
    if not refused:
        return []
    more = f", and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
    text = f"The store's user may not touch these keys: {', '.join(refused[:MOST_NAMED])}{more}."
    hint = "Give it the rights of this version, in deploy/users.acl. With REDIS_KEY_PREFIX, that stands after each ~."
    return [Error(text, hint=hint, id="retwis.E008")]


def _untouchable(store: Store) -> Iterator[str]:
    """The names of the kinds of keys that the server refuses."""
    for kind in KINDS.values():
        name = f"{PREFIX}{kind.name}"
        try:
            store.ttl(re.sub("<.*?>", "1", name))  # web processes and management commands may send it, of any type
        except StoreRefused:
            yield name
