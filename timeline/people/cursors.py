"""Cursors of the pages of people: a score and a member, never an offset."""

from dataclasses import dataclass

from retwis_site.exceptions import BadCursor
from retwis_site.store.ids import parse_id
from timeline.people.entities import By, Show


@dataclass(frozen=True, slots=True)
class ScoreCursor:
    """The last row of the page before: since when (unix s), and whose. Many rows may share one second.

    Likewise among the most followed: how many followers, and whose; many may have as many."""

    since: int
    uid: int

    def __str__(self) -> str:
        return f"{self.since}-{self.uid}"


def score_cursor(text: str | None) -> ScoreCursor | None:
    """The row after which the page begins; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    since, _, uid = text.partition("-")
    when, who = _score(since), parse_id(uid)
    if when is None or who is None:
        raise BadCursor(text)
    return ScoreCursor(when, who)


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


def goes_on(score: int, rank: int | None, now: float | None, higher: int) -> int:
    """The rank at which a page of a sorted set begins. Its cursor names the last row before it: a member and its
    `score`, which other members may share.

    `rank` and `now` are the present rank and score of that member. When it was removed, or has another score by now,
    the page begins with all rows of the old score, so that no row is left out. `higher` rows have a higher score.
    """
    return higher if rank is None or now is None or int(now) != score else rank + 1
