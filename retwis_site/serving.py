"""The WSGI application as `manage.py serve` runs it: its workers end when the command ends, and only then.

A worker whose parent was killed would keep the port, and the embedded server, from the next `make run`. And Ctrl-C,
which a terminal sends to every process of a group, must reach the command alone: a worker that is told twice to stop,
by the terminal and by the command, can miss both (granian 2.8).
"""

import os
import signal
import threading
import time

from retwis_site.wsgi import application as application

LOOKS_EVERY = 1.0  # seconds


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOKS_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)


os.setsid()
threading.Thread(target=_end_with, args=(os.getppid(),), name="end with serve", daemon=True).start()
