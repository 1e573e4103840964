"""Observes each request: measures it, gives its answer the request's id, counts it, and logs it."""

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from operator import attrgetter
from time import perf_counter
from typing import Any, Literal, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http.client_ip import address_in
from retwis_site.store.connection.recorder import MOST_KEPT, Command, Recording, RoundTrip
from retwis_site.telemetry.log_lines import HEADER, begin_answer, bounded, end_answer, request_id_in
from retwis_site.telemetry.redaction import logged_command

# Why an answer is a 503: the store fails, or takes no changes; or the queue of the view is full.
Failure = Literal["store", "read-only", "queue"]
FAILURE = "retwis.failure"  # in a WSGI environment: the Failure, if there was one
BEGAN = "retwis.began"  # in a WSGI environment: seconds of time.perf_counter when the server had the whole request


class Observation(NamedTuple):
    """One request and its answer. Only names of routes, no addresses of pages: these may have secrets in them."""

    method: str  # as the client sent it
    route: str  # the name of the address, such as `home`; empty for a static file and an unknown address
    status: int
    size: int  # bytes of the answer's body
    seconds: float
    round_trips: int
    seconds_in_store: float
    address: str  # as `client_address`
    uid: int | None  # of the signed-in user; None when the page did not ask who it is
    failure: Failure | None  # of a 503
    recorded: Recording  # what was sent to the store

    def fields(self) -> dict[str, str | int | float | None]:
        """What a line of the log has as fields of JSON. Times are in milliseconds."""
        return {
            "method": bounded(self.method),
            "route": self.route or "-",
            "status": self.status,
            "bytes": self.size,
            "ms": round(self.seconds * 1000, 1),
            "round_trips": self.round_trips,
            "store_ms": round(self.seconds_in_store * 1000, 1),
            "address": self.address,
            "uid": self.uid,
            "cause": self.failure,
        }


Observer = Callable[[Observation], None]

_access = logging.getLogger("retwis.access")
_slow = logging.getLogger("retwis.slow")
_metrics = logging.getLogger("retwis.metrics")

MOST_ROUND_TRIPS = 8  # of the line for a slow request: the slowest ones
LONGEST_ROUND_TRIP = 180  # characters of its commands


_seconds_of = attrgetter("seconds")


