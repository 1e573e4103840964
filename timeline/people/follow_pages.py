"""Pages of a user's followers and following: all rows, the mutual ones, or those that are not followed back."""

from collections.abc import Callable, Sequence
from functools import partial

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.exceptions import NotShown
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import stored_rows
from retwis_site.store.local_cache import Memory
from retwis_site.store.reading import Reading, trip
from retwis_site.store.replies import Result
from timeline.people.entities import FollowRow, PeoplePage, Show
from timeline.people.lists import AskLeftOut, ScoreCursor, ask_listed, ask_start_rank
from timeline.relations.relations import COMPARED, Blocks, ask_blocked, ask_blocks, ask_hidden

PEOPLE_A_PAGE = 20

Row = tuple[int, int]  # uid, unix second of the follow
Side = Callable[[int], str]  # the key of `followers:` or `following:`, by uid

# By viewer's uid and follower's; 300 bytes an entry, 1.5 MB in all.
_follow_me: Memory[tuple[int, int], bool] = Memory(size=5000, seconds=5)


class FollowPages:
    """Pages of the two sides of a user's edges. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def followers_page(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, show: Show = Show.ALL
    ) -> PeoplePage:
        """The followers of `username`, newest first. Two round trips with cached uids, three for a later page. Raises
        NoSuchUser, AccountDeleted, and NotShown for a user who blocks the viewer.

        A `show` that leaves rows out costs one round trip more: COMPARED rows are read and compared with the other
        side. When less than a page of them fits, the page is short, and the next one begins below them."""
        return self._people(viewer, username, before, show, keys.followers, keys.following)

    def following_page(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, show: Show = Show.ALL
    ) -> PeoplePage:
        """The users that `username` follows, newest first. Round trips and errors as for `followers_page`."""
        return self._people(viewer, username, before, show, keys.following, keys.followers)

    def _people(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, show: Show, side: Side, other: Side
    ) -> PeoplePage:
        limit = PEOPLE_A_PAGE if show is Show.ALL else COMPARED
        person, rows, has_more = self._rows(viewer, username, before, side, limit)
        compared = rows[:limit]
        fitting = compared if show is Show.ALL else self._fitting(compared, other(person.uid), show)
        # On the viewer's own followers page every row follows the viewer, so no row says it.
        says_who_follows = (side, viewer.uid) != (keys.followers, person.uid)
        # On their own pages viewers also see whom they mute, to unfollow them.
        ask_left_out = ask_blocked if viewer.uid == person.uid else ask_hidden
        edges = self._edges(fitting[:PEOPLE_A_PAGE], viewer.uid, says_who_follows, ask_left_out)
        if len(fitting) > PEOPLE_A_PAGE:
            last, further = fitting[PEOPLE_A_PAGE - 1], False
        elif has_more and compared:
            last, further = compared[-1], show is not Show.ALL
        else:
            return PeoplePage(person, edges, None)
        uid, since = last
        return PeoplePage(person, edges, str(ScoreCursor(since, uid)), further)

    def _rows(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, side: Side, limit: int
    ) -> tuple[User, list[Row], bool]:
        """The user, at most `limit` rows and one more, from the first one or below the cursor, newest first, and
        whether the store has more than `limit` of them."""
        person, found = viewer.ask_about(username, partial(_read_rows, side, before, limit))
        return person, stored_rows(side(person.uid), found), len(found) > limit

    def _fitting(self, rows: Sequence[Row], other: str, show: Show) -> list[Row]:
        """The rows that are also in the set `other` (MUTUAL), or that are not. One round trip; none without rows."""
        if not rows:
            return []
        scores = self._store.zmscore(other, [str(uid) for uid, _ in rows])
        mutual = show is Show.MUTUAL
        return [row for row, score in zip(rows, scores, strict=True) if (score is not None) == mutual]

    def _edges(
        self, rows: Sequence[Row], me: int | None, says_who_follows: bool, ask_left_out: AskLeftOut
    ) -> list[FollowRow]:
        """The rows with the people of `ask_listed`; if asked for, whether each follows `me`. One round trip; none
        without rows."""
        uids = [uid for uid, _ in rows]
        pipe = self._store.pipeline()
        listed = ask_listed(pipe, me, uids, ask_left_out)
        follow_me = _ask_follow_me(pipe, me, uids) if me is not None and says_who_follows else None
        pipe.execute()
        people = listed.value
        my_followers = follow_me.value if follow_me else set()
        return [FollowRow(people[uid], since, uid in my_followers) for uid, since in rows if uid in people]


def _ask_follow_me(pipe: Pipe, me: int, uids: Sequence[int]) -> Result[set[int]]:
    """Those of these users that follow `me`. At most one command, for those that are not cached; caches them."""
    cached = {uid: follows for (_, uid), follows in _follow_me.some((me, uid) for uid in uids).items()}
    unknown = [uid for uid in uids if uid not in cached]
    scores = pipe.zmscore(keys.followers(me), [str(uid) for uid in unknown]) if unknown else None

    def read() -> set[int]:
        for uid, score in zip(unknown, scores.value if scores else (), strict=True):
            cached[uid] = score is not None
            _follow_me.put((me, uid), cached[uid])
        return {uid for uid, follows in cached.items() if follows}

    return Result(read)


def _read_rows(
    side: Side, before: ScoreCursor | None, limit: int, pipe: Pipe, me: int | None, them: int
) -> Reading[Scored]:
    """`limit` rows and one more. One round trip, two below a cursor. Raises NotShown when the user blocks the viewer:
    then nothing of their profile is shown."""
    if before is None:
        blocks, rows = yield from trip(ask_blocks(pipe, me, them), pipe.zrevrange_withscores(side(them), 0, limit))
        _require_shown(blocks)
        return rows
    blocks, start = yield from trip(
        ask_blocks(pipe, me, them), ask_start_rank(pipe, side(them), str(before.uid), before.score)
    )
    _require_shown(blocks)
    [rows] = yield from trip(pipe.zrevrange_withscores(side(them), start, start + limit))
    return rows


def _require_shown(blocks: Blocks) -> None:
    if blocks.theirs:
        raise NotShown
