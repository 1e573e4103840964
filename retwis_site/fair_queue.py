"""A queue for requests that take much work: a few are at work at once, and the others wait."""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager

SHARES = 4  # one address may fill a quarter of the queue

Turn = Future[bool]  # True: the request may begin. False: too many wait already
TURN = "retwis.turn"  # in a WSGI environment: the turn of the request


class FairQueue:
    """At most `at_once` requests have their turn. At most `waiting` others wait, and a quarter of them for an address.

    The addresses take turns: an address with many requests slows down only its own. Each process has its own queue.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._waiting = waiting
        self._at_work: set[Turn] = set()
        self._lines: OrderedDict[str, deque[Turn]] = OrderedDict()  # by address; the next one first
        self._lock = threading.Lock()

    def ask(self, address: str) -> Turn:
        """A turn, whose result comes when it begins or is refused. `leave` must follow in every case."""
        turn = Turn()
        with self._lock:
            line = self._lines.get(address) or deque()
            if len(line) >= self._waiting // SHARES or sum(map(len, self._lines.values())) >= self._waiting:
                turn.set_result(False)
            else:
                line.append(turn)
                self._lines[address] = line
                self._begin_next()
        return turn

    def leave(self, turn: Turn) -> None:
        """End a turn, also one that has not begun. A second call changes nothing."""
        turn.cancel()
        with self._lock:
            self._at_work.discard(turn)
            self._begin_next()

    @contextmanager
    def turn(self, address: str) -> Iterator[Turn]:
        """A turn for the block. This thread waits until it begins or is refused."""
        turn = self.ask(address)
        try:
            wait([turn])
            yield turn
        finally:
            self.leave(turn)

    def _begin_next(self) -> None:
        while self._lines and len(self._at_work) < self._at_once:
            address, line = self._lines.popitem(last=False)
            turn = line.popleft()
            if line:
                self._lines[address] = line  # the last one now: the other addresses come first
            if turn.set_running_or_notify_cancel():
                self._at_work.add(turn)
                turn.set_result(True)
