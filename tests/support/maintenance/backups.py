"""Backups that tests make and restore, and a server that plays its part of SYNC."""

import fcntl
import socket
import struct
import termios
import threading
from contextlib import contextmanager
from pathlib import Path

import redis
from django.conf import settings
from django.core.management import call_command

from tests.support.processes.processes import wait_until

HIDDEN = ".unfinished-"


def back_up(folder, *options):
    """Make a backup in `folder`. Returns its folder."""
    before = complete(folder)
    call_command("backup", str(folder), *options, verbosity=0)
    (made,) = complete(folder) - before
    return made


def restore(source, *options):
    call_command("restore", str(source), *options, verbosity=0)


def complete(folder):
    """The folders in a folder of backups that look complete."""
    return {path for path in folder.glob("*") if not path.name.startswith(HIDDEN)}


def saved(raw, folder):
    """Let the server of the tests save. Returns its dump.rdb, moved to `folder`."""
    wait_until(raw.save, "the end of the save for an earlier backup")
    return (Path(settings.STORE_DIR) / "dump.rdb").rename(folder / "dump.rdb")


@contextmanager
def scripted_server(folder, *parts):
    """A server that answers REPLCONF with +OK and SYNC with these parts, each sent alone; then it ends the connection.

    Yields a client of it."""
    path = f"{folder}/scripted.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        threading.Thread(target=_play, args=(listener, parts), daemon=True).start()
        with redis.Redis(unix_socket_path=path, driver_info=None, protocol=2, decode_responses=True) as client:
            yield client


def _play(listener, parts):
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as sent:
        while line := sent.readline():
            if line == b"REPLCONF\r\n":
                connection.sendall(b"+OK\r\n")
            elif line == b"SYNC\r\n":
                for part in parts:
                    connection.sendall(part)
                    wait_until(lambda: not _unread(connection), "the client to read")
                return


def _unread(connection):
    """The bytes that the other side has not read yet."""
    return struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0]
