"""`manage.py serve`: the whole site in one command."""

import errno
import logging
import multiprocessing
import signal
import socket
import threading
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from granian import Granian
from granian.constants import Interfaces, Loops

from retwis_site.features import features
from retwis_site.management.base import StoreCommand
from retwis_site.server.parent_process import be_parent, end_with_parent
from retwis_site.store import embedded
from retwis_site.store.client import Store
from retwis_site.store.embedded import EmbeddedServerError

logger = logging.getLogger("retwis.store")
delivery = logging.getLogger("retwis.deliver")

STOPS_WITHIN = 5  # seconds that a worker has for the requests under way; one that just starts may miss the signal
LOOKS_EVERY = 1.0  # seconds, after the embedded server and the worker that delivers


class Command(StoreCommand):
    help = (
        "Serve the site under a production WSGI server, with WEB_WORKERS processes on PORT and one that delivers. "
        "Without REDIS_URL the embedded server runs as long, and a demo community is put into it while it is empty."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=_port, default=settings.PORT, help="default: PORT, or 8000")
        parser.add_argument("--workers", type=_count, default=settings.WEB_WORKERS, help="default: WEB_WORKERS, or 2")

    def run(self, store: Store, **options: Any) -> None:
        host, port = options["host"], options["port"]
        _refuse_taken(host, port)
        greetings = [] if settings.REDIS_URL else self._prepare(store)
        call_command("collectstatic", interactive=False, verbosity=0)
        self.say(f"\nRetwis is at http://{host}:{port}   (Ctrl-C stops it)")
        for greeting in filter(None, greetings):
            self.say(greeting)
        be_parent()
        # Not fork: a worker would begin with this process's threads, locks and signal handlers.
        multiprocessing.set_start_method("spawn", force=True)
        server = Granian(
            "retwis_site.server.rsgi:application",
            address=host,
            port=port,
            interface=Interfaces.RSGI,
            workers=options["workers"],
            loop=Loops.asyncio,
            respawn_failed_workers=True,
            workers_kill_timeout=STOPS_WITHIN,
            websockets=False,
            working_dir=Path(settings.BASE_DIR),
        )
        # granian takes a terminal that closes for a wish to reload; it is one to stop.
        server.on_startup(lambda: signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM)))
        with _delivering(), nullcontext() if settings.REDIS_URL else _keeping_the_store():
            server.serve()

    def _prepare(self, store: Store) -> list[str]:
        """What features do first on the embedded server; returns what they want to be said."""
        return [feature.before_serving(store, self.say) for feature in features() if feature.before_serving]


@contextmanager
def _delivering() -> Iterator[None]:
    """Have one worker for the outbox, in a process of its own; when it dies, another."""
    # Ctrl-C while it still starts would be a traceback; it is told to stop below anyway.
    at_ctrl_c = signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = _start_delivering()
    signal.signal(signal.SIGINT, at_ctrl_c)
    stop = threading.Event()

    def watch() -> None:
        nonlocal worker
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as above; only the main thread may ignore it
        while not stop.wait(LOOKS_EVERY):
            if not worker.is_alive():
                delivery.error("deliver: the worker has died; another one begins")
                worker = _start_delivering()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()
        worker.terminate()
        worker.join()


def _start_delivering() -> multiprocessing.Process:
    worker = multiprocessing.Process(target=_deliver, name="deliver")
    worker.start()
    return worker


@contextmanager
def _keeping_the_store() -> Iterator[None]:
    """Start the embedded server again when it dies, but not once we stop it ourselves; and have its files on disk."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(LOOKS_EVERY):
            try:
                embedded.revive()
                embedded.sync()
            except (EmbeddedServerError, OSError) as error:
                logger.error("%s", error)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


def _deliver() -> None:
    django.setup()
    end_with_parent()
    call_command("deliver", verbosity=0)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536):
        raise ArgumentTypeError(f"{text!r} is no port: a number from 1 to 65535 is needed")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:4]) < 1000):
        raise ArgumentTypeError(f"{text!r} is no number of workers: one at least is needed")
    return int(text)


def _refuse_taken(host: str, port: int) -> None:
    """Say so now, rather than let the workers fail one after the other."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            fix = (
                "Choose another one: make run PORT=9000" if error.errno == errno.EADDRINUSE else "Choose another --host"
            )
            raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}. {fix}") from error
