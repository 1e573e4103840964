"""METRICS_PORT: where Prometheus reads the metrics, of all processes and of the store. The worker serves it, since each
site has one."""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.conf import settings
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.jobs.heartbeat import seen_at
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number
from retwis_site.telemetry.metrics import DAMAGED, LOOKS_EVERY, Process, files, is_whole, sums

logger = logging.getLogger("retwis.metrics")

POSTS = "posts:"  # before the fields of `search_index` that count posts


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


class StoreFigures(Collector):
    """What the store holds, asked at each scrape: one pipeline, and an INFO for each server. A store that does not
    answer is `retwis_store_up 0`, and the other figures are missing."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        answers, figures = 1, list[Metric]()
        try:
            figures += _of_site(self._store)
            figures += _of_servers(self._store)
        except StoreRefused:  # such as for a key of the wrong type, which `doctor` reports
            pass
        except StoreError:  # the log of the site says more often
            answers = 0
        yield _gauge("retwis_store_up", "Whether the store answers.", answers)
        yield from figures


def _of_site(store: Store) -> Iterator[Metric]:
    pipe, now = store.pipeline(), int(time.time())
    users, sessions = pipe.hlen(keys.users()), pipe.hlen(keys.auths())
    counter, ranges = pipe.get(keys.next_post_id()), pipe.hgetall(keys.search_index())
    jobs = [pipe.zcard(key) for key in keys.outbox.all()]
    first = [pipe.zrange_withscores(key, 0, 0) for key in keys.outbox.all()]
    dead, seen = pipe.zcard(keys.set_aside()), pipe.get(keys.worker_seen())
    pipe.execute()
    yield _gauge("retwis_users", "Users.", users.value)
    yield _gauge("retwis_sessions", "Sessions that were not ended, about.", sessions.value)
    by_time = [parse_number(number) or 0 for name, number in ranges.value.items() if name.startswith(POSTS)]
    written = (parse_number(counter.value or "") or 0) + sum(by_time)
    yield _gauge("retwis_posts", "Posts that were ever written, about.", written)
    yield _gauge("retwis_outbox_jobs", "Jobs in the outbox.", sum(one.value for one in jobs))
    oldest = min((score for one in first for _, score in one.value), default=now)
    yield _gauge("retwis_outbox_oldest_due_seconds", "For how long the oldest job has been due.", max(0, now - oldest))
    yield _gauge("retwis_dead_letters", "Jobs that no worker could finish.", dead.value)
    last = seen_at(seen.value)
    if last is not None:
        yield _gauge("retwis_worker_seen_timestamp_seconds", "When a worker last ran.", last)


def _of_servers(store: Store) -> Iterable[Metric]:
    used = GaugeMetricFamily("retwis_store_memory_used_bytes", "Memory of a server of the store.", labels=["server"])
    most = GaugeMetricFamily("retwis_store_memory_max_bytes", "Its maxmemory; 0 without.", labels=["server"])
    clients = GaugeMetricFamily("retwis_store_clients", "Connections of a server.", labels=["server"])
    for number, info in enumerate(store.info()):
        for family, name in ((used, "used_memory"), (most, "maxmemory"), (clients, "connected_clients")):
            family.add_metric([str(number)], _number(info.get(name)))
    return used, most, clients


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=value)
