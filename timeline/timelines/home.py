"""Home timelines: one's own and followed people's posts, read from a list and rebuilt when it is not there."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from accounts.signing_in.viewer import Viewer
from accounts.users.repository import Users, queue_person
from retwis_site.exceptions import StoreReadOnly
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import parse_id
from retwis_site.store.local_cache import PageMemory
from timeline.people.entities import Counts
from timeline.posts.entities import Page, Post
from timeline.posts.reader import Wanted, authors_of, by_present_names
from timeline.relations.follow import Follows, followed_uids
from timeline.timelines.cached_list import FIRST_READ, KEPT, Merge, Slice, TimelineList, merge
from timeline.timelines.entities import HomePage
from timeline.timelines.pagination import POSTS_A_PAGE, fill

HOME_LIVES = 30 * 24 * 3600  # seconds that a home stays after its owner's last visit
SHORTEST_SLICE = 10  # ids read of each followed person, at least
WORDY = 20  # of how many people more is read, where they write so much that they cut the others' slices short
LONG_SLICE = 200  # ids read of each of those

# Whose posts somebody's last page had: whether these are still followed is asked beside the page's ids.
_authors: PageMemory[int, tuple[int, ...]] = PageMemory(size=20_000, seconds=3600)


class Homes:
    """Everybody's home timeline."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)
        self._users = Users(store)

    def page(self, viewer: Viewer, before: int | None) -> HomePage:
        """The posts below the cursor, newest first, and the viewer's counts.

        Warm: one round trip while all its posts are remembered, else two; one more while an author or a name is not,
        one when it shows something new, and one an hour to renew the list; and, however long the history, at most seven
        more where ids are dead, or where the list ends and the `updates:` sets are merged. A home that is not there
        costs five to seven to rebuild.
        Raises NotSignedIn.
        """

        authors: Sequence[int] = ()

        def questions(pipe: Pipe, me: int) -> None:
            nonlocal authors
            self._list(me).queue_page(pipe, before)
            self._follows.queue_following_count(pipe, me)
            self._follows.queue_followers_count(pipe, me)
            pipe.hget(keys.user(me), "seen")
            authors = _authors.get(me) or ()
            if authors:
                self._follows.queue_which_followed(pipe, me, authors)

        owner, (entries, following, followers, stored, *scores) = viewer.ask_as_user(questions)
        asked = Asked(set(authors), followed_uids(authors, scores[0]) if scores else set())
        content = self._list(owner.uid).page(entries, before, lambda: self._newest(owner.uid))
        listed = content.ids if before is None else [pid for pid in content.ids if pid < before]
        page = self._page(owner.uid, listed, content.complete_down_to, before, asked)
        seen = parse_id(stored or "")
        if before is None and page.posts:
            self._see(owner.uid, page.posts[0].pid, seen)
        return HomePage(owner, Counts(following, followers), page, seen, listed, content.complete_down_to > 0)

    def arrived(self, viewer: Viewer, after: int) -> int:
        """How many posts of others have come in above an id, at most FIRST_TRUSTED. One round trip with a good hint.

        Some may be dead, their author no longer followed, or the viewer's own that this process has not seen: nothing
        but the list is asked. One that was dropped, as after a follow in another window, is rebuilt: nothing is pushed
        into it before.
        Raises NotSignedIn.
        """
        owner, (entries,) = viewer.ask_as_user(lambda pipe, me: self._list(me).queue_page(pipe, None))
        content = self._list(owner.uid).page(entries, None, lambda: self._newest(owner.uid))
        above = [pid for pid in content.ids if pid > after]
        return sum(uid != owner.uid for uid in authors_of(above))

    def _see(self, me: int, pid: int, seen: int | None) -> None:
        """Remember how far somebody has read. One round trip when that is further than before, else none."""
        if seen is not None and pid <= seen:
            return
        with suppress(StoreReadOnly):  # it can wait
            self._store.hset(keys.user(me), {"seen": str(pid)})

    def _list(self, me: int) -> TimelineList:
        return TimelineList(self._store, keys.home(me), HOME_LIVES)

    def _newest(self, me: int) -> Merge:
        """The newest ids of oneself and everybody one follows. Two or three round trips.

        The more sources, the shorter the slice that is read of each, so that the whole stays near KEPT ids. Where a few
        wordy ones fill theirs with the last hour, and so leave nearly nothing that is complete, more is read of them.
        """
        sources = self._sources(me)
        slices = self._slices(dict.fromkeys(sources, "+inf"), max(SHORTEST_SLICE, KEPT // len(sources)))
        found = merge(slices.values())
        if not found.complete_down_to or len(found.ids) >= FIRST_READ:
            return found
        cut = [uid for uid, piece in slices.items() if piece.goes_on]
        wordy = sorted(cut, key=lambda uid: slices[uid].ids[-1], reverse=True)[:WORDY]
        further = self._slices({uid: f"({slices[uid].ids[-1]}" for uid in wordy}, LONG_SLICE)
        for uid, piece in further.items():
            slices[uid] = Slice(slices[uid].ids + piece.ids, piece.goes_on)
        return merge(slices.values())

    def _sources(self, me: int) -> list[int]:
        return [me, *(int(uid) for uid in self._store.zrange(keys.following(me), 0, -1))]

    def _slices(self, below: dict[int, str], length: int) -> dict[int, Slice]:
        """Of each user the newest ids below a limit: `+inf`, or `(7` for less than 7. One round trip."""
        pipe = self._store.pipeline()
        for uid, limit in below.items():
            pipe.zrevrangebyscore(keys.updates(uid), limit, "-inf", length)
        found = [[int(pid) for pid in piece] for piece in pipe.execute()]
        return {uid: Slice(ids, len(ids) >= length) for uid, ids in zip(below, found, strict=True)}

    def _page(self, me: int, listed: list[int], complete_down_to: int, before: int | None, asked: "Asked") -> Page:
        filled = fill(listed, POSTS_A_PAGE, lambda pids: self._shown(me, pids, asked))
        self._list(me).drop(filled.dead)
        if filled.older is not None or not complete_down_to:
            return Page(filled.posts, filled.older)
        below = filled.last if filled.last is not None else before
        if len(filled.posts) == POSTS_A_PAGE:
            return Page(filled.posts, below)
        return self._below_the_list(me, filled.posts, below, asked)

    def _below_the_list(self, me: int, posts: list[Post], below: int | None, asked: "Asked") -> Page:
        """Fill a page up from the `updates:` sets, where the list ends. Four round trips, whatever is below."""
        length = POSTS_A_PAGE + 1
        limit = "+inf" if below is None else f"({below}"
        slices = self._slices(dict.fromkeys(self._sources(me), limit), length)
        found = merge(slices.values(), keep=length).ids
        more, _ = self._shown(me, found[:POSTS_A_PAGE], asked)
        page = [*posts, *more][:POSTS_A_PAGE]
        if len(posts) + len(more) > POSTS_A_PAGE:
            return Page(page, page[-1].pid)
        return Page(page, found[POSTS_A_PAGE - 1] if len(found) > POSTS_A_PAGE else None)

    def _shown(self, me: int, pids: Sequence[int], asked: "Asked") -> tuple[list[Post], list[int]]:
        """Those posts that exist and whose author one follows, and the ids of those that do not exist.

        No round trip while all posts are remembered and `asked` has their authors; one while all authors are
        remembered, else two.
        """
        wanted = Wanted(pids, me)
        pipe = self._store.pipeline()
        wanted.queue(pipe)
        expected = self._ask_about(pipe, me, wanted.authors, asked)
        asked = asked.with_replies(expected, wanted.take(pipe.execute()))

        authors = {one.uid for one in wanted.records}
        people = self._users.cached(authors)
        unknown = sorted(authors - people.keys())
        for uid in unknown:
            queue_person(pipe, uid)
        strangers = self._ask_about(pipe, me, authors, asked)
        replies = pipe.execute()
        people |= self._users.people_of(unknown, replies[: len(unknown)])
        asked = asked.with_replies(strangers, replies[len(unknown) :])

        found = by_present_names(wanted.shown(people), self._users.renamed())
        _authors.put(me, tuple({post.author.uid for post in found} - {me}))
        return [post for post in found if post.author.uid in asked.followed or post.author.uid == me], wanted.dead

    def _ask_about(self, pipe: Pipe, me: int, authors: set[int], asked: "Asked") -> list[int]:
        """Ask which of the authors somebody follows; who was asked about for the first time."""
        new = sorted(authors - asked.about - {me})
        if new:
            self._follows.queue_which_followed(pipe, me, new)
        return new


@dataclass(frozen=True, slots=True)
class Asked:
    """Of which people it is known whether somebody follows them, and whom of these they do."""

    about: set[int]
    followed: set[int]

    def with_replies(self, about: Sequence[int], replies: Sequence[Sequence[float | None]]) -> "Asked":
        """`replies`: the one to what was asked about them; none where nobody was."""
        if not replies:
            return self
        return Asked(self.about.union(about), self.followed | followed_uids(about, replies[0]))
