"""Processes that `manage.py serve` starts end with it, however it ended."""

import os
import signal
import threading
import time

LOOKS_EVERY = 1.0  # seconds


def end_with_parent() -> None:
    """From now on, send this process SIGTERM when its parent is gone: killed, it could not do so itself."""
    threading.Thread(target=_watch, args=(os.getppid(),), name="end with parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOKS_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
