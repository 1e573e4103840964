"""One line for each request. It says the name of the route and no address: a query or a path may be private."""

import logging

from retwis_site.telemetry.observation import Observation

logger = logging.getLogger("retwis.access")


def log_access(seen: Observation) -> None:
    if not logger.isEnabledFor(logging.INFO):
        return
    ms, store_ms = round(seen.seconds * 1000, 1), round(seen.seconds_in_store * 1000, 1)
    logger.info(
        "%s %s %d, %d bytes, %s ms, %d round trips in %s ms, from %s, uid %s%s",
        seen.method,
        seen.route or "-",
        seen.status,
        seen.size,
        ms,
        seen.round_trips,
        store_ms,
        seen.address or "-",
        seen.uid or "-",
        f", cause {seen.failure}" if seen.failure else "",
        extra={
            "method": seen.method,
            "route": seen.route or "-",
            "status": seen.status,
            "bytes": seen.size,
            "ms": ms,
            "round_trips": seen.round_trips,
            "store_ms": store_ms,
            "address": seen.address,
            "uid": seen.uid,
            "cause": seen.failure,
        },
    )
