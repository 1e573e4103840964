"""fakeredis that reads commands quicker: its own way copies the rest of a pipeline for each part of each command."""

from collections.abc import Generator
from typing import Any

import fakeredis
import hiredis


class Connection(fakeredis.FakeRedisConnection):
    """A connection whose server reads commands with hiredis: a command has the form of a reply that is a list."""

    def _connect(self) -> Any:
        socket = super()._connect()
        socket._parser.close()
        socket._parser = _commands_of(socket)
        socket._parser.send(None)
        return socket


def _commands_of(socket: Any) -> Generator[None, bytes, None]:
    reader = hiredis.Reader()
    while True:
        reader.feed((yield))
        while not socket._paused and (command := reader.gets()) is not False:
            socket._process_command(command)
