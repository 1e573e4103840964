"""Metrics are counted and served with METRICS_PORT alone. Without it, nothing of prometheus_client is loaded."""

import logging
from collections.abc import Callable, Mapping
from functools import cache

from django.conf import settings

from retwis_site.store.client import Store
from retwis_site.telemetry.observation import Observer

logger = logging.getLogger("retwis.metrics")

Publish = Callable[[Mapping[str, int]], None]  # counts finished jobs, by kind


@cache
def web_metrics() -> tuple[Observer, ...]:
    """What counts the requests of this process; nothing without METRICS_PORT."""
    if not settings.METRICS_PORT:
        return ()
    try:
        from retwis_site.telemetry.metrics.processes import Process
    except OSError as error:  # a full disk: the site starts without metrics
        logger.error("metrics are not counted: %s", error)
        return ()
    return (Process("web").observe,)


def worker_metrics(store: Store) -> Publish:
    """What a worker calls after each look at the outbox. Without METRICS_PORT it does nothing."""
    if not settings.METRICS_PORT:
        return lambda finished: None
    try:
        from retwis_site.telemetry.metrics.port import WorkerMetrics
    except OSError as error:
        logger.error("metrics are not served: %s", error)
        return lambda finished: None
    return WorkerMetrics(store).publish
