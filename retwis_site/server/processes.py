"""The processes of `manage.py serve`: each is started again when it has ended, all end together, and each stays on its
processor."""

import logging
import multiprocessing
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess

from retwis_site.exceptions import NotDone

logger = logging.getLogger("retwis.serve")

# Not fork: a process would inherit this one's threads, locks and signal handlers.
_context = multiprocessing.get_context("spawn")

LOOKS_EVERY = 0.2  # seconds
RESTARTS_AFTER = 1.0  # seconds between two starts of a process: one that cannot run must not keep a core busy
STARTS_WITHIN = 10.0  # seconds: a process that ends with an error before is one that cannot start
ENDS_WITHIN = 2.0  # seconds that a process gets for the same when `serve` was killed
STOPS_WITHIN = 5.0  # seconds that a process gets for what it has begun; a starting one may miss the signal

# The processors that this process may use; none where the system has no such choice, as on macOS.
EVERY = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset[int]()


class CannotStart(NotDone):
    """A process ended with an error soon after its first start."""


@dataclass
class _Kept:
    name: str
    target: Callable[..., None]
    arguments: tuple[object, ...]
    process: SpawnProcess
    started: float  # seconds of the monotonic clock
    again: bool = False  # whether it was started again


class Processes:
    """Processes that run until `stop`. When one ends, the others go on."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._stopping = False

    def start(self, name: str, target: Callable[..., None], *arguments: object) -> None:
        """Start a process that calls the target, which a module must name."""
        self._kept.append(_Kept(name, target, arguments, _start(name, target, arguments), time.monotonic()))

    def stop(self) -> None:
        """Let `keep` end. Signal handlers may call it. It may wait for room for a line of the log: if nobody reads the
        log, that line goes nowhere."""
        self._stopping = True
        for output in (1, 2):
            _leave_if_full(output)

    def keep(self) -> None:
        """Start each process again that has ended, until `stop`. Raises CannotStart."""
        while not self._stopping:
            self.look()
            time.sleep(LOOKS_EVERY)

    def look(self) -> None:
        """Start each process again that has ended by now. Raises CannotStart."""
        for kept in self._kept:
            if not kept.process.is_alive() and time.monotonic() >= kept.started + RESTARTS_AFTER:
                self._start_again(kept)

    def end(self) -> None:
        """End all processes: with SIGTERM, and after STOPS_WITHIN seconds with SIGKILL."""
        for kept in self._kept:
            kept.process.terminate()
        deadline = time.monotonic() + STOPS_WITHIN
        for kept in self._kept:
            kept.process.join(max(0.0, deadline - time.monotonic()))
            kept.process.kill()
            kept.process.join()

    def _start_again(self, kept: _Kept) -> None:
        code = kept.process.exitcode or 0
        if code > 0 and not kept.again and time.monotonic() < kept.started + STARTS_WITHIN:
            raise CannotStart(f"{kept.name} cannot start. Its error stands above.")
        kept.started, kept.again = time.monotonic(), True
        logger.error("%s has ended (%s); starting it again", kept.name, _reason(code))
        try:
            kept.process = _start(kept.name, kept.target, kept.arguments)
        except OSError as error:  # no memory, or too many processes: tried again after RESTARTS_AFTER
            logger.error("%s cannot be started now: %s", kept.name, error)


def _start(name: str, target: Callable[..., None], arguments: tuple[object, ...]) -> SpawnProcess:
    process = _context.Process(target=target, args=arguments, name=name)
    # A terminal sends Ctrl-C to all processes, and `end` ends them. What is ignored at its start, a process ignores.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, previous)
    logger.info("%s has PID: %d", name, process.pid)
    return process


def _leave_if_full(output: int) -> None:
    """The system's call that waits goes on after the signal, and then writes to what stands here."""
    room = select.poll()
    room.register(output, select.POLLOUT)
    if not room.poll(0):
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)


def _reason(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def end_with_parent() -> None:
    """Start a thread that sends this process SIGTERM when `serve` is gone, and SIGKILL after ENDS_WITHIN seconds.

    `serve` does both itself unless it was killed."""
    threading.Thread(target=_end_after_parent, name="end with parent", daemon=True).start()


def _end_after_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ENDS_WITHIN)
        os.kill(os.getpid(), signal.SIGKILL)


def stay_on_one(number: int, workers: int) -> None:
    """Let this thread, and all that it will start, stay on one processor. `number`: of the worker, from 1 to `workers`.

    Python runs one thread of a process at a time. On one processor, what it has just used stays near, and its threads
    wake each other at once: home reaches 1.13 of its rate (2026-11-24, docs/decisions.md). Only where each processor
    gets equally many workers: else one would be idle while pages wait for another."""
    if EVERY and workers % len(EVERY) == 0:
        _run_on({sorted(EVERY)[(number - 1) % len(EVERY)]})


def run_anywhere() -> None:
    """Let this thread use every processor: for work that Python's other threads do not wait for, such as a hash."""
    if EVERY:
        _run_on(EVERY)


def _run_on(some: Collection[int]) -> None:
    """A system that refuses it, or has taken these away, is no reason not to serve."""
    with suppress(OSError):
        os.sched_setaffinity(0, some)
