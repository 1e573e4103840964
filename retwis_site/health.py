"""Addresses for load balancers: `/livez` (the process runs) and `/readyz` (the store works)."""

import logging
import time

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from retwis_site.exceptions import StoreError
from retwis_site.rendering.error_pages import RETRY_AFTER
from retwis_site.store import keys
from retwis_site.store.client import connect
from retwis_site.telemetry.observation import FAILURE

logger = logging.getLogger("retwis.store")

PLAIN = "text/plain; charset=utf-8"


@never_cache
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Always 200. No round trip: a store that is down is no reason to restart the process."""
    return HttpResponse("ok\n", content_type=PLAIN)


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 if the store accepts a write, else 503. One round trip."""
    try:
        connect().set_ex(keys.health(), str(int(time.time())), keys.HEALTH_SECONDS)
    except StoreError as error:
        request.META[FAILURE] = "store"
        logger.error("readyz: %s", error)  # not in the answer: it is public
        unready = HttpResponse("the store does not take a write\n", content_type=PLAIN, status=503)
        unready["Retry-After"] = str(RETRY_AFTER)
        return unready
    return HttpResponse("ok\n", content_type=PLAIN)
