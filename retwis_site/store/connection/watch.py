"""What a watched command knows of itself: which method asked for it, and how many bytes its reply had.

The inspector shows both. Commands that nobody watches are plain tuples.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from hiredis import pack_command
from redis import ResponseError

from retwis_site.store.connection.recorder import Command

STORE = str(Path(__file__).parents[1])  # the frames of this folder ask for somebody else
_pack: Callable[[Any], bytes] = pack_command
_STATUS = frozenset({"SET", "LTRIM", "RESTORE", "TYPE", "PING"})  # commands whose texts come without their length


class Asked(tuple[object, ...]):
    """A command that is watched. `received`: the bytes of its reply, also of a refusal; of a command that a cluster has
    redirected, those of all replies."""

    asker: str = ""  # such as `HomeTimelines.page`
    received: int = 0

    def note(self, reply: Any) -> None:
        """The reply has arrived. redis-py has not converted it yet."""
        is_status = self[0] in _STATUS and isinstance(reply, str)
        self.received += len(reply) + 3 if is_status else _size(reply)

    @property
    def sent(self) -> int:
        """The bytes of the command as it is sent."""
        return len(_pack(tuple(self)))


def asked(command: Command) -> Asked:
    """This command, asked for by the first caller outside of the store."""
    watched = Asked(command)
    watched.asker = _asker(sys._getframe(1))
    return watched


def _size(reply: Any) -> int:
    """The bytes of a reply as it was sent, in RESP 2. Of a refusal redis-py has cut off the first word."""
    if reply is None:
        return 5  # $-1 or *-1
    if isinstance(reply, str):
        return _bulk(len(reply) if reply.isascii() else len(reply.encode(errors="surrogateescape")))
    if isinstance(reply, list):
        return len(str(len(reply))) + 3 + sum(map(_size, reply))
    if isinstance(reply, bytes):
        return _bulk(len(reply))
    if isinstance(reply, ResponseError):
        return len(str(reply).encode()) + 3
    return len(str(reply)) + 3


def _bulk(length: int) -> int:
    return length + len(str(length)) + 5


_askers: dict[CodeType, str] = {}  # by the code of a frame; empty for the store's own


def _asker(frame: FrameType | None) -> str:
    while frame is not None:
        name = _askers.get(frame.f_code)
        if name is None:
            name = _askers[frame.f_code] = _name(frame.f_code)
        if name:
            return name
        frame = frame.f_back
    return ""


def _name(code: CodeType) -> str:
    """`HomeTimelines.page` for a method, `news.ask_new` for a function of news.py; empty for code of the store."""
    if code.co_filename.startswith(STORE):
        return ""
    name = code.co_qualname.partition(".<locals>")[0]
    return name if "." in name else f"{Path(code.co_filename).stem}.{name}"
