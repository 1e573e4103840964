"""`manage.py serve`: the whole site in one command."""

import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from retwis_site.exceptions import StoreError
from retwis_site.features import features
from retwis_site.maintenance.server_advice import is_loopback
from retwis_site.management.base import StoreCommand, number
from retwis_site.server.processes import Processes, end_with_parent
from retwis_site.server.worker import work
from retwis_site.store import embedded, schema
from retwis_site.store.client import Store
from retwis_site.store.embedded import EmbeddedServerError

logger = logging.getLogger("retwis.store")

# Bytes: glibc gives such blocks back to the system at once. Without a fixed number it keeps the 19 MiB of a password
# hash in each thread that has made one.
GIVEN_BACK_FROM = 1 << 20
EVERY_ADDRESS = {"0.0.0.0", "::", ""}  # noqa: S104  as hosts to listen on
CHECKS_EVERY = 1.0  # seconds between two checks of the embedded server

NEEDS = {
    schema.StoreState.OLDER: "An older version of the site has written this store. Stop the site and run: "
    "manage.py db upgrade",
    schema.StoreState.FOREIGN: "The official Retwis has written this store, so the site only reads it. Stop the site "
    "and run: manage.py adopt --dry-run (docs/adopting.md)",
}
NEEDS_A_PROXY = (
    "Other machines may reach this address. Put a reverse proxy in front of it: TLS, slow clients by the thousand, too "
    "many requests or connections of one address, and too many addresses at once are its work (docs/running.md, "
    "Deploying)."
)


class Command(StoreCommand):
    patience = 0.0  # it asks for pages and jobs, which wait shorter
    help = (
        "Serve the site with a production server: WEB_WORKERS processes on PORT, and one process that runs `deliver`. "
        "Without REDIS_URL it runs the embedded server, and fills it with a demo community if it is empty."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=number(1, 65535), default=settings.PORT, help="default: PORT, or 8000")
        parser.add_argument(
            "--workers", type=number(1, 999), default=settings.WEB_WORKERS, help="default: WEB_WORKERS, or 2"
        )

    def run(self, store: Store, **options: Any) -> None:
        host, port = options["host"], options["port"]
        _require_free_port(host, port)
        _require_another_port_for_metrics(host, port)
        self._welcome(store)
        greetings = [] if settings.REDIS_URL else self._prepare(store)
        call_command("collectstatic", interactive=False, verbosity=0)
        shown = f"[{host}]" if ":" in host else host
        self.say(f"\nRetwis is at http://{shown}:{port}{settings.SCRIPT_NAME}   (Ctrl-C stops it)")
        if not is_loopback(host):
            self.say(NEEDS_A_PROXY)
        for greeting in filter(None, greetings):
            self.say(greeting)
        os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(GIVEN_BACK_FROM))  # workers read it when they start
        with nullcontext() if settings.REDIS_URL else _keeping_the_store():
            _serve(host, port, options["workers"])

    def _welcome(self, store: Store) -> None:
        """Mark an empty store as this site's, and say what another one needs. The site starts all the same, also when
        the store does not answer yet; only a store of a newer site is refused."""
        try:
            state = schema.examine(store)
            if state is schema.StoreState.EMPTY:
                schema.mark(store)
        except schema.NewerSchema:
            raise
        except StoreError as error:
            logger.error("%s", error)
            return
        if state in NEEDS:
            self.say(NEEDS[state])

    def _prepare(self, store: Store) -> list[str]:
        """Run the `before_serving` of all features. Returns their texts."""
        return [feature.before_serving(store, self.say) for feature in features() if feature.before_serving]


def _serve(host: str, port: int, workers: int) -> None:
    """Run the processes of the site until a signal stops it."""
    processes = Processes()
    for stops in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stops, lambda *_: processes.stop())
    try:
        for number in range(1, workers + 1):
            processes.start(f"web worker {number}", work, host, port, number, workers)
        processes.start("deliver", _deliver)
        processes.keep()
    finally:
        processes.end()


@contextmanager
def _keeping_the_store() -> Iterator[None]:
    """For the time of the block: restart the embedded server when it dies, and flush its files to disk."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(CHECKS_EVERY):
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


def _require_free_port(host: str, port: int) -> None:
    """Raise CommandError now, instead of letting each worker fail."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            of_port = error.errno in {errno.EADDRINUSE, errno.EACCES}  # without root, ports below 1024 are refused
            fix = "Choose another port: make run PORT=9000" if of_port else "Choose another --host"
            raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}. {fix}") from error


def _require_another_port_for_metrics(host: str, port: int) -> None:
    """Raise CommandError where the worker would serve metrics at the address of the pages."""
    metrics_host = settings.METRICS_HOST
    if port == settings.METRICS_PORT and (host == metrics_host or not {host, metrics_host}.isdisjoint(EVERY_ADDRESS)):
        raise CommandError(f"METRICS_PORT={port} is the port of the pages, too. Set another one, such as {port + 1}.")
