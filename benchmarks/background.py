"""What other people do on the site while it is measured, in a process of its own: posts, follows, likes and logins."""

import contextlib
import multiprocessing
import random
import secrets
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from multiprocessing.synchronize import Event
from typing import Protocol

from django.conf import settings

from accounts.signing_in.sessions.entities import uid_in
from benchmarks.stand import end_with_parent
from benchmarks.visitor import Viewer, Visitor

LEAD = 1.0  # seconds between the start of the background and of the measurement
SENDERS = 32  # threads that send arrivals, so that slow responses do not delay the next arrival
KEPT = 0.95  # least part of the due arrivals that must be sent
ENDS_WITHIN = 60.0  # seconds for the requests under way when the time is over

Pair = tuple[Viewer, Viewer]  # a user, and the user to follow


@dataclass(frozen=True)
class Request:
    """One request of the background: its number, its time in seconds, and whether its response was right."""

    number: int
    seconds: float
    right: bool


@dataclass(frozen=True)
class Outcome:
    """The requests of the background, until when it sent them, and the CPU time of its own process."""

    requests: list[Request]
    seconds: float
    cpu: float  # seconds

    @property
    def rate(self) -> float:
        return len(self.requests) / self.seconds

    def require_right(self) -> None:
        """Raise RuntimeError when a response was wrong."""
        if wrong := sum(not request.right for request in self.requests):
            raise RuntimeError(f"{wrong} of {len(self.requests)} requests in the background failed")

    def require_pace(self, rate: float) -> None:
        """Raise RuntimeError when clearly fewer requests than `rate` a second were sent."""
        if self.rate < rate * KEPT:
            raise RuntimeError(f"{self.rate:.1f} requests a second in the background instead of {rate}")


class Work(Protocol):
    """Something that goes on until `stop` is set."""

    def __call__(self, stop: Event) -> list[Request]: ...


def _threads(number: int, task: Callable[[int], list[Request]]) -> list[Request]:
    with ThreadPoolExecutor(number) as threads:
        return [request for done in threads.map(task, range(number)) for request in done]


class Steady:
    """Requests at a steady pace of `rate` a second. `send` sends the one with this number, by the visitor."""

    def __init__(self, port: int, rate: float, send: Callable[[Visitor, int], Request]) -> None:
        self._port = port
        self._rate = rate
        self._send = send

    def __call__(self, stop: Event) -> list[Request]:
        numbers = count()
        began = time.monotonic()

        def send(thread: int) -> list[Request]:
            done: list[Request] = []
            with contextlib.closing(Visitor(self._port)) as visitor:
                for number in numbers:  # next() of a count is atomic: no two threads get the same number
                    if stop.wait(max(0.0, began + number / self._rate - time.monotonic())):
                        return done
                    done.append(self._send(visitor, number))
            raise AssertionError("numbers never end")

        return _threads(SENDERS, send)


class Arrivals:
    """Posts and follows by random users, in turn. Each is a real form with its CSRF token. Odd numbers are follows:
    number 2n + 1 is of the n-th pair."""

    def __init__(self, authors: Sequence[Viewer], pairs: Sequence[Pair]) -> None:
        self._authors = authors
        self._pairs = pairs

    def pair(self, request: Request) -> Pair | None:
        """The pair of a follow; None for a post."""
        return self._pairs[request.number // 2] if request.number % 2 else None

    def send(self, visitor: Visitor, number: int) -> Request:
        if number % 2:
            me, them = self._pairs[number // 2]
            return follow(visitor, "follow", me, them, number)
        me = self._authors[number // 2 % len(self._authors)]
        visitor.cookies = me.cookies
        form = {"csrfmiddlewaretoken": me.csrf, "token": secrets.token_hex(8), "body": f"Post {number} by {me.name}"}
        answer = visitor.post("/post/", **form)
        return Request(number, answer.seconds, (answer.status, answer.location) == (302, "/"))


def follow(visitor: Visitor, action: str, me: Viewer, them: Viewer, number: int) -> Request:
    """Send the form of the button `follow` or `unfollow` on a profile."""
    visitor.cookies = me.cookies
    answer = visitor.post(f"/@{them.name}/{action}/", csrfmiddlewaretoken=me.csrf)
    return Request(number, answer.seconds, (answer.status, answer.location) == (302, f"/@{them.name}/"))


def like(visitor: Visitor, me: Viewer, post: str, number: int) -> Request:
    """Send the form of the button `like` on home. `post`: the address of the post."""
    visitor.cookies = me.cookies
    answer = visitor.post(f"{post}like/", csrfmiddlewaretoken=me.csrf)
    return Request(number, answer.seconds, answer.status == 302)


class Logins:
    """People who log in at once, again and again. Each is another user each time."""

    def __init__(self, port: int, users: Sequence[Viewer], people: int) -> None:
        self._port = port
        self._users = users
        self._people = people

    def __call__(self, stop: Event) -> list[Request]:
        def log_in(thread: int) -> list[Request]:
            rng = random.Random(thread)
            done: list[Request] = []
            with contextlib.closing(Visitor(self._port)) as visitor:
                while not stop.is_set():
                    done.append(self._log_in(visitor, rng.choice(self._users), len(done)))
            return done

        return _threads(self._people, log_in)

    def _log_in(self, visitor: Visitor, user: Viewer, number: int) -> Request:
        visitor.cookies = {str(settings.CSRF_COOKIE_NAME): user.csrf}
        form = {"csrfmiddlewaretoken": user.csrf, "username": user.name, "password": settings.DEMO_PASSWORD}
        answer = visitor.post("/login/", **form)
        signed_in = uid_in(visitor.cookies.get(str(settings.AUTH_COOKIE), "")) == user.uid
        return Request(number, answer.seconds, (answer.status, answer.location) == (302, "/") and signed_in)


@contextlib.contextmanager
def background(work: Work) -> Iterator[list[Outcome]]:
    """Do the work in another process for the length of the block. Yields a list; after the block it has the outcome."""
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_process, args=(work, stop, sender.send), daemon=True)
    process.start()
    sender.close()
    began = time.monotonic()
    outcomes: list[Outcome] = []
    try:
        yield outcomes
        stop.set()
        seconds = time.monotonic() - began
        if not receiver.poll(ENDS_WITHIN):
            raise TimeoutError("the background does not end")
        requests, cpu = receiver.recv()  # EOFError when it failed; its traceback is printed
        outcomes.append(Outcome(requests, seconds, cpu))
    finally:
        process.terminate()
        process.join()


def _process(work: Work, stop: Event, send: Callable[[tuple[list[Request], float]], None]) -> None:
    """The requests of the work and the CPU time of the process are sent when the work has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent()
    cpu = time.process_time()
    requests = work(stop)
    send((requests, time.process_time() - cpu))


def cost(outcomes: Sequence[Outcome]) -> str:
    """Sentences on the requests of the background, and on what its own process costs."""

    def median(view: Callable[[Outcome], float]) -> float:
        return statistics.median(view(outcome) for outcome in outcomes)

    requests: list[Request] = [request for outcome in outcomes for request in outcome.requests]
    milliseconds = statistics.median(request.seconds for request in requests) * 1e3
    rate, cpu = median(lambda outcome: outcome.rate), median(lambda outcome: outcome.cpu / outcome.seconds)
    return (
        f"{rate:.1f} a second are answered, in a median of {milliseconds:.0f} ms each.\n"
        f"  The process that sends them takes {cpu:.1%} of a core."
    )
