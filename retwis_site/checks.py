"""System checks: `manage.py check`, and with `--deploy` what the server keeps and what it may throw away."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from retwis_site.exceptions import StoreError
from retwis_site.maintenance.server_advice import advice
from retwis_site.store.client import connect
from retwis_site.store.connection import topology


@register("store")
def store_is_named(**kwargs: Any) -> list[CheckMessage]:
    """Whether the settings say where the store is. No round trip."""
    try:
        topology.transport({})
    except ImproperlyConfigured as error:
        return [Error(str(error), id="retwis.E001")]
    return []


@register("security", deploy=True)
def sign_in_cookie_is_safe(**kwargs: Any) -> list[CheckMessage]:
    """Django's own checks know of its sessions alone; who is signed in here is told by a cookie of ours."""
    messages: list[CheckMessage] = []
    if not settings.HTTPS:
        hint = "Serve the site over HTTPS and set HTTPS=1."
        text = f"The sign-in cookie `{settings.AUTH_COOKIE}` travels unencrypted, where others can take it."
        messages.append(Warning(text, hint=hint, id="retwis.W005"))
    if settings.HTTPS and not settings.AUTH_COOKIE.startswith("__Host-"):
        hint = "Let its name begin with __Host-, as retwis_site/settings.py has it."
        text = f"Another host of the domain could set the sign-in cookie `{settings.AUTH_COOKIE}`."
        messages.append(Error(text, hint=hint, id="retwis.E002"))
    return messages


@register("store", deploy=True)
def server_keeps_what_it_is_given(**kwargs: Any) -> list[CheckMessage]:
    """One round trip to each server of one's own; the embedded one is started with the right settings."""
    if store_is_named():
        return []
    if not settings.REDIS_URL:
        hint = "Set REDIS_URL to a server that outlives the web processes."
        return [Warning("The embedded server is for trying out and for small sites.", hint=hint, id="retwis.W001")]
    try:
        return [Warning(one.text, hint=one.hint, id=one.id) for one in advice(connect())]
    except StoreError as error:
        return [Warning(f"The server could not be asked what it keeps: {error}", id="retwis.W002")]
