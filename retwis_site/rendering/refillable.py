"""HTML that is kept, with slots that are filled again and again."""

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retwis_site.rendering.fragments import Html

_NEVER = object()  # no state is equal to it


class Refillable:
    """HTML with open slots that keeps how it was filled last: an old post looks the same all day to most viewers."""

    __slots__ = ("_filled", "_names")

    def __init__(self, pieces: Sequence[bytes], names: Sequence[str]) -> None:
        """`names`: of the slots between the pieces."""
        self._names = tuple(names)
        ends = accumulate(map(len, pieces[:-1]))
        # What it was filled for, the HTML, and where each slot begins and ends in it. An array takes the least memory.
        places = array("I", [place for end in ends for place in (end, end)])
        self._filled: tuple[object, bytes, array[int]] = (_NEVER, b"".join(pieces), places)

    def filled(self, state: object) -> bytes | None:
        """The HTML, when it was filled for an equal `state` last."""
        last, html, _ = self._filled
        return html if last == state else None

    def filled_but(self, state: object, name: str, value: "Html") -> bytes | None:
        """The HTML with this value in a slot that it has once, if the others were filled for an equal `state` last."""
        last, html, places = self._filled
        if last != state:
            return None
        at = 2 * self._names.index(name)
        return b"".join((html[: places[at]], value.encode(), html[places[at + 1] :]))

    def fill(self, state: object, values: Mapping[str, "Html"]) -> bytes:
        """The HTML with these values, which follow from `state`."""
        _, html, places = self._filled
        parts: list[bytes] = []
        filled = array("I")
        read = written = 0
        for name, start, end in zip(self._names, places[::2], places[1::2], strict=True):
            value = values[name].encode()
            parts += [html[read:start], value]
            written += start - read
            filled.extend((written, written + len(value)))
            written, read = written + len(value), end
        html = b"".join((*parts, html[read:]))
        self._filled = state, html, filled
        return html
