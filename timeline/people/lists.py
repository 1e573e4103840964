"""Lists of people: their rows, and the cursors of their pages: a score and a member, never an offset."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from accounts.users.entities import State
from accounts.users.repository import PERSON, person
from retwis_site.exceptions import BadCursor
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import integer, parse_id, parse_number
from retwis_site.store.replies import Result
from timeline.people.entities import ListedPerson
from timeline.relations.relations import ask_followed, ask_hidden

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


def ask_start_rank(pipe: Pipe, key: str, member: str, score: int) -> Result[int]:
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

    return Result(read)


# ---- People as rows of a list: name, bio, number of followers, and whether the viewer follows them.


# Asks whom of these people a list leaves out for a viewer.
AskLeftOut = Callable[[Pipe, int, Collection[int]], Result[set[int]]]


def ask_listed(
    pipe: Pipe, me: int | None, uids: Collection[int], ask_left_out: AskLeftOut = ask_hidden
) -> Result[dict[int, ListedPerson]]:
    """People by uid, in the order of `uids`, without unknown uids, deleted accounts, those whom `ask_left_out` finds,
    and those whom staff has hidden from people who do not follow them. `joined` is None. Two commands a person, and
    four more for a signed-in viewer; none without uids."""
    uids = list(dict.fromkeys(uids))
    asked = {uid: (pipe.hmget(keys.user(uid), (*PERSON, "bio")), pipe.zcard(keys.followers(uid))) for uid in uids}
    followed = ask_followed(pipe, me, uids) if me is not None and uids else None
    left_out = ask_left_out(pipe, me, uids) if me is not None else None

    def read() -> dict[int, ListedPerson]:
        following = followed.value if followed else set()
        without = left_out.value if left_out else set()
        listed = {}
        for uid, (fields, followers) in asked.items():
            *stored, bio = fields.value
            user = person(uid, stored)
            if user is None or uid in without:
                continue
            if user.state is not State.HIDDEN or uid == me or uid in following:
                listed[uid] = ListedPerson(user, bio or "", followers.value, None, uid == me, uid in following)
        return listed

    return Result(read)
