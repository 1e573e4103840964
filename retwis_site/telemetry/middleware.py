"""Observes each request: it measures it, gives its answer the request's id, and tells the observers."""

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

from django.http import HttpRequest, HttpResponse

from retwis_site.http.client_ip import address_in
from retwis_site.store.connection.recorder import Measuring, Watch
from retwis_site.telemetry.observation import BEGAN, FAILURE, Observation
from retwis_site.telemetry.observers import observers
from retwis_site.telemetry.request_ids import HEADER, Answering, request_id_in


class ObservedRequests:
    """The outermost middleware, so static files and refused requests are observed too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._observers = observers()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = request.META.get(BEGAN) or perf_counter()
        request_id = request_id_in(request.META)
        with Answering(request_id):
            with Measuring() as recorded:
                response = self._get_response(request)
            response.headers[HEADER] = request_id

            def observe(size: int) -> None:
                seen = _observation(request, response, request_id, size, perf_counter() - began, recorded)
                for observer in self._observers:
                    observer(seen)

            if response.streaming and "Content-Length" not in response.headers:
                streamed: Any = response
                streamed.streaming_content = _Counted(streamed.streaming_content, request_id, observe)
            else:
                observe(0 if request.method == "HEAD" else _size(response))
        return response


def _observation(
    request: HttpRequest, response: HttpResponse, request_id: str, size: int, seconds: float, recorded: Watch
) -> Observation:
    viewer: Any = getattr(request, "viewer", None)  # an answer of an early middleware has none
    match = request.resolver_match
    round_trips = recorded.round_trips
    return Observation(
        method=request.method or "",
        route=match.view_name if match else "",
        status=response.status_code,
        size=size,
        seconds=seconds,
        round_trips=len(round_trips),
        seconds_in_store=sum([one.seconds for one in round_trips], 0.0),
        request_id=request_id,
        address=address_in(request.META),
        uid=viewer.uid if viewer is not None and viewer.signed_in else None,
        failure=request.META.get(FAILURE),
        recorded=recorded,
    )


def _size(response: HttpResponse) -> int:
    return int(response.headers["Content-Length"]) if response.streaming else len(response.content)


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
        with Answering(self._request_id):
            self._observe(self._size)
