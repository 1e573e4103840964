"""A profile: the posts of a user, and how the viewer and the user are related."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import filterfalse
from math import inf
from typing import Any, NamedTuple

from accounts.facts.facts import FIELDS, Fact, facts_of
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.store import keys
from retwis_site.store.cached_list import KEPT
from retwis_site.store.client import Handle, Pipe, Reading, Repository, Result, Store, answer, both, rest, trip
from retwis_site.store.commands import Question
from retwis_site.store.ids import stored_digest, stored_id, stored_ids
from retwis_site.store.local_cache import Hints, Memory
from timeline.people.in_common import Mine, ask_mine, foreseen_people
from timeline.people.lists import ProfileTexts, ViewerRelation, ask_join_dates, ask_seen_person
from timeline.posts.entities import Post, PostsPage
from timeline.posts.reading.cached_posts import cached, cached_records, made_of
from timeline.posts.reading.post_reader import (
    NOTHING_FORESEEN,
    Foreseen,
    Found,
    Needed,
    PostReader,
    ask_foreseen,
)
from timeline.posts.reading.records import Record, ask_outline, cached_author, own_post
from timeline.posts.reading.visibility import (
    HIDDEN,
    LatestActed,
    Rule,
    ask_latest_acted,
    no_reposts,
    posts_by,
    posts_to_everyone,
    with_pictures,
)
from timeline.posts.repository import Posts
from timeline.relations.relation import BlocksViewer
from timeline.relations.relations import FOLLOW_COUNTS, FollowCounts, follow_counts
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, Filled, Part, filled_page, further_ids

# ---- The pinned post of a user: it stands first on the profile. `pinned` in `user:<uid>` has its id.


class Pins(Repository):
    """The pinned posts of all users, one of each."""

    def pin(self, uid: int, pid: int) -> None:
        """Pin a post of user `uid`, instead of the one before. Two round trips. Raises NoSuchPost (also for another
        author's post, and for a repost), PostDeleted.

        A post that is deleted meanwhile stays pinned and is not shown."""
        own_post(uid, pid, answer(self._store, ask_outline, pid))
        Users(self._store).write(uid, {"pinned": str(pid)})

    def unpin(self, uid: int, pid: int) -> None:
        """Pin this post no longer. Two round trips; one when another post is pinned."""
        Users(self._store).take_out(uid, "pinned", str(pid))


# The id of the post that a user has pinned; None for none. One command.
PINNED = Question(("HGET", keys.user, "pinned"), read=lambda uid, replies: stored_id(keys.user(uid), replies[0]))


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The line of the pinned post in the personal download, if there is one. One round trip."""
    pid = stored_id(keys.user(owner.uid), store.hget(keys.user(owner.uid), "pinned"))
    if pid is not None:
        yield [{"type": "pin", "id": pid, "address": address_of("post", owner.username, pid)}]


# ---- Profile


class Tab(StrEnum):
    """Which posts of a user a profile shows."""

    POSTS = "posts"  # what they wrote to everyone, and what they reposted
    REPLIES = "replies"  # all that they wrote, and nothing else: a profile says how many posts it has
    FEED = "feed"  # what they wrote to everyone; a feed has it, no page


class Numbers(NamedTuple):
    """The numbers of a user, each of them the length of a list."""

    follows: FollowCounts
    written: int | None  # posts, without reposts; None in a database of the official Retwis that was not adopted


class ProfilePage(NamedTuple):
    person: User
    about: ProfileTexts
    numbers: Numbers
    relation: ViewerRelation
    page: PostsPage
    pinned: Post | None  # shown first; it may stand in `page`, too
    tab: Tab


SPARE = 9  # ids that are read besides those of a page, while it is not known which of them the tab leaves out

NOT_MINE: Result[Mine | None] = Result(lambda: None)  # for a visitor, and on the viewer's own profile


# ---- What the first page has shown last. The next visit asks at once for what of it is not cached, and always for the
# viewer's own posts. Which posts the page has is read in the same round trip: others are then asked for in a second.


class ShownPage(NamedTuple):
    """What the first page of a profile was made of."""

    pids: tuple[int, ...]  # that were read first
    dead: tuple[int, ...]  # those of them that are no posts, or not yet
    left_out: tuple[int, ...]  # ids of the list that are no posts of the tab, which they stay
    named: tuple[int, ...]  # other posts, which the first ones name
    people: tuple[int, ...]


_shown: Memory[tuple[int, Tab], ShownPage] = Memory(size=500, seconds=3600)  # by uid and tab: 500 KB
# By uid of the viewer: up to which post the latest likes and reposts did not say all that they have done. 1 MB.
_acted_unknown: Hints[int] = Hints(1 << 16)
NOT_FORESEEN = Result(lambda: NOTHING_FORESEEN)


def _ask_foreseen(
    pipe: Pipe, me: int | None, page: tuple[int, Tab], fresh: Collection[int]
) -> tuple[Handle[LatestActed], Handle[Foreseen]]:
    """What the viewer has done last, and what the page most likely needs, without the posts that are cached. Where the
    latest likes and reposts most likely do not say all, each of the posts is asked about instead."""
    shown, (them, _) = _shown.get(page), page
    if shown is None:
        return ask_latest_acted(pipe, me), NOT_FORESEEN
    all_posts = (*shown.pids, *shown.named)
    own = {pid for pid in shown.named if cached_author(pid) == me}  # such as one that this user has reposted
    taken = cached(shown.named if me == them else all_posts).keys() - own.union(fresh)
    posts = [*filterfalse(taken.__contains__, all_posts)]
    people = shown.people if me is None else (*shown.people, *foreseen_people(me, them))
    if me is None or min(all_posts, default=inf) > (_acted_unknown.get(me) or 0):
        return ask_latest_acted(pipe, me), ask_foreseen(pipe, me, Needed(tuple(posts), people=people))
    return pipe.ask(HIDDEN, me), ask_foreseen(pipe, me, Needed(tuple(posts), all_posts, people))


def _keep_shown(page: tuple[int, Tab], listed: Sequence[int], found: Found, reader: PostReader) -> None:
    """`listed`: the ids that the list has, newest first."""
    pids, dead, last = tuple(found.pids), tuple(found.dead), _shown.get(page)
    if last is None or (last.pids, last.dead) != (pids, dead):
        posts, people = made_of(found.existing.values())
        known = {*(last.left_out if last else ()), *_not_of_tab(page, cached_records(listed))}
        lowest = min(pids, default=0)
        left_out = tuple(pid for pid in listed if pid in known and pid >= lowest)
        _shown.put(page, ShownPage(pids, dead, left_out, tuple(posts.difference(pids)), people))
    me, unsure = reader.me, reader.needed.acted
    if me is not None and unsure and reader.acted.since < inf and max(unsure) > (_acted_unknown.get(me) or 0):
        _acted_unknown.put(me, max(unsure))


def _of_tab(page: tuple[int, Tab], listed: list[int]) -> tuple[list[int], int]:
    """The ids without those that this process knows as no posts of the tab, which they stay, and how many of them to
    read at first. One more than a page has tells that there are older ones; and of those that are not known, some may
    turn out to be no posts of the tab."""
    shown, wanted = _shown.get(page), POSTS_A_PAGE + 1
    left_out = set(shown.left_out) if shown else set[int]()
    known = left_out.union(shown.pids).difference(shown.dead) if shown else set[int]()
    left: list[int] = []
    step = max(wanted, len(known))  # nearly always these are enough
    for first in range(0, len(listed), step):
        if len(left) >= wanted:
            left += listed[first:]
            break
        looked_at = listed[first : first + step]
        if new := {*looked_at} - known:
            records = cached_records(new)
            known.update(records)
            left_out |= _not_of_tab(page, records)
        left += filterfalse(left_out.__contains__, looked_at)
    unknown = len({*left[:wanted]} - known)
    return left, wanted + min(unknown, SPARE)


def _not_of_tab(page: tuple[int, Tab], records: Mapping[int, Record]) -> set[int]:
    """Those of these posts that are no posts of the tab."""
    uid, tab = page
    left_out = set[int]()
    if tab is not Tab.REPLIES:
        left_out |= {pid for pid, one in records.items() if one.links.reply_to_user not in (None, uid)}
    if tab is not Tab.POSTS:
        left_out |= {pid for pid, one in records.items() if one.links.repost_of is not None}
    return left_out


class OwnPosts(NamedTuple):
    """Which of the posts of one user."""

    replies: bool = True  # also those to others
    reposts: bool = True
    tag: str = ""  # folded; only posts with this tag
    without_pictures: bool = True


class Profiles(Repository):
    """All profiles."""

    def page(self, viewer: Viewer, username: str, before: int | None, tab: Tab = Tab.POSTS) -> ProfilePage:
        """What a user wrote to everyone below the cursor, newest first, and their pinned post on the first page; or
        what the tab has instead, without reposts and without a pinned post. Raises NoSuchUser,
        AccountDeleted, NotShown.

        One round trip with cached uids where the page has nothing that it had not at its last visit, else two. One more
        where many posts that this process has not read yet answer others, or are reposts. A signed-in viewer on another
        user's profile needs the second for the comparisons, a third where this process does not know which sets are the
        smaller ones, and one more while the users that both know are not cached. Comparisons are cached for seconds,
        and only while the viewer follows and unfollows nobody, on any worker.
        """
        below, most = "+inf" if before is None else f"({before}", POSTS_A_PAGE + READ_MORE
        person, (members, (numbers, bio, pin, header, facts), mine, acted, foreseen) = viewer.ask_about(
            username,
            lambda pipe, me, them: trip(
                pipe.zrevrangebyscore(keys.updates(them), below, "-inf", most + 1),
                pipe.ask(_OWNER, them),
                ask_mine(pipe, me, them) if me is not None and me != them else NOT_MINE,
                *(
                    _ask_foreseen(pipe, me, (them, tab), viewer.just_changed)
                    if before is None
                    else (ask_latest_acted(pipe, me), NOT_FORESEEN)
                ),
            ),
        )
        if mine and mine.between.hiding.blocks.theirs:
            raise BlocksViewer
        listed = stored_ids(keys.updates(person.uid), members) or self._not_adopted(person.uid, before)
        pinned = stored_id(keys.user(person.uid), pin) if tab is Tab.POSTS and before is None else None
        rules: list[Rule] = [posts_by(person.uid) if tab is Tab.REPLIES else posts_to_everyone(person.uid, pinned)]
        if tab is not Tab.POSTS:
            rules.append(no_reposts)
        pids, at_first = _of_tab((person.uid, tab), listed)
        reader = PostReader(self._store, viewer, rules, acted, person, foreseen=foreseen)
        pipe = self._store.pipeline()
        joined, reading = ask_join_dates(pipe, [person]), _reading(pipe, reader, pids, at_first, pinned)
        if mine:
            read, relation = rest(pipe, both(reading, mine.relation(pipe, numbers.follows, acted.hidden)))
        else:
            read, relation = rest(pipe, reading), ViewerRelation(is_me=viewer.uid == person.uid)
        if before is None:
            _keep_shown((person.uid, tab), listed, read.found, reader)
        about = ProfileTexts(bio, joined.value.get(person.uid), facts, header)
        older = read.filled.older
        if older is None and len(members) > most:  # of which the tab may leave out all
            older = read.filled.last or min(listed, default=None)
        page = PostsPage(read.filled.posts, older)
        if not numbers.written and self._store.is_foreign:
            numbers = numbers._replace(written=None)
        return ProfilePage(person, about, numbers, relation, page, read.pinned, tab)

    def part(self, viewer: Viewer, uid: int, own: "OwnPosts", part: Part) -> PostsPage:
        """A part of what the user `uid` wrote and reposted. Two round trips, at most four for those with a tag, and
        those of `PostReader.read`. Raises NoSuchUser, also for a deleted account, and NotShown."""
        person, found, acted = viewer.ask(
            lambda pipe, me: trip(
                ask_seen_person(pipe, me, uid),
                part.ask(pipe, keys.updates(uid), part.size + READ_MORE),
                ask_latest_acted(pipe, me),
            )
        )
        rules: list[Rule] = [posts_by(uid) if own.replies else posts_to_everyone(uid, None)]
        if not own.reposts:
            rules.append(no_reposts)
        if not own.without_pictures:
            rules.append(with_pictures)
        reader = PostReader(self._store, viewer, rules, acted, person)
        filled = part.fill(found.ids, lambda some: reader.read(self._tagged(some, own.tag)))
        return part.page(filled, found.has_more)

    def _tagged(self, pids: Sequence[int], tag: str) -> Sequence[int]:
        """Those of these posts, at least one, that have a tag. One round trip; none for no tag, which all have."""
        if not tag:
            return pids
        scores = self._store.zmscore(keys.tag(tag), [str(pid) for pid in pids])
        return [pid for pid, score in zip(pids, scores, strict=True) if score is not None]

    def pinned(self, viewer: Viewer, uid: int) -> list[Post]:
        """The post that a user has pinned; none without one. Two round trips. Errors as for `part`."""
        person, pid, acted = viewer.ask(
            lambda pipe, me: trip(ask_seen_person(pipe, me, uid), pipe.ask(PINNED, uid), ask_latest_acted(pipe, me))
        )
        reader = PostReader(self._store, viewer, [posts_by(uid)], acted, person)
        return reader.read([pid])[0] if pid is not None else []

    def _not_adopted(self, uid: int, before: int | None) -> list[int]:
        """The own posts in a user's home, newest first, for a database of the official Retwis that was not adopted: it
        has no `updates:`. Two round trips there, else none."""
        if not self._store.is_foreign:
            return []
        listed = stored_ids(keys.home(uid), self._store.lrange(keys.home(uid), 0, KEPT - 1))
        records = Posts(self._store).read({pid for pid in listed if before is None or pid < before})
        return sorted((record.pid for record in records if record.uid == uid), reverse=True)


class _Read(NamedTuple):
    found: Found  # of the ids that were read first
    filled: Filled
    pinned: Post | None


def _reading(pipe: Pipe, reader: PostReader, pids: list[int], at_first: int, pinned: int | None) -> Reading[_Read]:
    """The posts of a page, and the pinned one. Round trips as for `PostReader.reading`, and those of another where the
    first posts do not fill the page."""
    first = pids[:at_first]
    found = yield from reader.reading(pipe, first if pinned is None or pinned in first else [*first, pinned])
    posts, shown_first = found.posts, None
    if pinned is not None:
        shown_first = next((post for post in posts if post.pid == pinned), None)
        posts = [post for post in posts if post is not shown_first or pinned in first]
    further = further_ids(pids, len(first), len(posts), POSTS_A_PAGE)
    more = (yield from reader.reading(pipe, further)).posts if further else []
    return _Read(found, filled_page(pids, POSTS_A_PAGE, [*first, *further], [*posts, *more], []), shown_first)


def _numbers(uid: int, replies: Sequence[Any]) -> Numbers:
    *sizes, posts, reposts = replies
    return Numbers(follow_counts(uid, sizes), max(posts - reposts, 0))


# The numbers of a user. Six commands.
NUMBERS = Question(*FOLLOW_COUNTS.commands, ("ZCARD", keys.updates), ("ZCARD", keys.reposts), read=_numbers)


def _owner(uid: int, replies: Sequence[Any]) -> tuple[Numbers, str, str | None, str, tuple[Fact, ...]]:
    *numbers, (bio, pinned, header, *facts) = replies
    header = stored_digest(keys.user(uid), header)
    return _numbers(uid, numbers), bio or "", pinned, header, tuple(facts_of(uid, *facts))


_OWNER = Question(*NUMBERS.commands, ("HMGET", keys.user, "bio", "pinned", "header", *FIELDS), read=_owner)
