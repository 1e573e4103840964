"""A web worker of `manage.py serve`: granian with the site behind it, in this process.

Each worker has a socket of its own at the same port, and the system shares the connections among them.

granian's own command would start these processes too. But it ends the whole site when a worker dies twice within a few
seconds, and workers do die, for example when memory is short.
"""

import asyncio
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from retwis_site.server.processes import end_with_parent, stay_on_one

HEADER_TIMEOUT = 15_000  # milliseconds for a request's head, and between two requests of a connection
MOST_HEADER_BYTES = 64 * 1024
MOST_CONNECTIONS = 8192  # of a worker; granian's own limit lets a thousand silent connections stop every answer
WAITING_CONNECTIONS = 4096  # that the system has accepted and granian has not

logger = logging.getLogger("retwis.serve")

Ts = TypeVarTuple("Ts")


class Loop(asyncio.SelectorEventLoop):
    """A coroutine that granian hands over begins in the thread that hands it over, and goes to the loop's thread only
    when it has to wait. Without this, home reaches 0.91 of its rate (2026-11-22, docs/decisions.md)."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = asyncio.Handle(lambda: None, (), self)  # nothing is left to do

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *arguments: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if arguments and asyncio.iscoroutine(arguments[0]):
            try:
                arguments[0].send(None)
            except StopIteration:
                return self._begun
        return super().call_soon_threadsafe(callback, *arguments, context=context)


def work(host: str, port: int, number: int, workers: int) -> None:
    """Serve until SIGTERM. `number`: of this worker, from 1 to `workers`."""
    stay_on_one(number, workers)
    end_with_parent()
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(_serve(host, port, number))
    sys.stderr.flush()
    os._exit(0)  # granian's own threads abort the process when the interpreter shuts down normally


async def _serve(host: str, port: int, number: int) -> None:
    from retwis_site.server.rsgi import application  # loads the site: in this process, not in that of `serve`

    server = Server(
        application,
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        http=HTTPModes.http1,
        websockets=False,
        backlog=WAITING_CONNECTIONS,
        backpressure=_most_connections(),
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_TIMEOUT, max_buffer_size=MOST_HEADER_BYTES),
        log_level=LogLevels.error,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    server.on_startup(lambda: logger.info("web worker %d listens", number))
    await server.serve()


def _most_connections() -> int:
    """How many connections this process may have. Half of its files, whose number is raised as far as the system
    allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * MOST_CONNECTIONS)
    files = max(soft, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return min(MOST_CONNECTIONS, files // 2)
