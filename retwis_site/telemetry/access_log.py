"""One line for each request. It says the name of the route and no address: a query or a path may be private."""

import logging

from retwis_site.telemetry.observation import Observation

logger = logging.getLogger("retwis.access")


def log_access(seen: Observation) -> None:
    """`record.seen` is the observation, for a form of the log with fields. The record is made here, since `logger.info`
    would look for its caller, for each request."""
    if not logger.isEnabledFor(logging.INFO):
        return
    cause = f", cause {seen.failure}" if seen.failure else ""
    line = (
        f"{seen.method} {seen.route or '-'} {seen.status}, {seen.size} bytes, {seen.seconds * 1000:.1f} ms, "
        f"{seen.round_trips} round trips in {seen.seconds_in_store * 1000:.1f} ms, "
        f"from {seen.address or '-'}, uid {seen.uid or '-'}{cause}"
    )
    record = logging.LogRecord(logger.name, logging.INFO, __file__, 0, line, None, None)
    record.seen = seen
    logger.handle(record)
