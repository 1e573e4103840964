"""The event loop of a web worker."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

Ts = TypeVarTuple("Ts")


class Loop(asyncio.SelectorEventLoop):
    """A coroutine that granian hands over begins in the thread that hands it over, and goes to the loop's thread only
    when it has to wait. Without this, home reaches 0.91 of its rate (2026-11-22, docs/decisions.md)."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = asyncio.Handle(lambda: None, (), self)  # nothing is left to do

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *arguments: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if arguments and asyncio.iscoroutine(arguments[0]):
            try:
                arguments[0].send(None)
            except StopIteration:
                return self._begun
        return super().call_soon_threadsafe(callback, *arguments, context=context)
