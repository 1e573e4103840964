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

from django.conf import settings
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from retwis_site.server.connections import MOST_CONNECTIONS, Connections
from retwis_site.server.loop import Loop
from retwis_site.server.parent_process import end_with_parent
from retwis_site.server.processors import stay_on_one

HEADER_TIMEOUT = 15_000  # milliseconds for a request's head, and between two requests of a connection
MOST_HEADER_BYTES = 64 * 1024
WAITING_CONNECTIONS = 4096  # that the system has accepted and granian has not

logger = logging.getLogger("retwis.serve")


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

    most = _most_connections()
    server = Server(
        application,
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        http=HTTPModes.http1,
        websockets=False,
        backlog=WAITING_CONNECTIONS,
        backpressure=most,
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_TIMEOUT, max_buffer_size=MOST_HEADER_BYTES),
        log_level=LogLevels.error,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    if not settings.TRUSTED_PROXIES:  # otherwise all connections are those of the proxies
        Connections(port, most).watch()
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
