"""What the processes of a test do. A process that is spawned imports the module of its function: this one is light."""

import os
import signal
import threading


def write_pid(folder):
    (folder / str(os.getpid())).touch()


def sleep(folder):
    write_pid(folder)
    threading.Event().wait(60)


def deaf(folder):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep(folder)


def fail(folder):
    write_pid(folder)
    raise SystemExit(3)
