"""What the processes of the site count themselves: requests, finished jobs, and their own memory.

Labels are names of routes, statuses, causes, kinds of jobs and roles: a few values each, never an address or a name.
"""

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import get_args

from prometheus_client import Counter, Gauge, Histogram

from retwis_site.store.local_cache import Memory
from retwis_site.telemetry.metrics.files import count_in_files
from retwis_site.telemetry.observation import Failure, Observation

logger = logging.getLogger("retwis.metrics")

LOOKS_EVERY = 10.0  # seconds between two looks of a process at its own memory
# Seconds. A page takes a few milliseconds; one that waits for a password hash, or for the store, much longer.
BUCKETS = (0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
NO_ROUTE = "none"  # static files, unknown addresses, and what the server refuses itself

count_in_files()
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

_complaints: Memory[str, bool] = Memory(size=1, seconds=60)  # logged at most once a minute


class Process:
    """This process, and what it does. It raises nothing: a full disk stops the counting, and not the site."""

    def __init__(self, role: str) -> None:
        """`role`: `web` or `deliver`."""
        self._role = role
        self._pid = 0
        self._next_look = 0.0  # monotonic seconds
        self._of_view: dict[tuple[str, int], _OfView] = {}
        self.look()

    def observe(self, seen: Observation) -> None:
        """Count a request."""
        try:
            view = self._of_view.get((seen.route, seen.status))
            if view is None:
                view = self._of_view[seen.route, seen.status] = _OfView(seen.route or NO_ROUTE, seen.status)
            view.observe(seen)
            if seen.failure is not None:
                _unavailable.labels(seen.failure).inc()
        except OSError as error:  # no file can be made for a process that was forked
            _complain(error)
        if time.monotonic() > self._next_look or self._pid != os.getpid():
            self.look()

    def finished(self, jobs: Mapping[str, int]) -> None:
        """Count finished jobs, by kind."""
        try:
            for kind, number in jobs.items():
                if number:  # else the kind may be unknown, and its name any text
                    _jobs.labels(kind).inc(number)
        except OSError as error:
            _complain(error)

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
