"""Who follows somebody, and whom they follow, a page at a time: all of them, or those who are followed back or not."""

from collections.abc import Callable, Sequence

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users, queue_person
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import whole
from retwis_site.store.local_cache import PageMemory
from timeline.people.cursors import ScoreCursor, goes_on
from timeline.people.entities import FollowRow, PeoplePage, Show
from timeline.relations.follow import COMPARED

PEOPLE_A_PAGE = 20

Row = tuple[int, int]  # whose it is, and since when (unix s)
Side = Callable[[int], str]  # the key of one side of somebody's edges

_follow_me: PageMemory[tuple[int, int], bool] = PageMemory(size=20_000, seconds=5)  # by viewer and whom they look at


class FollowPages:
    """The people around one person."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users = Users(store)

    def followers_page(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, show: Show = Show.ALL
    ) -> PeoplePage:
        """Who follows `username`, the newest first. Two round trips with hints, three for a later page; one less while
        the names are remembered.

        Where not all are shown, one more: of as many as COMPARED it is asked which are to be. When they hold less than
        a page, the page is short, and the next one begins below them. Raises NoSuchUser, AccountDeleted."""
        return self._people(viewer, username, before, show, keys.followers, keys.following)

    def following_page(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, show: Show = Show.ALL
    ) -> PeoplePage:
        """Whom `username` follows, the newest first. Round trips and errors as above."""
        return self._people(viewer, username, before, show, keys.following, keys.followers)

    def _people(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, show: Show, side: Side, other: Side
    ) -> PeoplePage:
        most = PEOPLE_A_PAGE if show is Show.ALL else COMPARED
        person, rows = self._rows(viewer, username, before, side, most + 1)
        looked_at = rows[:most]
        fit = looked_at if show is Show.ALL else self._fitting(looked_at, other(person.uid), show)
        me = viewer.uid
        edges = self._edges(fit[:PEOPLE_A_PAGE], None if (side, me) == (keys.followers, person.uid) else me)
        if len(fit) > PEOPLE_A_PAGE:
            last, further = fit[PEOPLE_A_PAGE - 1], False
        elif len(rows) > most:
            last, further = looked_at[-1], show is not Show.ALL
        else:
            return PeoplePage(person, edges, None)
        uid, since = last
        return PeoplePage(person, edges, str(ScoreCursor(since, uid)), further)

    def _rows(
        self, viewer: Viewer, username: str, before: ScoreCursor | None, side: Side, count: int
    ) -> tuple[User, list[Row]]:
        """The first rows, or those below the cursor's."""

        def first(pipe: Pipe, me: int | None, them: int) -> None:
            pipe.zrevrange_withscores(side(them), 0, count - 1)

        def where(pipe: Pipe, me: int | None, them: int) -> None:
            assert before is not None
            pipe.zrevrank(side(them), str(before.uid))
            pipe.zscore(side(them), str(before.uid))
            pipe.zcount(side(them), str(before.since + 1), "+inf")

        if before is None:
            person, (found,) = viewer.ask_about(username, first)
        else:
            person, place = viewer.ask_about(username, where)
            start = goes_on(before.since, *place)
            found = self._store.zrevrange_withscores(side(person.uid), start, start + count - 1)
        return person, [(int(uid), whole(since)) for uid, since in found]

    def _fitting(self, rows: Sequence[Row], other: str, show: Show) -> list[Row]:
        """Those rows whose people stand on the other side too, or do not. One round trip; none without rows."""
        if not rows:
            return []
        scores = self._store.zmscore(other, [str(uid) for uid, _ in rows])
        wanted = show is Show.MUTUAL
        return [row for row, score in zip(rows, scores, strict=True) if (score is not None) == wanted]

    def _edges(self, rows: Sequence[Row], me: int | None) -> list[FollowRow]:
        """The rows with names, and whether they follow the viewer, if there is one. At most one round trip; none while
        all is remembered. Whose account is deleted is left out."""
        uids = [uid for uid, _ in rows]
        known = self._users.cached(uids)
        unnamed = [uid for uid in uids if uid not in known]
        told = _follow_me.some((me, uid) for uid in uids if me is not None)
        unsure = [uid for uid in uids if me is not None and (me, uid) not in told]
        pipe = self._store.pipeline()
        for uid in unnamed:
            queue_person(pipe, uid)
        if me is not None and unsure:
            pipe.zmscore(keys.followers(me), [str(uid) for uid in unsure])
        replies = pipe.execute()
        people = known | self._users.people_of(unnamed, replies[: len(unnamed)])
        if me is not None and unsure:
            for uid, score in zip(unsure, replies[-1], strict=True):
                told[me, uid] = score is not None
                _follow_me.put((me, uid), told[me, uid])
        follow_me = {uid for (_, uid), does in told.items() if does}
        return [FollowRow(people[uid], since, uid in follow_me) for uid, since in rows if uid in people]
