"""Who is told of each request."""

from django.conf import settings

from retwis_site.telemetry.access_log import log_access
from retwis_site.telemetry.metrics.switch import web_metrics
from retwis_site.telemetry.observation import Observer
from retwis_site.telemetry.slow_log import log_slow


def observers() -> tuple[Observer, ...]:
    """They are called in this order, in the thread that answers, while `current_request_id` is that of the request. So
    each must be quick, and raise nothing."""
    slow = [log_slow] if settings.SLOW_REQUEST_MS else []
    return (*web_metrics(), log_access, *slow)
