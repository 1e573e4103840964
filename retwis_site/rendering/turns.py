"""Requests of `slow_views` wait for their turn, under every web server."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from retwis_site.fair_queue import TURN
from retwis_site.features import queue_of
from retwis_site.http.client_ip import client_address
from retwis_site.rendering.error_pages import too_busy


class Turns:
    """Waits for the turn of a request that has none, and refuses a request whose queue is full.

    It is the last middleware: the body has arrived, so that a client that sends slowly holds no turn.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        queue = queue_of(request.method or "", request.path)
        if queue is None or TURN in request.META:
            return self._get_response(request)
        with queue.turn(client_address(request)) as request.META[TURN]:
            return self._get_response(request)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        turn = request.META.get(TURN)
        return None if turn is None or turn.result() else too_busy(request)
