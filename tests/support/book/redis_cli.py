"""Replies as redis-cli prints them. The replies come from a connection of their own: redis-py does not tell a status
from a string."""

import shlex
import socket
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Status:
    text: str


@dataclass(frozen=True)
class Failure:
    text: str


class RedisCli:
    """A connection to the server on a unix socket: `with RedisCli(path, user, password) as cli: ...`"""

    def __init__(self, path: str, user: str, password: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._file = self._socket.makefile("rb")
        self._ask(["AUTH", user, password])

    def __enter__(self) -> "RedisCli":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        self._file.close()
        self._socket.close()

    def printed(self, command: str) -> str:
        """What redis-cli prints for a command."""
        return shown(self._ask(shlex.split(command)))

    def _ask(self, words: list[str]) -> Any:
        parts = [word.encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self._reply()

    def _reply(self) -> Any:
        line = self._file.readline().removesuffix(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return Status(rest.decode())
        if kind == b"-":
            return Failure(rest.decode())
        if kind == b":":
            return int(rest)
        if int(rest) < 0:
            return None
        if kind == b"$":
            return self._file.read(int(rest) + 2)[:-2]
        return [self._reply() for _ in range(int(rest))]


def shown(reply: Any) -> str:
    """A reply as redis-cli prints it, without the last line break."""
    match reply:
        case Status(text):
            return text
        case Failure(text):
            return f"(error) {text}"
        case None:
            return "(nil)"
        case int(number):
            return f"(integer) {number}"
        case bytes(string):
            return quoted(string)
        case []:
            return "(empty array)"
        case _:
            return numbered(reply)


def numbered(replies: list[Any]) -> str:
    """An array: a line for each reply, its number before it."""
    width = len(str(len(replies)))
    indent = "\n" + " " * (width + 2)
    return "\n".join(
        f"{number:>{width}}) {shown(one).replace(chr(10), indent)}" for number, one in enumerate(replies, 1)
    )


ESCAPES = {b'"': '\\"', b"\\": "\\\\", b"\n": "\\n", b"\r": "\\r", b"\t": "\\t", b"\a": "\\a", b"\b": "\\b"}


def quoted(string: bytes) -> str:
    """A string in quotes. Bytes that are no printable ASCII are escaped."""
    chars = (bytes([byte]) for byte in string)
    return f'"{"".join(ESCAPES.get(char) or _plain(char) for char in chars)}"'


def _plain(char: bytes) -> str:
    return char.decode() if b" " <= char <= b"~" else f"\\x{char[0]:02x}"
