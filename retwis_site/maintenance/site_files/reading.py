"""Reads JSON lines that may be damaged."""

import json
from collections.abc import Iterator, Mapping
from typing import IO

from retwis_site.features import Line, LineField
from retwis_site.maintenance.site_files.lines import LONGEST
from retwis_site.maintenance.site_files.streams import DAMAGED

NEWER = "A newer version of the site has written this file. Import it with that version."
NOT_COMPLETE = "The file is damaged or not complete. Export it again."

_MISSING = object()  # no field accepts it


class BadFile(Exception):
    """The file is damaged, or it is none of this site. The message names the line and the fix."""

    def __init__(self, number: int, what: str, fix: str = NOT_COMPLETE) -> None:
        super().__init__(f"Line {number}: {what}. {fix}")


def raw_lines(content: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; a line that is too long comes without its line break. Raises BadFile."""
    number = 0
    try:
        while raw := content.readline(LONGEST):
            number += 1
            yield raw
    except DAMAGED as error:
        raise BadFile(number + 1, f"it cannot be decompressed: {error}") from error


def parsed(number: int, raw: bytes) -> Line:
    """The line `number`, an object with a type. Raises BadFile."""
    if not raw.endswith(b"\n"):
        raise BadFile(number, "it is too long, or has no line break")
    try:
        line = json.loads(raw.decode())
    except (ValueError, RecursionError):
        raise BadFile(number, "it is no JSON") from None
    if not isinstance(line, dict) or not isinstance(line.get("type"), str):
        raise BadFile(number, "it is no object with a type")
    return line


def check_fields(number: int, line: Line, fields: Mapping[str, LineField]) -> None:
    """Raises BadFile for a line whose fields are not these."""
    for name, expected in fields.items():
        if (name in line or expected.required) and not expected.accepts(line.get(name, _MISSING)):
            raise BadFile(number, f"{name} must be {expected.what}")
