"""A profile: somebody's own posts, and how the viewer stands to them."""

from collections.abc import Sequence
from typing import Any

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import PageMemory
from timeline.people.entities import About, Counts, KnownFollowers, Relation
from timeline.people.join_dates import joined, queue_joined, remembered
from timeline.posts.entities import Page
from timeline.posts.reader import Wanted, by_present_names
from timeline.relations.entities import InCommon
from timeline.relations.follow import Comparison, Follows, Shared, compare
from timeline.timelines.entities import ProfilePage
from timeline.timelines.pagination import POSTS_A_PAGE

NAMED = 2  # of the people whom the viewer knows

_common: PageMemory[Comparison, Shared] = PageMemory(size=20_000, seconds=5)


class Profiles:
    """Pages about one person."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)
        self._users = Users(store)

    def page(self, viewer: Viewer, username: str, before: int | None) -> ProfilePage:
        """Their posts below the cursor, newest first. With hints, and while all is remembered, one round trip; else
        two, three for somebody else's while signed in (what both have in common), and then one more while the names of
        those whom both know are not remembered. Raises NoSuchUser, AccountDeleted."""

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

        person, (found, bio, following, followers, *mine) = viewer.ask_about(username, questions)
        pids = [int(pid) for pid in found]
        older = pids[POSTS_A_PAGE - 1] if len(pids) > POSTS_A_PAGE else None
        me = viewer.uid
        counts = Counts(following, followers)
        wanted = Wanted(pids[:POSTS_A_PAGE], me)
        comparisons = _comparisons(me, Counts(*mine[2:]), person.uid, counts) if mine and me is not None else []
        joined, common = self._ask(wanted, person, comparisons)
        shown = by_present_names(wanted.shown({person.uid: person}), {person.uid: person})
        page = Page([post for post in shown if post.author.uid == person.uid], older)
        relation = self._relation(mine, common) if mine else Relation(is_me=me == person.uid)
        return ProfilePage(person, About(bio or "", joined), counts, relation, page)

    def _ask(self, wanted: Wanted, person: User, comparisons: list[Comparison]) -> tuple[int | None, list[Shared]]:
        """Ask for the posts, since when they are here, and what each comparison finds. No round trip while all is
        remembered, else one; two with anything to compare."""
        pipe = self._store.pipeline()
        wanted.queue(pipe)
        common = _common.some(comparisons)
        comparing = [comparison for comparison in comparisons if comparison not in common]
        smaller = {comparison.smaller: comparison for comparison in comparing}  # one may be so for several
        for comparison in smaller.values():
            comparison.queue_smaller(pipe)
        when = remembered([person])
        if not when:
            queue_joined(pipe, [person])
        replies = wanted.take(pipe.execute())
        if not when:
            *replies, told = replies
            when = joined([person], told)
        ids = dict(zip(smaller, replies, strict=True))
        some = [comparison for comparison in comparing if ids[comparison.smaller]]
        for comparison in some:
            comparison.queue_shared(pipe, ids[comparison.smaller])
        found = dict(zip(some, pipe.execute(), strict=True))
        for comparison in comparing:
            common[comparison] = comparison.shared(ids[comparison.smaller], found.get(comparison, []))
            _common.put(comparison, common[comparison])
        return when.get(person.uid), [common[comparison] for comparison in comparisons]

    def _relation(self, mine: Sequence[Any], common: Sequence[Shared]) -> Relation:
        """To somebody else. At most one round trip; none while the names are remembered."""
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
        """Who of them has an account is known of the first: whose is deleted is neither named nor counted."""
        people = self._users.people(known.first)
        standing = [people[uid] for uid in known.first if uid in people]
        count = known.number.count - len(known.first) + len(standing)
        if not count:
            return None
        named = tuple(standing[:NAMED])
        return KnownFollowers(named, InCommon(count - len(named), known.number.exact))


def _comparisons(me: int, mine: Counts, them: int, theirs: Counts) -> list[Comparison]:
    """Who follows both; whom both follow; whom the viewer follows who follow them."""
    return [
        compare(keys.followers(me), mine.followers, keys.followers(them), theirs.followers),
        compare(keys.following(me), mine.following, keys.following(them), theirs.following),
        compare(keys.following(me), mine.following, keys.followers(them), theirs.followers),
    ]
