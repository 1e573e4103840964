"""A profile: the posts of a user, and how the viewer and the user are related."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from accounts.facts.facts import FIELDS, facts_of
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users, ask_people
from retwis_site.exceptions import NotShown
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.store import keys
from retwis_site.store.cached_list import KEPT
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_id, stored_ids
from retwis_site.store.local_cache import Memory
from retwis_site.store.reading import begun, rest, trip
from retwis_site.store.replies import Result
from timeline.people.lists import About, KnownFollowers, Relation, ask_join_dates
from timeline.posts.entities import NoSuchPost, Page, Post, PostDeleted
from timeline.posts.reading.post_reader import PostReader, ask_latest_acted
from timeline.posts.reading.visibility import HiddenPeople, NoRepliesToOthers, PostsBy, Rule
from timeline.posts.repository import Posts
from timeline.relations.relations import (
    Comparison,
    FollowCounts,
    Hiding,
    InCommon,
    Shared,
    ask_follow_counts,
    ask_followed,
    ask_hiding,
    compare,
)
from timeline.timelines.entities import ProfilePage, Tab
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, Filled, filled_page, further_ids

# ---- The pinned post of a user: it stands first on the profile. `pinned` in `user:<uid>` has its id.


class Pins:
    """The pinned posts of all users, one of each."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def pin(self, uid: int, pid: int) -> None:
        """Pin a post of user `uid`, instead of the one before. Two round trips. Raises NoSuchPost (also for another
        author's post, and for a repost), PostDeleted.

        A post that is deleted meanwhile stays pinned and is not shown."""
        author, deleted, repost_of = self._store.hmget(keys.post(pid), ["user_id", "deleted", "repost_of"])
        if author != str(uid) or repost_of is not None:
            raise NoSuchPost(pid)
        if deleted is not None:
            raise PostDeleted(pid)
        Users(self._store).write(uid, {"pinned": str(pid)})

    def unpin(self, uid: int, pid: int) -> None:
        """Pin this post no longer. Two round trips; one when another post is pinned."""
        if self._store.hget(keys.user(uid), "pinned") == str(pid):
            self._store.hdel(keys.user(uid), "pinned")


