"""Home timelines: the posts of a user and of the people they follow, from a cached list."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from accounts.signing_in.viewer import Viewer
from accounts.users.repository import Users, ask_people
from retwis_site.exceptions import StoreReadOnly
from retwis_site.store import keys
from retwis_site.store.cached_list import FIRST_READ, KEPT, Merge, Slice, TimelineList, merge
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import parse_id
from retwis_site.store.local_cache import PageMemory
from retwis_site.store.replies import Answer
from timeline.posts.entities import Page, Post
from timeline.posts.reader import PostLoader, authors_of, by_present_names
from timeline.relations.entities import FollowCounts
from timeline.relations.follow import ask_follow_counts, ask_followed
from timeline.timelines.entities import HomePage
from timeline.timelines.pagination import POSTS_A_PAGE, fill

HOME_EXPIRES_AFTER = 30 * 24 * 3600  # seconds after its owner's last visit
SHORTEST_SLICE = 10  # ids that a rebuild reads of each followed user, at least
MOST_PROLIFIC = 20  # users of whom a rebuild reads LONG_SLICE more ids, since they fill their slice fastest
LONG_SLICE = 200  # ids

# The authors on a user's last page, by uid. The next page asks in its first round trip whether they are still followed.
_authors: PageMemory[int, tuple[int, ...]] = PageMemory(size=20_000, seconds=3600)


class Homes:
    """All home timelines."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users = Users(store)

    def page(self, viewer: Viewer, before: int | None) -> HomePage:
        """The posts below the cursor, newest first, and the viewer's counts.

        One round trip while all its posts are cached, else two. One more while an author is not cached, one when the
        page shows something new, and one an hour to renew the list. At most seven more where ids are dead, or where the
        list ends and the `updates:` sets are merged, however long the history. A missing list costs five to seven to
        rebuild. Raises NotSignedIn.
        """

        owner, asked = viewer.ask_as_user(partial(_HomeQuestion, self, before))
        content = self.list_of(owner.uid).page(asked.entries, before, lambda: self.newest(owner.uid))
        listed = content.ids if before is None else [pid for pid in content.ids if pid < before]
        page = self._page(owner.uid, listed, content.complete_down_to, before, asked.known)
        if before is None and page.posts:
            self._write_seen(owner.uid, page.posts[0].pid, asked.seen)
        return HomePage(owner, asked.counts, page, asked.seen, listed, content.complete_down_to > 0)

    def arrived(self, viewer: Viewer, after: int) -> int:
        """The number of other users' posts above the id `after`, at most FIRST_TRUSTED. One round trip with a cached
        uid. Raises NotSignedIn.

        Only the list is asked. So the number may include dead ids, posts of users who are no longer followed, and own
        posts that another process has published. A dropped list, as after a follow, is rebuilt here: until then,
        nothing is pushed into it.
        """
        owner, entries = viewer.ask_as_user(partial(_ListQuestion, self))
        content = self.list_of(owner.uid).page(entries, None, lambda: self.newest(owner.uid))
        above = [pid for pid in content.ids if pid > after]
        return sum(uid != owner.uid for uid in authors_of(above))

    def _write_seen(self, me: int, pid: int, seen: int | None) -> None:
        """Store the highest id that the home has shown. One round trip, none when `seen` is not lower."""
        if seen is not None and pid <= seen:
            return
        with suppress(StoreReadOnly):  # it can wait
            self._store.hset(keys.user(me), {"seen": str(pid)})

    def list_of(self, me: int) -> TimelineList:
        return TimelineList(self._store, keys.home(me), HOME_EXPIRES_AFTER)

    def newest(self, me: int) -> Merge:
        """The newest ids of a user and of everyone they follow. Two or three round trips.

        The more sources, the shorter the slice of each, so that all slices together stay near KEPT ids. A few prolific
        authors may fill their slices within an hour. Then the merge is complete for that hour only, so more ids of
        these authors are read.
        """
        sources = self._sources(me)
        slices = self._slices(dict.fromkeys(sources, "+inf"), max(SHORTEST_SLICE, KEPT // len(sources)))
        merged = merge(slices.values())
        if not merged.complete_down_to or len(merged.ids) >= FIRST_READ:
            return merged
        cut = [uid for uid, piece in slices.items() if piece.has_more]
        prolific = sorted(cut, key=lambda uid: slices[uid].ids[-1], reverse=True)[:MOST_PROLIFIC]
        further = self._slices({uid: f"({slices[uid].ids[-1]}" for uid in prolific}, LONG_SLICE)
        for uid, piece in further.items():
            slices[uid] = Slice(slices[uid].ids + piece.ids, piece.has_more)
        return merge(slices.values())

    def _sources(self, me: int) -> list[int]:
        return [me, *(int(uid) for uid in self._store.zrange(keys.following(me), 0, -1))]

    def _slices(self, below: dict[int, str], length: int) -> dict[int, Slice]:
        """The newest ids of each user below a limit: `+inf`, or `(7` for less than 7. One round trip."""
        pipe = self._store.pipeline()
        asked = {uid: pipe.zrevrangebyscore(keys.updates(uid), limit, "-inf", length) for uid, limit in below.items()}
        pipe.execute()
        return {
            uid: Slice([int(pid) for pid in members.value], len(members.value) >= length)
            for uid, members in asked.items()
        }

    def _page(
        self, me: int, listed: list[int], complete_down_to: int, before: int | None, known: "KnownFollows"
    ) -> Page:
        filled = fill(listed, POSTS_A_PAGE, lambda pids: self._shown(me, pids, known))
        self.list_of(me).remove_dead(filled.dead)
        if filled.older is not None or not complete_down_to:
            return Page(filled.posts, filled.older)
        below = filled.last if filled.last is not None else before
        if len(filled.posts) == POSTS_A_PAGE:
            return Page(filled.posts, below)
        return self._below_the_list(me, filled.posts, below, known)

    def _below_the_list(self, me: int, posts: list[Post], below: int | None, known: "KnownFollows") -> Page:
        """Fill up a page from the `updates:` sets, where the list ends. Four round trips, however long the history."""
        length = POSTS_A_PAGE + 1
        limit = "+inf" if below is None else f"({below}"
        slices = self._slices(dict.fromkeys(self._sources(me), limit), length)
        pids = merge(slices.values(), keep=length).ids
        more, _ = self._shown(me, pids[:POSTS_A_PAGE], known)
        page = [*posts, *more][:POSTS_A_PAGE]
        if len(posts) + len(more) > POSTS_A_PAGE:
            return Page(page, page[-1].pid)
        return Page(page, pids[POSTS_A_PAGE - 1] if len(pids) > POSTS_A_PAGE else None)

    def _shown(self, me: int, pids: Sequence[int], known: "KnownFollows") -> tuple[list[Post], list[int]]:
        """The existing posts of the user and of people they follow, and the ids of posts that do not exist.

        No round trip while all posts are cached and `known` has their authors; one while all authors are cached, else
        two.
        """
        loader = PostLoader(pids, me)
        pipe = self._store.pipeline()
        loader.queue(pipe)
        of_cached = known.ask(pipe, me, loader.authors)
        pipe.execute()
        loader.take()
        known = of_cached.value

        authors = {record.uid for record in loader.records}
        people = ask_people(pipe, sorted(authors))
        of_new = known.ask(pipe, me, authors)
        pipe.execute()
        known = of_new.value

        posts = by_present_names(loader.posts(people.value), self._users.renamed())
        _authors.put(me, tuple({post.author.uid for post in posts} - {me}))
        return [post for post in posts if post.author.uid in known.followed or post.author.uid == me], loader.dead


@dataclass(frozen=True, slots=True)
class KnownFollows:
    """What the store has said so far about whom the user follows. All are uids."""

    about: set[int]
    followed: set[int]  # a part of `about`

    def ask(self, pipe: Pipe, me: int, authors: set[int]) -> "Answer[KnownFollows]":
        """Also what is known about these authors. At most one command."""
        unknown = sorted(authors - self.about - {me})
        if not unknown:
            return Answer(lambda: self)
        followed = ask_followed(pipe, me, unknown)
        return Answer(lambda: KnownFollows(self.about.union(unknown), self.followed | followed.value))


@dataclass(frozen=True, slots=True)
class _AskedHome:
    """What the first round trip of a home says."""

    entries: Sequence[bytes]  # of the list
    counts: FollowCounts
    seen: int | None
    known: KnownFollows  # about the authors on the last page


class _HomeQuestion:
    def __init__(self, homes: Homes, before: int | None) -> None:
        self._homes = homes
        self._before = before

    def queue(self, pipe: Pipe, me: int) -> None:
        self._entries = self._homes.list_of(me).ask_page(pipe, self._before)
        self._counts = ask_follow_counts(pipe, me)
        self._seen = pipe.hget(keys.user(me), "seen")
        self._known = KnownFollows(set(), set()).ask(pipe, me, set(_authors.get(me) or ()))

    def result(self) -> _AskedHome:
        seen = parse_id(self._seen.value or "")
        return _AskedHome(self._entries.value, self._counts.value, seen, self._known.value)


class _ListQuestion:
    """Asks for the head of the viewer's list."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes

    def queue(self, pipe: Pipe, me: int) -> None:
        self._entries = self._homes.list_of(me).ask_page(pipe, None)

    def result(self) -> Sequence[bytes]:
        return self._entries.value
