"""The format of a whole site's file: JSON lines. docs/export.md describes it; a test checks that."""

import json
from collections.abc import Mapping

from retwis_site.features import Line
from retwis_site.rendering.dates import iso
from retwis_site.store import schema

FORMAT, VERSION = "retwis-site", 1
PERSONAL = "retwis-export"  # the format of a personal download, which `import_account` reads
LONGEST = 1 << 20  # bytes of a line


def encoded(line: Line) -> bytes:
    """A line as it stands in the file. The same line always gives the same bytes."""
    return f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n".encode()


def head(now: int) -> Line:
    """The first line; `now` in unix seconds."""
    about = {"type": "site", "format": FORMAT, "version": VERSION}
    return {**about, "exported_at": iso(now), "schema": schema.VERSION}


def end(counts: Mapping[str, int], largest: Mapping[str, int], sha256: str) -> Line:
    """The last line: how many lines of each type the file has, the largest id of each counted type that the site has
    given out, and the hash of all bytes before this line."""
    return {"type": "end", "counts": dict(counts), "largest": dict(largest), "sha256": sha256}
