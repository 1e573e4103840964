"""What the processes of the site count themselves: requests, finished jobs, and their own memory.

Labels are names of routes, statuses, causes, kinds of jobs and roles: a few values each, never an address or a name.

They count in files under `VAR_DIR/metrics/`. prometheus_client maps the numbers of a process into memory from files, so
they outlive a killed process. Here the files have a number. A process takes the lowest one whose lock is free, and
counts on in the files of the process that had it before. So sums never go down, and there are no more files than there
were processes at the same time. A lock is seen from other containers too; a process id is not.
"""

import fcntl
import logging
import os
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import IO, Any, get_args

from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server, values
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.jobs.outbox import seen_at
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number
from retwis_site.store.local_cache import Memory
from retwis_site.telemetry.middleware import Failure, Observation

logger = logging.getLogger("retwis.metrics")

LOOKS_EVERY = 10.0  # seconds between two looks of a process at its own memory
# Seconds. A page takes a few milliseconds; one that waits for a password hash, or for the store, much longer.
BUCKETS = (0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
NO_ROUTE = "none"  # static files, unknown addresses, and what the server refuses itself

FOLDER: Path = settings.VAR_DIR / "metrics"
STATE = "gauge_livesum"  # files that say how a process is now
DAMAGED = (ValueError, TypeError, AttributeError, RuntimeError, struct.error)  # what prometheus_client raises then
RESERVED = 1 << 20  # bytes of a file, which are written at once: a mapped page that the disk lacks ends the process


def files() -> list[str]:
    """The files of all processes, also of those that have ended, without what only says how a process is now."""
    with _turn():
        return [str(path) for path in FOLDER.glob("*.db") if not path.name.startswith(STATE) or _is_taken(path)]


@lru_cache(maxsize=1)  # after a fork, the parent alone keeps its lock
def _taken(pid: int) -> tuple[int, IO[bytes]]:
    """The number of the files of a process, and the lock that it holds as long as it runs. A process that was forked
    takes another one. Raises OSError."""
    with _turn():
        number, lock = next((number, lock) for number in count() if (lock := _free_lock(number)) is not None)
        (FOLDER / f"{STATE}_{number}.db").unlink(missing_ok=True)
        for kind in ("counter", "histogram", STATE):
            _reserve(FOLDER / f"{kind}_{number}.db")
    return number, lock


def sums(paths: Iterable[str]) -> Iterable[Metric]:
    """The numbers of these files together. Raises one of DAMAGED."""
    merged: Iterable[Metric] = MultiProcessCollector.merge(paths)
    return merged


def is_whole(path: str) -> bool:
    """Whether a file can be read. After a power failure it may have any content."""
    try:
        sums([path])
    except DAMAGED:
        return False
    return True


def _reserve(path: Path) -> None:
    if path.exists() and not is_whole(str(path)):
        path.unlink()
    with path.open("ab") as file:
        file.write(bytes(max(0, RESERVED - file.tell())))


def _free_lock(number: int) -> IO[bytes] | None:
    """The lock of a number, until it is closed; None when another process has it."""
    lock = (FOLDER / f"{number}.lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _is_taken(path: Path) -> bool:
    """Whether the process of this file runs."""
    lock = _free_lock(int(path.stem.rpartition("_")[2]))
    if lock is not None:
        lock.close()
    return lock is None


@contextmanager
def _turn() -> Iterator[None]:
    """A block that one process at a time runs: who looks at a lock holds it for a moment."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "turn.lock").open("ab") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


# All metrics that are made from now on count in the files of their process.
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(FOLDER)
values.ValueClass = values.MultiProcessValue(lambda: _taken(os.getpid())[0])
_requests = Counter("retwis_requests", "Requests, by view and status.", ["view", "status"], registry=None)
_seconds = Histogram(
    "retwis_request_duration_seconds", "Time until the answer, by view.", ["view"], registry=None, buckets=BUCKETS
)
_unavailable = Counter("retwis_unavailable", "Answers 503, by cause.", ["cause"], registry=None)
_round_trips = Counter("retwis_store_round_trips", "Round trips to the store, by view.", ["view"], registry=None)
_in_store = Counter("retwis_store_seconds", "Time of these round trips, by view.", ["view"], registry=None)
_jobs = Counter("retwis_jobs_finished", "Jobs that workers have finished, by kind.", ["kind"], registry=None)
_starts = Counter("retwis_process_starts", "Starts of processes, by role.", ["role"], registry=None)
_processes = Gauge(
    "retwis_processes", "Processes that run, by role.", ["role"], registry=None, multiprocess_mode="livesum"
)
_memory = Gauge(
    "retwis_process_resident_bytes", "Their memory, by role.", ["role"], registry=None, multiprocess_mode="livesum"
)

_complaints: Memory[str, bool] = Memory(size=2, seconds=60)  # logged at most once a minute


class Process:
    """This process, and what it does. It raises nothing: a full disk stops the counting, and not the site."""

    def __init__(self, role: str) -> None:
        """`role`: `web` or `deliver`."""
        self._role = role
        self._pid = 0
        self._next_look = 0.0  # monotonic seconds
        self.look()

    def observe(self, seen: Observation) -> None:
        """Count a request."""
        try:
            _OfView(seen.route or NO_ROUTE, seen.status).observe(seen)
            if seen.failure is not None:
                _unavailable.labels(seen.failure).inc()
        except OSError as error:  # no file can be made for a process that was forked
            _complain(error)
        self.look_in_time()

    def look_in_time(self) -> None:
        """Look every LOOKS_EVERY seconds, and after a fork."""
        if time.monotonic() > self._next_look or self._pid != os.getpid():
            self.look()

    def look(self) -> None:
        """Note that this process runs, and its memory. It may have been forked since the last look."""
        self._next_look = time.monotonic() + LOOKS_EVERY
        try:
            if self._pid != os.getpid():
                for cause in get_args(Failure):
                    _unavailable.labels(cause)  # 0: a rate needs a first value
                _starts.labels(self._role).inc()
                self._pid = os.getpid()
            _processes.labels(self._role).set(1)
            _memory.labels(self._role).set(_resident_bytes())
        except OSError as error:
            _complain(error)


@cache
class _OfView:
    """The numbers of one view and status. They are looked up once: a lookup costs more than counting."""

    def __init__(self, view: str, status: int) -> None:
        self._requests = _requests.labels(view, status)
        self._seconds = _seconds.labels(view)
        self._round_trips = _round_trips.labels(view)
        self._in_store = _in_store.labels(view)

    def observe(self, seen: Observation) -> None:
        self._requests.inc()
        self._seconds.observe(seen.seconds)
        if seen.round_trips:
            self._round_trips.inc(seen.round_trips)
            self._in_store.inc(seen.seconds_in_store)


def _complain(error: OSError) -> None:
    if _complaints.get("") is None:
        _complaints.put("", True)
        logger.error("metrics are not counted: %s", error)


def _resident_bytes() -> int:
    """0 where the system does not tell it in /proc."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


# ---- METRICS_PORT: where Prometheus reads the metrics, of all processes and of the store. The worker serves it, since
# each site has one.

POSTS = "posts:"  # before the fields of `search_index` that count posts


class WorkerMetrics(Process):
    """A worker, which also serves the metrics of all processes."""

    def __init__(self, store: Store) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(AllProcesses())
        self._registry.register(StoreFigures(store))
        self._listens = self._has_complained = False
        super().__init__("deliver")

    def publish(self, finished: Mapping[str, int]) -> None:
        """Count finished jobs, by kind. It is called many times a second, also with none."""
        try:
            for kind, number in finished.items():
                if number:  # else the kind may be unknown, and its name any text
                    _jobs.labels(kind).inc(number)
        except OSError as error:
            _complain(error)
        self.look_in_time()

    def look(self) -> None:
        """Serves the port, too, as soon as no other worker does."""
        super().look()
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
    now = int(time.time())
    with store.pipeline() as pipe:
        users, sessions = pipe.hlen(keys.users()), pipe.hlen(keys.auths())
        counter, ranges = pipe.get(keys.next_post_id()), pipe.hgetall(keys.search_index())
        jobs = [pipe.zcard(key) for key in keys.outbox.all()]
        first = [pipe.zrange_withscores(key, 0, 0) for key in keys.outbox.all()]
        dead, seen = pipe.zcard(keys.set_aside()), pipe.get(keys.worker_seen())
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
            family.add_metric([str(number)], _figure(info.get(name)))
    return used, most, clients


def _figure(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=value)
