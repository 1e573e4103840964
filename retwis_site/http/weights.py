"""Headers that list what a client takes, each with a weight: `fr, de;q=0.5, ar;q=0`. The weight 0 refuses (RFC 9110,
12.4.2), which neither Django nor WhiteNoise looks at."""

import re

_is_refused = re.compile(r"[^;]*;\s*q\s*=\s*0(\.0{0,3})?\s*", re.IGNORECASE).fullmatch


def wanted_and_refused(header: str) -> tuple[str, frozenset[str]]:
    """The header without what it refuses, and the names that it refuses, in lower case."""
    parts = header.split(",")
    refused = {part for part in parts if _is_refused(part)}
    names = frozenset(part.partition(";")[0].strip().lower() for part in refused)
    return ",".join(part for part in parts if part not in refused).strip(), names
