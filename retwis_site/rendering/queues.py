"""Requests of `Feature.slow_views` wait in their queue, under every web server."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from retwis_site.fair_queue import PLACE
from retwis_site.features import queue_of
from retwis_site.http.client_ip import client_address
from retwis_site.rendering.error_pages import too_busy


class Queues:
    """Waits until the request may begin, and refuses it when too many wait. `serve` has already waited.

    It is the last middleware: the body has arrived, so a client that sends slowly keeps no place occupied.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        queue = queue_of(request.method or "", request.path)
        if queue is None or PLACE in request.META:
            return self._get_response(request)
        with queue.place(client_address(request)) as request.META[PLACE]:
            return self._get_response(request)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        place = request.META.get(PLACE)
        return None if place is None or place.result() else too_busy(request)
