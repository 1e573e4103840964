"""What happens to the processes of a soaked site: they are killed, and the clock steps."""

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress

import redis

from tests.support.processes.processes import alive, wait_until
from tests.support.stores.store_faults import administrator

SETTLES_WITHIN = 5.0  # seconds after a kill in which connections may break, or the store may still be found down
STEPS = (-600, -240, -61, -5, 5, 61, 240, 600)  # seconds
FARTHEST = 1800  # seconds that the clock may be from the real one
STALL = 0.5  # seconds without an answer to the test itself: a busy machine or a slow disk stops the store for a while
LAST_ONE = 0.1  # how often
STORE_IS_DOWN_FOR = (0.0, 2.0)  # seconds


class Disturbances:
    """Kills one process after the other, at random moments. Only processes of this site are killed, by their pids."""

    def __init__(self, seed, site, server, clock):
        self._random = random.Random(f"{seed}/disturbances")
        self._site, self._server, self._clock = site, server, clock
        self._stop = threading.Event()
        self._worker_kills: list[float] = []
        self._outages: list[list[float]] = []  # begin and end
        self._answered = time.monotonic()  # when the store has answered last
        self.done: Counter[str] = Counter()

    # ---- what is excused

    def excuse_loss(self, began):
        """Whether a connection that began then, and is lost now, may have been lost with a worker."""
        return any(kill > began - SETTLES_WITHIN for kill in self._worker_kills) or not self._listening()

    def _listening(self):
        """The web workers that have begun to listen since they were started last."""
        printed = self._site.printed()
        return [
            name
            for name, pid in self.pids().items()
            if alive(pid) and printed.rfind(f"{name} listens") > printed.rfind(f"{name} has PID")
        ]

    def excuse_503(self, began):
        """Whether a request that began then may have found no store: it was killed, or has not answered the test."""
        stalls = time.monotonic() - self._answered > STALL
        return stalls or any(end > began - SETTLES_WITHIN for _, end in self._outages)

    @contextmanager
    def watching_the_store(self):
        """For the time of the block, ask the store all the time, and note when it does not answer."""
        self._answered = time.monotonic()
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._stop.set()
            watcher.join()

    def _watch(self):
        with administrator(self._server.folder) as client:
            while not self._stop.wait(0.05):
                with suppress(redis.RedisError, OSError):
                    client.ping()
                    now = time.monotonic()
                    if now - self._answered > STALL:
                        self._outages.append([self._answered, now])
                        self.done["silence of the store"] += 1
                    self._answered = now

    # ---- processes

    def pids(self):
        """The newest pid of each process that the site keeps, by its name."""
        started = re.findall(r"(web worker \d+|deliver) has PID: (\d+)", self._site.printed())
        return {name: int(pid) for name, pid in started}

    def _kill(self, names):
        running = {name: pid for name, pid in self.pids().items() if name.startswith(names) and alive(pid)}
        if not running:
            return
        name = self._random.choice(sorted(running))
        if name != "deliver":
            self._worker_kills.append(time.monotonic())
        os.kill(running[name], signal.SIGKILL)
        self.done[f"kill of {name}"] += 1

    def kill_web_worker(self):
        """The last one that listens is seldom killed: else a busy machine would have no site at all."""
        if len(self._listening()) > 1 or self._random.random() < LAST_ONE:
            self._kill("web worker")

    def kill_deliver(self):
        self._kill("deliver")

    def kill_store(self):
        outage = [time.monotonic(), float("inf")]
        self._outages.append(outage)
        self._server.kill()
        self._stop.wait(self._random.uniform(*STORE_IS_DOWN_FOR))
        self._server.start("--appendfsync", "always")
        outage[1] = time.monotonic()
        self.done["kill of the store"] += 1

    def step_clock(self):
        by = self._random.choice([step for step in STEPS if abs(self._clock.stepped + step) <= FARTHEST])
        self._clock.step(by)
        self.done["clock forwards" if by > 0 else "clock backwards"] += 1

    # ---- over time

    def disturb(self, kinds, seconds, pause):
        """Do each of `kinds` in random order, again and again, after a random pause (seconds, from and to). Each kind
        comes once before any comes twice."""
        until = time.monotonic() + seconds
        waiting = self._random.sample(sorted({*kinds}), len({*kinds}))
        while True:
            self._stop.wait(min(self._random.uniform(*pause), max(0.0, until - time.monotonic())))
            if time.monotonic() >= until:
                return
            waiting = waiting or self._random.sample(kinds, len(kinds))
            getattr(self, waiting.pop())()

    def wait_until_all_run(self):
        wait_until(lambda: len(self.pids()) == 3 and all(map(alive, self.pids().values())), "all processes", 30)
        wait_until(lambda: all(self._site.browser.open("/readyz")[0] == 200 for _ in range(10)), "the site", 30)