def ask_pinned(pipe: Pipe, uid: int) -> Result[int | None]:
    """The id of the post that a user has pinned; None for none. One command."""
    pinned = pipe.hget(keys.user(uid), "pinned")
    return Result(lambda: stored_id(keys.user(uid), pinned.value))


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The line of the pinned post in the personal download, if there is one. One round trip."""
    pid = stored_id(keys.user(owner.uid), store.hget(keys.user(owner.uid), "pinned"))
    if pid is not None:
        yield [{"type": "pin", "id": pid, "address": address_of("post", owner.username, pid)}]


# ---- Profile


SPARE = 10  # ids that the tab of posts reads besides a page: it does not show replies to others
MOST_NAMED = 2  # followers that the viewer follows; a profile names these and counts the others
SETTLED_AFTER = 60  # seconds after a follow; the clocks of two servers never differ by so much

NOT_MINE: Result["Mine | None"] = Result(lambda: None)  # for a visitor, and on the viewer's own profile

# The comparisons of a viewer with a user, by both uids, with the viewer's follows when they were made: 1 MB.
_compared: Memory[tuple[int, int], tuple["Follows", "Common"]] = Memory(size=2000, seconds=5)


class Profiles:
    """All profiles."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, viewer: Viewer, username: str, before: int | None) -> ProfilePage:
        """What a user wrote to everyone below the cursor, newest first, and their pinned post on the first page. Raises
        NoSuchUser, AccountDeleted, NotShown.

        One round trip with cached uids while posts and join date are cached, else two. One more where many of the posts
        answer others. A signed-in viewer on another user's profile needs a third for the comparisons, and one more
        while the users that both know are not cached. Comparisons are cached for seconds, and only while the viewer
        follows and unfollows nobody, on any worker.
        """
        return self._page(viewer, username, before, Tab.POSTS)

    def page_with_replies(self, viewer: Viewer, username: str, before: int | None) -> ProfilePage:
        """As `page`, with the replies to others and without a pinned post."""
        return self._page(viewer, username, before, Tab.REPLIES)

    def _page(self, viewer: Viewer, username: str, before: int | None, tab: Tab) -> ProfilePage:
        below, most = "+inf" if before is None else f"({before}", POSTS_A_PAGE + READ_MORE
        person, (members, (bio, pin, *facts), counts, mine, acted) = viewer.ask_about(
            username,
            lambda pipe, me, them: trip(
                pipe.zrevrangebyscore(keys.updates(them), below, "-inf", most + 1),
                pipe.hmget(keys.user(them), ["bio", "pinned", *FIELDS]),
                ask_follow_counts(pipe, them),
                _ask_mine(pipe, me, them) if me is not None and me != them else NOT_MINE,
                ask_latest_acted(pipe, me),
            ),
        )
        if mine and mine.hiding.blocks.theirs:
            raise NotShown
        pids = stored_ids(keys.updates(person.uid), members) or self._not_adopted(person.uid, before)
        pinned = stored_id(keys.user(person.uid), pin) if tab is Tab.POSTS and before is None else None
        rules: list[Rule] = [PostsBy(person.uid)]
        if tab is Tab.POSTS:
            rules.append(NoRepliesToOthers(pinned))
        cached = mine and _cached_comparisons(mine, person)
        to_make = _comparisons(mine, person.uid, counts) if mine and not cached else None
        changed, uid = viewer.just_changed, person.uid
        reader = PostReader(self._store, viewer.user, rules, [person], acted, changed, uid)
        at_first = POSTS_A_PAGE + (SPARE if tab is Tab.POSTS else 0)
        read = self._read(reader, pids, at_first, pinned, person, to_make)
        if mine and read.common and mine.follows.are_settled():
            _compared.put((mine.uid, person.uid), (mine.follows, read.common))
        common = cached or read.common
        relation = Relation(is_me=viewer.uid == person.uid)
        if mine and common:
            relation = self._relation(mine, common, HiddenPeople(mine.uid, acted.hidden))
        about = About(bio or "", read.joined, tuple(facts_of(uid, *facts)))
        older = read.filled.older or (read.filled.last if len(members) > most else None)
        page = Page(read.filled.posts, older)
        return ProfilePage(person, about, counts, relation, page, read.pinned, tab)

    def _not_adopted(self, uid: int, before: int | None) -> list[int]:
        """The own posts in a user's home, newest first, for a database of the official Retwis that was not adopted: it
        has no `updates:`. Two round trips there, else none."""
        if not self._store.is_foreign:
            return []
        listed = stored_ids(keys.home(uid), self._store.lrange(keys.home(uid), 0, KEPT - 1))
        records, _ = Posts(self._store).read({pid for pid in listed if before is None or pid < before})
        return sorted((record.pid for record in records if record.uid == uid), reverse=True)

    def _read(
        self,
        reader: PostReader,
        pids: list[int],
        at_first: int,
        pinned: int | None,
        person: User,
        compared: "Comparisons | None",
    ) -> "_Read":
        """What the later round trips of a profile say. None while all is cached, else one; two with comparisons, or
        where the first posts do not fill the page."""
        comparisons = compared or ()
        pipe = self._store.pipeline()
        first = pids[:at_first]
        reading = begun(reader.reading(pipe, first if pinned is None or pinned in first else [*first, pinned]))
        smaller: dict[str, Result[list[str]]] = {}  # by key: comparisons may share it
        for comparison in comparisons:
            if comparison.smaller not in smaller:
                smaller[comparison.smaller] = comparison.ask_smaller(pipe)
        dates = ask_join_dates(pipe, [person])
        pipe.execute()
        posts = rest(pipe, reading).posts
        shown_first = next((post for post in posts if post.pid == pinned), None)
        posts = [post for post in posts if post is not shown_first or pinned in first]
        shared = [comparison.ask_shared(pipe, smaller[comparison.smaller].value) for comparison in comparisons]
        further = further_ids(pids, len(first), len(posts), POSTS_A_PAGE)
        more = rest(pipe, reader.reading(pipe, further)).posts
        filled = filled_page(pids, POSTS_A_PAGE, [*first, *further], [*posts, *more], [])
        common = Common(*(answer.value for answer in shared)) if shared else None
        return _Read(filled, shown_first, dates.value.get(person.uid), common)

    def _relation(self, mine: "Mine", common: "Common", hides: HiddenPeople) -> Relation:
        """How viewer and user are related. At most one round trip; none while the named users are cached."""
        return Relation(
            following=mine.following,
            hiding=mine.hiding,
            common_followers=common.followers.number,
            common_following=common.following.number,
            follows_me=mine.follows_me,
            known=self._known(common.known, hides),
        )

    def _known(self, known: Shared, hides: HiddenPeople) -> KnownFollowers | None:
        """Only the first few are loaded; deleted accounts and muted people among them are neither named nor counted."""
        pipe = self._store.pipeline()
        people = ask_people(pipe, known.first)
        hides.ask(pipe, set(known.first))
        pipe.execute()
        _, muted, _ = hides.read()
        existing = [people.value[uid] for uid in known.first if uid in people.value and uid not in muted]
        count = known.number.count - len(known.first) + len(existing)
        if not count:
            return None
        named = tuple(existing[:MOST_NAMED])
        return KnownFollowers(named, InCommon(count - len(named), known.number.exact))


