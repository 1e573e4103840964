"""Who is told of each request."""

from retwis_site.telemetry.access_log import log_access
from retwis_site.telemetry.observation import Observer


def observers() -> tuple[Observer, ...]:
    """They are called in this order, in the thread that answers, while `current_request_id` is that of the request. So
    each must be quick, and raise nothing."""
    return (log_access,)
