"""What a repository may raise. `errors.py` says which page each becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise


class NotFound(Exception):
    """There is no such user or post, and never was under this name."""


class Gone(Exception):
    """It was here and has been deleted."""

    told: StrPromise  # the sentence by which its page says so


class BadCursor(Exception):
    """A `?before=`, or another choice in an address, that no page of this site has ever handed out."""


class TooOften(Exception):
    """Somebody did something more often than they may: how often, as the log has it; `told`, what they are told; and
    `retry_after`, seconds until they may again."""

    def __init__(self, often: str, told: str, retry_after: int) -> None:
        super().__init__(often)
        self.told = told
        self.retry_after = retry_after


class StoreError(Exception):
    """The store did not answer, or refused: nothing is known, so nothing may be concluded from it."""


class StoreRefused(StoreError):
    """The store answered that it cannot carry out a command, such as one for a hash on a key that holds a list."""


class StoreReadOnly(StoreRefused):
    """The store answers reads but takes no write: a replica, out of memory, or a disk that fails."""