@dataclass(frozen=True, slots=True)
class Mine:
    """The viewer's side of a profile."""

    uid: int
    following: bool  # the viewer follows the user
    hiding: Hiding
    follows_me: bool
    counts: FollowCounts  # of the viewer
    follows: "Follows"  # of the viewer


class Follows(NamedTuple):
    """Tells whether somebody has followed or unfollowed anybody since. An unfollow makes the number smaller, and only a
    new follow makes it larger again, with a newer time. So the same number and the same newest follow mean the same
    follows, unless that follow is only seconds old."""

    number: int
    newest: tuple[tuple[str, float], ...]  # the uid and the time (unix seconds) of the newest follow; empty for nobody

    def are_settled(self) -> bool:
        return all(when < time.time() - SETTLED_AFTER for _, when in self.newest)


@dataclass(frozen=True, slots=True)
class _Read:
    """What the later round trips of a profile say."""

    filled: Filled
    pinned: Post | None
    joined: int | None  # unix seconds
    common: "Common | None"


def _ask_mine(pipe: Pipe, me: int, them: int) -> Result[Mine]:
    following, follows_me = ask_followed(pipe, me, [them]), ask_followed(pipe, them, [me])
    counts = ask_follow_counts(pipe, me)
    newest = pipe.zrevrange_withscores(keys.following(me), 0, 0)
    hiding = ask_hiding(pipe, me, them)

    def read() -> Mine:
        follows = Follows(counts.value.following, tuple(newest.value))
        return Mine(me, them in following.value, hiding.value, me in follows_me.value, counts.value, follows)

    return Result(read)


def _cached_comparisons(mine: Mine, owner: User) -> "Common | None":
    cached = _compared.get((mine.uid, owner.uid))
    return cached[1] if cached is not None and cached[0] == mine.follows else None


class Comparisons(NamedTuple):
    """Of viewer and user: the followers of both, the users that both follow, and the users that the viewer follows and
    that follow the user."""

    followers: Comparison
    following: Comparison
    known: Comparison


class Common(NamedTuple):
    """The results of `Comparisons`, in the same order."""

    followers: Shared
    following: Shared
    known: Shared


def _comparisons(mine: Mine, them: int, theirs: FollowCounts) -> Comparisons:
    me, own = mine.uid, mine.counts
    return Comparisons(
        compare(keys.followers(me), own.followers, keys.followers(them), theirs.followers),
        compare(keys.following(me), own.following, keys.following(them), theirs.following),
        compare(keys.following(me), own.following, keys.followers(them), theirs.followers),
    )
