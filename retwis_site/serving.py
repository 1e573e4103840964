"""The WSGI application as `manage.py serve` runs it: its workers end when the command ends, however that was.

A worker whose parent was killed would keep the port, and the embedded server, from the next `make run`.
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


threading.Thread(target=_end_with, args=(os.getppid(),), name="end with serve", daemon=True).start()
