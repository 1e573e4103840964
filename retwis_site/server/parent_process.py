"""Processes that `manage.py serve` starts end with it, however it ended."""

import os
import signal
import threading
import time

PARENT = "RETWIS_SERVE_PID"  # in the environment: who may be gone before its child has begun to look
LOOKS_EVERY = 1.0  # seconds
ENDS_WITHIN = 2.0  # seconds


def be_parent() -> None:
    """Tell the processes that this one starts whom to end with."""
    os.environ[PARENT] = str(os.getpid())


def end_with_parent() -> None:
    """From now on, send this process SIGTERM when its parent is gone: killed, it could not do so itself. Nor could it
    then do what it does with a process that goes on for all that: end it."""
    threading.Thread(target=_watch, args=(int(os.environ[PARENT]),), name="end with parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOKS_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ENDS_WITHIN)
    os.kill(os.getpid(), signal.SIGKILL)
