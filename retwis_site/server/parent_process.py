"""The processes that `manage.py serve` starts end when it ends, even when it was killed."""

import os
import signal
import threading
import time

PARENT = "RETWIS_SERVE_PID"  # an environment variable, since the parent may end before the child can ask for its pid
LOOKS_EVERY = 1.0  # seconds
ENDS_WITHIN = 2.0  # seconds


def be_parent() -> None:
    """Make this process the parent: the processes that it starts find its pid in the environment."""
    os.environ[PARENT] = str(os.getpid())


def end_with_parent() -> None:
    """Start a thread that sends this process SIGTERM when its parent is gone, and SIGKILL after ENDS_WITHIN seconds.

    The parent does both itself unless it was killed."""
    threading.Thread(target=_watch, args=(int(os.environ[PARENT]),), name="end with parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOKS_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ENDS_WITHIN)
    os.kill(os.getpid(), signal.SIGKILL)
