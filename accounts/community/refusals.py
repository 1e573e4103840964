"""What staff may not do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise


class Refused(Exception):
    """The act was not done. `message` says why."""

    message: StrPromise

    def __str__(self) -> str:
        return str(self.message)
