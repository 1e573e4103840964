"""`manage.py deliver`"""

import gc
import logging
import os
import signal
import socket
from typing import Any

from django.core.management.base import CommandParser

from retwis_site.exceptions import StoreError
from retwis_site.jobs.outbox import Outbox
from retwis_site.jobs.worker import drain, stop
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store

logger = logging.getLogger("retwis.deliver")

LOOKS_EVERY = 0.05  # seconds: a post for very many waits half of that, and a look is one round trip
AFTER_A_FAILURE = 5.0  # of the store


class Command(StoreCommand):
    help = "Finish what others left: deliveries, follows, deletions, logouts whose process died. Several may run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="finish what is due and exit; for a scheduled task")

    def run(self, store: Store, **options: Any) -> None:
        # It makes tuples by the thousand, none in a circle: looking for some took a quarter of the time.
        gc.set_threshold(50_000, 20, 100)
        worker = f"{socket.gethostname()}:{os.getpid()}"
        if options["once"]:
            _bring_in_strays(store)
            self.say(f"{drain(store, worker)} finished.")
            return
        stop.clear()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        self.say("Watching the outbox; Ctrl-C ends it.")
        pause, strays_are_in = LOOKS_EVERY, False
        while not stop.wait(pause):
            try:
                if not strays_are_in:  # in here, since the store may be away while the worker starts
                    _bring_in_strays(store)
                    strays_are_in = True
                drain(store, worker)
                pause = LOOKS_EVERY
            except StoreError as error:
                logger.error("deliver: %s", error)
                pause = AFTER_A_FAILURE


def _bring_in_strays(store: Store) -> None:
    """Intents from when OUTBOX_SHARDS was another number."""
    outbox = Outbox(store)
    for found in outbox.misplaced():
        for misplaced in found:
            outbox.move(*misplaced)