class ObservedRequests:
    """The outermost part of the middleware, so static files and refused requests are observed too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._observers = _observers()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = request.META.get(BEGAN) or perf_counter()
        request_id = request_id_in(request.META)
        answering = begin_answer(request_id)
        try:
            with Recording(MOST_KEPT) as recorded:
                response = self._get_response(request)
            headers = response.headers._store
            headers["x-request-id"] = HEADER, request_id
            # The server asks for the names and values. Django's own `items` takes three calls for each.
            response.items = headers.values  # type: ignore[method-assign]
            if "content-length" in headers:
                size = int(headers["content-length"][1])
            elif not response.streaming:
                size = len(response.content)
            else:
                streamed: Any = response
                observe = partial(self._observe, request, response, recorded, began)
                streamed.streaming_content = _Counted(streamed.streaming_content, request_id, observe)
                return response
            self._observe(request, response, recorded, began, 0 if request.method == "HEAD" else size)
        finally:
            end_answer(answering)
        return response

    def _observe(self, request: HttpRequest, response: HttpResponse, sent: Recording, began: float, size: int) -> None:
        viewer: Any = getattr(request, "viewer", None)  # an answer of an early part has none
        match = request.resolver_match
        round_trips = sent.round_trips
        seen = Observation(
            method=request.method or "",
            route=match.view_name if match else "",
            status=response.status_code,
            size=size,
            seconds=perf_counter() - began,
            round_trips=len(round_trips),
            seconds_in_store=sum(map(_seconds_of, round_trips), 0.0),
            address=address_in(request.META),
            uid=viewer.uid if viewer is not None and viewer.signed_in else None,
            failure=request.META.get(FAILURE),
            recorded=sent,
        )
        for observer in self._observers:
            observer(seen)


class _Counted:
    """A streamed body of unknown length, which is observed when it has been sent, or its client has gone."""

    def __init__(self, parts: Iterable[bytes], request_id: str, observe: Callable[[int], None]) -> None:
        self._parts = parts
        self._request_id = request_id
        self._observe = observe
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            self._size += len(part)
            yield part

    def close(self) -> None:
        """The server calls it once."""
        answering = begin_answer(self._request_id)
        try:
            self._observe(self._size)
        finally:
            end_answer(answering)


def _observers() -> tuple[Observer, ...]:
    """Who is told of each request. They are called in this order, in the thread that answers, while
    `current_request_id` is that of the request. So each must be quick, and raise nothing."""
    slow = [partial(_log_slow, settings.SLOW_REQUEST_MS)] if settings.SLOW_REQUEST_MS else []
    return (*_web_metrics(), _log_access, *slow)


@cache
def _web_metrics() -> tuple[Observer, ...]:
    """What counts the requests of this process."""
    metrics = loaded_metrics()
    return (metrics.Process("web").observe,) if metrics else ()


def loaded_metrics() -> Any:
    """The module `metrics`. Without METRICS_PORT it is None, and nothing of prometheus_client is loaded."""
    if not settings.METRICS_PORT:
        return None
    try:
        from retwis_site.telemetry import metrics
    except OSError as error:  # a full disk: web processes and workers start without metrics
        _metrics.error("metrics are not counted: %s", error)
        return None
    return metrics


def _log_access(seen: Observation) -> None:
    """One line for each request. It says the name of the route and no address: a query or a path may be private.
    `record.seen` is the observation, for a form of the log with fields. The record is made here, since `info` of a
    logger would look for its caller, for each request."""
    if not _access.isEnabledFor(logging.INFO):
        return
    cause = f", cause {seen.failure}" if seen.failure else ""
    line = (
        f"{seen.method} {seen.route or '-'} {seen.status}, {seen.size} bytes, {seen.seconds * 1000:.1f} ms, "
        f"{seen.round_trips} round trips in {seen.seconds_in_store * 1000:.1f} ms, "
        f"from {seen.address or '-'}, uid {seen.uid or '-'}{cause}"
    )
    record = logging.LogRecord(_access.name, logging.INFO, "", 0, line, None, None)
    record.seen = seen
    _access.handle(record)


def _log_slow(least: int, seen: Observation) -> None:
    """A line for a request of `least` milliseconds or more, with what it has sent to the store."""
    if seen.seconds * 1000 < least:
        return
    all_trips = seen.recorded.round_trips
    slowest = sorted(range(len(all_trips)), key=lambda place: -all_trips[place].seconds)[:MOST_ROUND_TRIPS]
    shown = [f"#{place + 1} {_described(all_trips[place])}" for place in sorted(slowest)]
    _slow.warning(
        "%s %s %d took %.1f ms, %d round trips in %.1f ms, from %s%s",
        seen.method,
        seen.route or "-",
        seen.status,
        seen.seconds * 1000,
        seen.round_trips,
        seen.seconds_in_store * 1000,
        seen.address or "-",
        f": {'; '.join(shown)}" if shown else "",
        extra={"seen": seen},
    )


def _described(trip: RoundTrip[Command]) -> str:
    if not trip.commands:
        return f"{trip.seconds * 1000:.1f} ms, after {MOST_KEPT} commands: these are not kept"
    text = ""
    for number, command in enumerate(trip.commands):
        text += f"{', ' if number else ''}{logged_command(command)}"
        if len(text) > LONGEST_ROUND_TRIP:
            text = f"{text[:LONGEST_ROUND_TRIP]}..."
            break
    return f"{trip.seconds * 1000:.1f} ms, {trip.number} commands: {text}"
