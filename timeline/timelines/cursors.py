"""`?before=`: where a page begins. Ids, never offsets, so that what is posted meanwhile moves nothing."""

from dataclasses import dataclass

from retwis_site.exceptions import BadCursor
from timeline.posts.entities import By, Show

LARGEST_ID = 2**53  # ids are sorted-set scores too, and a double holds no larger integer exactly


def parse_id(text: str) -> int | None:
    """A user's or post's id, or None for what cannot be one."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))):
        return None
    number = int(text)
    return number if 0 < number <= LARGEST_ID else None


def whole(score: float) -> int:
    """A score, such as since when, as cursors have it. One that is infinite, as a database from elsewhere may hold, is
    the largest."""
    return int(min(max(score, 0), LARGEST_ID))


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
    """The last row of the page before: since when (unix s), and whose. Many rows may share one second.

    Likewise among the most followed: how many followers, and whose; many may have as many."""

    since: int
    uid: int

    def __str__(self) -> str:
        return f"{self.since}-{self.uid}"


def edge_cursor(text: str | None) -> EdgeCursor | None:
    """The row after which the page begins; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    since, _, uid = text.partition("-")
    when, who = _score(since), parse_id(uid)
    if when is None or who is None:
        raise BadCursor(text)
    return EdgeCursor(when, who)


@dataclass(frozen=True, slots=True)
class NameCursor:
    """The same among the newest people, who are listed by their usernames: any text, in a database from elsewhere."""

    since: int
    name: str

    def __str__(self) -> str:
        return f"{self.since}-{self.name}"


def name_cursor(text: str | None) -> NameCursor | None:
    """The row after which the page begins; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    since, dash, name = text.partition("-")
    when = _score(since)
    if when is None or not dash:
        raise BadCursor(text)
    return NameCursor(when, name)


def _score(text: str) -> int | None:
    return 0 if text == "0" else parse_id(text)


def show(text: str | None) -> Show:
    """Which rows `?show=` asks for. Raises BadCursor."""
    try:
        return Show(text or "")
    except ValueError:
        raise BadCursor(text) from None


def by(text: str | None) -> By:
    """In which order `?by=` asks for people. Raises BadCursor."""
    try:
        return By(text or "")
    except ValueError:
        raise BadCursor(text) from None
