"""METRICS_PORT: where Prometheus reads the metrics. The worker serves it, since each site has one."""

import logging
import time
from collections.abc import Iterable, Mapping

from django.conf import settings
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from retwis_site.store.client import Store
from retwis_site.telemetry.metrics.files import DAMAGED, files, is_whole, sums
from retwis_site.telemetry.metrics.processes import LOOKS_EVERY, Process
from retwis_site.telemetry.metrics.store_figures import StoreFigures

logger = logging.getLogger("retwis.metrics")


class WorkerMetrics:
    """The metrics of a worker, which also serves those of all processes."""

    def __init__(self, store: Store) -> None:
        self._process = Process("deliver")
        self._registry = CollectorRegistry()
        self._registry.register(AllProcesses())
        self._registry.register(StoreFigures(store))
        self._listens = self._has_complained = False
        self._next_look = 0.0  # monotonic seconds

    def publish(self, finished: Mapping[str, int]) -> None:
        """Count finished jobs, by kind. Called many times a second, also with none, it serves the port as soon as no
        other worker does."""
        self._process.finished(finished)
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOKS_EVERY
        self._process.look()
        if not self._listens:
            self._listen()

    def _listen(self) -> None:
        place = f"{settings.METRICS_HOST}:{settings.METRICS_PORT}"
        try:
            start_http_server(settings.METRICS_PORT, settings.METRICS_HOST, self._registry)
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                logger.warning("metrics cannot be served at %s now: %s", place, error.strerror or error)
            return
        self._listens = True
        logger.info("metrics are at http://%s/metrics", place)


class AllProcesses(Collector):
    """The numbers of all processes together, also of those that have ended."""

    def collect(self) -> Iterable[Metric]:
        found = files()
        try:
            return sums(found)
        except DAMAGED:
            return sums(filter(is_whole, found))
