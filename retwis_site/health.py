"""Addresses for programs: `/livez` (the process runs), `/readyz` (the store works), `/.well-known/security.txt`.

The first two can be asked by any Host: a load balancer or a container names the machine, which is no host of the site.
Nothing of their answers depends on it, so the middleware puts the site's own in its place before anything reads it.
"""

import logging
import time
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.http.public_cache import publicly_cached
from retwis_site.jobs.outbox import silence
from retwis_site.rendering.pages import RETRY_AFTER, origin_of
from retwis_site.store import keys
from retwis_site.store.client import Store, connect
from retwis_site.telemetry.middleware import FAILURE

logger = logging.getLogger("retwis.store")

# ---- For load balancers


PLAIN = "text/plain; charset=utf-8"
PATHS = frozenset({"/livez", "/readyz"})


@never_cache
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Always 200. No round trip: a store that is down is no reason to restart the process."""
    return HttpResponse("ok\n", content_type=PLAIN)


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 if the store accepts a write, else 503. A second line says when no worker has run for a minute: that is no
    reason to take all web processes out of use. One round trip."""
    try:
        of_workers = _write(connect())
    except StoreError as error:
        request.META[FAILURE] = "store"
        logger.error("readyz: %s", error)  # not in the answer: it is public
        unready = HttpResponse("the store does not take a write\n", content_type=PLAIN, status=503)
        unready["Retry-After"] = str(RETRY_AFTER)
        return unready
    lines = filter(None, ["ok", of_workers])
    return HttpResponse("".join(f"{line}\n" for line in lines), content_type=PLAIN)


def _write(store: Store) -> str:
    """Write to the store; returns what is wrong with the workers. One round trip. Raises StoreError."""
    moment = str(int(time.time()))
    try:
        with store.pipeline() as pipe:
            pipe.set_ex(keys.health(), moment, keys.health.lives)
            seen = pipe.get(keys.worker_seen())
    except StoreRefused:  # perhaps the second command alone: a Redis user without this key
        store.set_ex(keys.health(), moment, keys.health.lives)
        return ""
    return silence(seen.value)


def host_of_the_site() -> str:
    """One that ALLOWED_HOSTS has."""
    return next((host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"), "localhost")


# ---- `/.well-known/security.txt`: whom to tell about a weakness (RFC 9116).


MAX_AGE = 3600  # seconds that a cache may keep it
VALID = timedelta(days=180)  # the RFC asks for less than a year


@publicly_cached(MAX_AGE)
def security_txt(request: HttpRequest) -> HttpResponse:
    """The file, 404 without SECURITY_CONTACT. No round trip."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + VALID
    fields = {
        "Contact": settings.SECURITY_CONTACT,
        "Expires": f"{expires:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages": settings.LANGUAGE_CODE,
        "Canonical": origin_of(request) + request.path,
    }
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return HttpResponse(lines, content_type=PLAIN)
