"""System checks: `manage.py check`, and with `--deploy` what the server keeps and what it may throw away."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from retwis_site.advice import advice
from retwis_site.exceptions import StoreError
from retwis_site.store import connect

TOPOLOGIES = ("server",)


@register("store")
def topology_is_known(**kwargs: Any) -> list[CheckMessage]:
    if settings.REDIS_TOPOLOGY in TOPOLOGIES:
        return []
    hint = f"Leave it out, or set it to one of: {', '.join(TOPOLOGIES)}."
    return [Error(f"REDIS_TOPOLOGY={settings.REDIS_TOPOLOGY!r} is not supported.", hint=hint, id="retwis.E001")]


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
    """One round trip to a server of one's own; the embedded one is started with the right settings."""
    if settings.REDIS_TOPOLOGY not in TOPOLOGIES:
        return []
    if not settings.REDIS_URL:
        hint = "Set REDIS_URL to a server that outlives the web processes."
        return [Warning("The embedded server is for trying out and for small sites.", hint=hint, id="retwis.W001")]
    try:
        return [Warning(one.text, hint=one.hint, id=one.id) for one in advice(connect())]
    except StoreError as error:
        return [Warning(f"The server could not be asked what it keeps: {error}", id="retwis.W002")]
