"""What a watch notes beside the commands: which method asked for each, and the bytes that travelled.

The inspector shows both at the end of every page, so they are noted in little time. Commands that nobody watches are
plain tuples.
"""

import sys
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from retwis_site.store.connection.recorder import Command

STORE = str(Path(__file__).parents[1])  # the code of this folder asks for somebody else


class Asked(tuple[object, ...]):
    """A command that is watched. `code`: of the method that asked for it."""

    code: CodeType | None = None

    @property
    def asker(self) -> str:
        """Such as `HomeTimelines.page`."""
        return _name(self.code) if self.code is not None else ""


def asked(command: Command) -> Asked:
    """This command, asked for by the first caller outside of the store: of a method of `Commands`, of `Pipe` or
    `Store`."""
    watched = Asked(command)
    frame = sys._getframe(2)
    code = frame.f_code
    while code.co_filename.startswith(STORE) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    watched.code = code
    return watched


class CountedSocket:
    """The socket of a connection while replies are read from it. `received`: their bytes."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.received = 0

    def recv_into(self, buffer: bytearray) -> int:
        length: int = self._socket.recv_into(buffer)
        self.received += length
        return length

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


@cache
def _name(code: CodeType) -> str:
    """`HomeTimelines.page` for a method, `news.ask_new` for a function of news.py."""
    name = code.co_qualname.partition(".<locals>")[0]
    return name if "." in name else f"{Path(code.co_filename).stem}.{name}"
