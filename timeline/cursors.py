"""`?before=`: where a page begins. Ids, never offsets, so that what is posted meanwhile moves nothing."""

from dataclasses import dataclass

from retwis_site.exceptions import BadCursor

LARGEST_ID = 2**53  # ids are sorted-set scores too, and a double holds no larger integer exactly


def parse_id(text: str) -> int | None:
    """A user's or post's id, or None for what cannot be one."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))):
        return None
    number = int(text)
    return number if 0 < number <= LARGEST_ID else None


def post_cursor(text: str | None) -> int | None:
    """The post id below which the page lies; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    pid = parse_id(text)
    if pid is None:
        raise BadCursor(text)
    return pid


@dataclass(frozen=True, slots=True)
class EdgeCursor:
    """The last row of the page before: since when (unix s), and whose. Many rows may share one second."""

    since: int
    uid: int

    def __str__(self) -> str:
        return f"{self.since}-{self.uid}"


def edge_cursor(text: str | None) -> EdgeCursor | None:
    """The row after which the page begins; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    since, _, uid = text.partition("-")
    when = 0 if since == "0" else parse_id(since)
    who = parse_id(uid)
    if when is None or who is None:
        raise BadCursor(text)
    return EdgeCursor(when, who)
