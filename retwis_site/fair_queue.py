"""A queue for requests that take much work: a few are at work at once, and the others wait."""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager

QueuePlace = Future[bool]  # True: the work may begin. False: too many wait already
PLACE = "retwis.place"  # in a WSGI environment: the request's place in its queue
MOST_WAITING = 64 * 1024 * 1024  # bytes of the bodies that wait in a queue


class FairQueue:
    """At most `at_once` requests are at work, and at most `waiting` others wait, with bodies of at most MOST_WAITING.

    The addresses take turns, and in a full queue the newest request of the address that has most is refused: most
    requests, or most bytes. So an address with many requests slows down only itself. Each process has its own queue.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self.at_once = at_once
        self.waiting = waiting
        self._at_work: set[QueuePlace] = set()
        self._lines: OrderedDict[str, deque[QueuePlace]] = OrderedDict()  # by address; the next one first
        self._sizes: dict[QueuePlace, int] = {}  # bytes of the bodies, of all that have not left
        self._lock = threading.Lock()

    def enter(self, address: str, size: int = 0) -> QueuePlace:
        """A place, whose result comes when the work may begin, or at once when it is refused. `leave` must follow.
        `size`: bytes of the body, which stay in memory meanwhile."""
        place = QueuePlace()
        with self._lock:
            self._lines.setdefault(address, deque()).append(place)
            self._sizes[place] = size
            self._begin()
            while much := self._too_much():
                self._refuse_newest(max(much, key=lambda one: (much[one], one == address)))
        return place

    def _too_much(self) -> dict[str, int]:
        """How much waits of each address, where it is too much: requests, or else bytes. Empty where it is not."""
        requests = {address: len(line) for address, line in self._lines.items()}
        if sum(requests.values()) > self.waiting:
            return requests
        sizes = {address: sum(self._sizes.get(place, 0) for place in line) for address, line in self._lines.items()}
        return sizes if sum(sizes.values()) > MOST_WAITING else {}

    def leave(self, place: QueuePlace) -> None:
        """Give up a place, before, during or after the work. A second call changes nothing."""
        place.cancel()
        with self._lock:
            self._at_work.discard(place)
            self._sizes.pop(place, None)
            self._begin()

    def someone_waits(self) -> bool:
        return bool(self._lines)

    @contextmanager
    def place(self, address: str, size: int = 0) -> Iterator[QueuePlace]:
        """A place for the block. This thread waits until the work may begin, or is refused."""
        place = self.enter(address, size)
        try:
            wait([place])
            yield place
        finally:
            self.leave(place)

    def _begin(self) -> None:
        while self._lines and len(self._at_work) < self.at_once:
            address, line = self._lines.popitem(last=False)
            place = line.popleft()
            if line:
                self._lines[address] = line  # the last one now: the other addresses come first
            if place.set_running_or_notify_cancel():
                self._at_work.add(place)
                place.set_result(True)

    def _refuse_newest(self, address: str) -> None:
        place = self._lines[address].pop()
        if not self._lines[address]:
            del self._lines[address]
        if place.set_running_or_notify_cancel():
            place.set_result(False)
