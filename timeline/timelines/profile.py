"""A profile: the posts of a user, and how the viewer and the user are related."""

from collections.abc import Sequence
from typing import Any

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import PageMemory
from timeline.people.entities import About, Counts, KnownFollowers, Relation
from timeline.people.join_dates import cached_join_dates, join_dates, queue_join_dates
from timeline.posts.entities import Page
from timeline.posts.reader import PostLoader, by_present_names
from timeline.relations.entities import InCommon
from timeline.relations.follow import Comparison, Follows, Shared, compare
from timeline.timelines.entities import ProfilePage
from timeline.timelines.pagination import POSTS_A_PAGE

MOST_NAMED = 2  # followers that the viewer follows; a profile names these and counts the others

_common: PageMemory[Comparison, Shared] = PageMemory(size=20_000, seconds=5)


class Profiles:
    """All profiles."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)
        self._users = Users(store)

    def page(self, viewer: Viewer, username: str, before: int | None) -> ProfilePage:
        """A user's posts below the cursor, newest first. Raises NoSuchUser, AccountDeleted.

        One round trip with cached uids while posts, join date and comparisons are cached, else two. A signed-in viewer
        on another user's profile needs a third for the comparisons, and one more while the users that both know are
        not cached.
        """

        def questions(pipe: Pipe, me: int | None, them: int) -> None:
            below = "+inf" if before is None else f"({before}"
            pipe.zrevrangebyscore(keys.updates(them), below, "-inf", POSTS_A_PAGE + 1)
            pipe.hget(keys.user(them), "bio")
            self._follows.queue_following_count(pipe, them)
            self._follows.queue_followers_count(pipe, them)
            if me is not None and me != them:
                self._follows.queue_which_followed(pipe, me, [them])
                self._follows.queue_which_followed(pipe, them, [me])
                self._follows.queue_following_count(pipe, me)
                self._follows.queue_followers_count(pipe, me)

        person, (members, bio, following, followers, *mine) = viewer.ask_about(username, questions)
        pids = [int(pid) for pid in members]
        older = pids[POSTS_A_PAGE - 1] if len(pids) > POSTS_A_PAGE else None
        me = viewer.uid
        counts = Counts(following, followers)
        loader = PostLoader(pids[:POSTS_A_PAGE], me)
        comparisons = _comparisons(me, Counts(*mine[2:]), person.uid, counts) if mine and me is not None else []
        join_date, common = self._read(loader, person, comparisons)
        shown = by_present_names(loader.posts({person.uid: person}), {person.uid: person})
        page = Page([post for post in shown if post.author.uid == person.uid], older)
        relation = self._relation(mine, common) if mine else Relation(is_me=me == person.uid)
        return ProfilePage(person, About(bio or "", join_date), counts, relation, page)

    def _read(self, loader: PostLoader, person: User, comparisons: list[Comparison]) -> tuple[int | None, list[Shared]]:
        """Read the posts. Returns the join date (unix seconds) and the result of each comparison. No round trip while
        all is cached, else one; two with a comparison that is not cached."""
        pipe = self._store.pipeline()
        loader.queue(pipe)
        common = _common.some(comparisons)
        comparing = [comparison for comparison in comparisons if comparison not in common]
        smaller = {comparison.smaller: comparison for comparison in comparing}  # comparisons may share it
        for comparison in smaller.values():
            comparison.queue_smaller(pipe)
        dates = cached_join_dates([person])
        if not dates:
            queue_join_dates(pipe, [person])
        replies = loader.take(pipe.execute())
        if not dates:
            *replies, reply = replies
            dates = join_dates([person], reply)
        ids = dict(zip(smaller, replies, strict=True))
        not_empty = [comparison for comparison in comparing if ids[comparison.smaller]]
        for comparison in not_empty:
            comparison.queue_shared(pipe, ids[comparison.smaller])
        scores = dict(zip(not_empty, pipe.execute(), strict=True))
        for comparison in comparing:
            common[comparison] = comparison.shared(ids[comparison.smaller], scores.get(comparison, []))
            _common.put(comparison, common[comparison])
        return dates.get(person.uid), [common[comparison] for comparison in comparisons]

    def _relation(self, mine: Sequence[Any], common: Sequence[Shared]) -> Relation:
        """How viewer and user are related. At most one round trip; none while the named users are cached."""
        (followed,), (follows_me,), *_ = mine
        followers, following, known = common
        return Relation(
            following=followed is not None,
            common_followers=followers.number,
            common_following=following.number,
            follows_me=follows_me is not None,
            known=self._known(known),
        )

    def _known(self, known: Shared) -> KnownFollowers | None:
        """Only the first few are loaded; deleted accounts among them are neither named nor counted."""
        people = self._users.people(known.first)
        existing = [people[uid] for uid in known.first if uid in people]
        count = known.number.count - len(known.first) + len(existing)
        if not count:
            return None
        named = tuple(existing[:MOST_NAMED])
        return KnownFollowers(named, InCommon(count - len(named), known.number.exact))


def _comparisons(me: int, mine: Counts, them: int, theirs: Counts) -> list[Comparison]:
    """The followers of both, the users that both follow, and the users that the viewer follows and that follow them."""
    return [
        compare(keys.followers(me), mine.followers, keys.followers(them), theirs.followers),
        compare(keys.following(me), mine.following, keys.following(them), theirs.following),
        compare(keys.following(me), mine.following, keys.followers(them), theirs.followers),
    ]
