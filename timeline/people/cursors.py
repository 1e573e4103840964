"""Cursors of the pages of people: a score and a member, never an offset."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from retwis_site.exceptions import BadCursor
from retwis_site.store.client import Pipe
from retwis_site.store.ids import integer, parse_id, parse_number
from retwis_site.store.replies import Answer

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class ScoreCursor:
    """The last row of the page before: its score and uid. Many rows may have the same score.

    The score is the second of a follow (unix seconds) or, among the most followed, the number of followers."""

    score: int
    uid: int

    def __str__(self) -> str:
        return f"{self.score}-{self.uid}"


def score_cursor(text: str | None) -> ScoreCursor | None:
    """The cursor in `?before=`; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    score_text, _, uid_text = text.partition("-")
    score, uid = parse_number(score_text), parse_id(uid_text)
    if score is None or uid is None:
        raise BadCursor(text)
    return ScoreCursor(score, uid)


@dataclass(frozen=True, slots=True)
class NameCursor:
    """The last row of the page before, among the newest users: `users_by_time` has usernames for members. In a foreign
    database a username may be any text."""

    since: int  # unix seconds
    name: str

    def __str__(self) -> str:
        return f"{self.since}-{self.name}"


def name_cursor(text: str | None) -> NameCursor | None:
    """The cursor in `?before=`; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    score_text, dash, name = text.partition("-")
    since = parse_number(score_text)
    if since is None or not dash:
        raise BadCursor(text)
    return NameCursor(since, name)


def choice(of: type[Choice], text: str | None) -> Choice:
    """The member of an enum that a query parameter names, such as `?show=`. Raises BadCursor."""
    try:
        return of(text or "")
    except ValueError:
        raise BadCursor(text) from None


def ask_start_rank(pipe: Pipe, key: str, member: str, score: int) -> Answer[int]:
    """The rank at which a page of a sorted set begins. Its cursor names the last row before it: a member and its
    `score`, which other members may share. Three commands.

    When the member was removed, or has another score by now, the page begins with all rows of the old score, so that no
    row is left out.
    """
    rank = pipe.zrevrank(key, member)
    now = pipe.zscore(key, member)
    higher = pipe.zcount(key, str(score + 1), "+inf")

    def read() -> int:
        if rank.value is None or now.value is None or integer(now.value) != score:
            return higher.value
        return rank.value + 1

    return Answer(read)
