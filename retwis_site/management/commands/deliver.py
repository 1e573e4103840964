"""`manage.py deliver`"""

import logging
import os
import signal
import socket
from typing import Any

from django.core.management.base import CommandParser

from retwis_site.exceptions import StoreError
from retwis_site.jobs.outbox import Heartbeat, Outbox
from retwis_site.jobs.worker import drain, rounds, stop
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from retwis_site.telemetry.middleware import loaded_metrics

logger = logging.getLogger("retwis.deliver")

POLL_EVERY = 0.05  # seconds; a post for very many followers waits half of that. A poll is one round trip
PAUSE_AFTER_FAILURE = 5.0  # seconds, when the store fails


class Command(StoreCommand):
    patience = 0.0  # a job goes on later, and its lease is short
    help = "Finish the due jobs: deliveries to many followers, and work that a killed process left. Several may run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="finish the due jobs and exit; for a scheduled task")

    def run(self, store: Store, **options: Any) -> None:
        worker = f"{socket.gethostname()}:{os.getpid()}"
        heartbeat = Heartbeat(store)
        if options["once"]:
            heartbeat.beat()
            _move_misplaced(store)
            self.say(f"{drain(store, worker)} jobs finished.")
            return
        stop.clear()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        self.say("Waiting for jobs (Ctrl-C stops it)")
        self.stdout.flush()  # systemd's journal would have it only when the worker ends
        pause, moved = POLL_EVERY, False
        metrics = loaded_metrics()
        publish = metrics.WorkerMetrics(store).publish if metrics else lambda finished: None
        while not stop.wait(pause):
            publish({})  # also while the store is down
            try:
                if not moved:  # inside the loop, since the store may be down while the worker starts
                    _move_misplaced(store)
                    moved = True
                for finished in rounds(store, worker):
                    heartbeat.beat()
                    publish(finished)
                if pause == PAUSE_AFTER_FAILURE:
                    logger.warning("deliver: the store answers again")
                pause = POLL_EVERY
            except StoreError as error:
                logger.error("deliver: %s", error)
                pause = PAUSE_AFTER_FAILURE


def _move_misplaced(store: Store) -> None:
    """Move the jobs that were added under another OUTBOX_SHARDS to the keys that workers read."""
    outbox = Outbox(store)
    for chunk in outbox.misplaced():
        for misplaced in chunk:
            outbox.move(*misplaced)
