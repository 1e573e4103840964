"""Home timelines: the posts of a user, of the people they follow, and with the tags they have chosen, from a cached
list."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.exceptions import StoreReadOnly
from retwis_site.store import keys, snowflake
from retwis_site.store.cached_list import (
    FIRST_TRUSTED,
    KEPT,
    Head,
    ListContent,
    Slice,
    TimelineList,
    head_of,
    merge,
    remove_dead,
)
from retwis_site.store.client import Pipe, Reply, Repository, Result, Store, answer, trip
from retwis_site.store.commands import Question, together
from retwis_site.store.ids import LARGEST_ID, stored_id, stored_ids
from retwis_site.store.local_cache import Hints, Memory
from timeline.posts.entities import PostsPage
from timeline.posts.reading import post_reader
from timeline.posts.reading.records import cached_author
from timeline.posts.reading.visibility import LATEST_ACTED, LatestActed, posts_of_followed
from timeline.relations import relations
from timeline.relations.home_tags import HOME_TAGS
from timeline.relations.muted_words import Where
from timeline.relations.relation import NONE_OF_THEM
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, Filled, Part, ReadPosts

HOME_EXPIRES_AFTER = 30 * 24 * 3600  # seconds after its owner's last visit
SHORTEST_SLICE = 10  # ids that a rebuild reads of each followed user and chosen tag, at least
MOST_PROLIFIC = 20  # users and tags of which a rebuild reads LONG_SLICE more ids, since they fill their slice fastest
LONG_SLICE = 100  # ids
FIRST_PAGE = Part()
SPARE = 5  # ids that a page reads besides its own: replies to people who are not followed are hidden


@dataclass(frozen=True, slots=True)
class HomePage:
    viewer: User
    counts: relations.FollowCounts
    page: PostsPage
    seen: int | None  # the highest id that earlier first pages have shown; None: no page has shown a post
    listed: list[int]  # ids below the cursor, newest first; some are dead, or by users who are no longer followed
    has_more: bool  # whether the home may have posts below these ids
    hidden: frozenset[int]  # uids of the latest people whom lists leave out for the viewer
    newest: int  # the highest id of a post on the page that is not ahead; 0 without one


class Homes(Repository):
    """All home timelines."""

    def page(self, viewer: Viewer, before: int | None) -> HomePage:
        """The posts below the cursor, newest first, and the viewer's counts.

        One round trip while the posts are cached, and the viewer's own and oldest ones are those of the last visit,
        and so are the authors for a viewer who follows many; else two. One more while the author of a post is not
        cached, one when the page shows something new, and one a day to renew the list. At most seven more where ids
        are dead, or where the list ends and its sources are merged, however long the history. A missing list costs
        three to six to rebuild. Raises NotSignedIn.
        """
        owner, (asked, counts, seen) = viewer.ask_as_user(
            lambda pipe, me: trip(_ask(pipe, me, before), pipe.ask(relations.FOLLOW_COUNTS, me), pipe.ask(SEEN, me))
        )
        part = Part(before, size=POSTS_A_PAGE)
        content, listed, page = self._read(viewer, owner, asked, part)
        newest = snowflake.newest(post.listed for post in page.posts)
        if before is None and newest > (seen or 0):
            with suppress(StoreReadOnly):  # it can wait
                self.note_seen(owner.uid, newest)
        hidden = asked.acted.hidden.blocked_or_muted
        return HomePage(owner, counts, page, seen, listed, content.complete_down_to > 0, hidden, newest)

    def part(self, viewer: Viewer, part: Part) -> PostsPage:
        """A part of the home. Nothing is written down as seen. Round trips as for `page`; at most three more where the
        list ends below the part. Raises NotSignedIn."""
        owner, [asked] = viewer.ask_as_user(lambda pipe, me: trip(_ask(pipe, me, part.before)))
        return self._read(viewer, owner, asked, part)[-1]

    def _read(
        self, viewer: Viewer, owner: User, asked: "_Asked", part: Part
    ) -> tuple[ListContent, list[int], PostsPage]:
        """What the list has, its ids that may be of the part, and the posts."""
        head, chosen, acted, foreseen = asked
        me, before = owner.uid, part.before
        sources, timeline = HomeSources(self._store, me, chosen), self.list_of(me)
        content = timeline.page(head, before, sources.newest)
        begins_lower = part.upwards and content.complete_down_to > part.above
        listed = sources.just_above(part) if begins_lower else part.of(content.ids)
        followed = relations.FollowedPeople(me, sources.chosen.followed)
        rules = [posts_of_followed(me, followed, sources.chosen.tags)]
        at_most = None if part.upwards else part.size + 1  # one more tells that there are older ones
        reader = post_reader.PostReader(
            self._store, viewer, rules, acted=acted, at_most=at_most, foreseen=foreseen, about=[followed]
        )
        is_first_page = part == FIRST_PAGE
        needed_last = (_spare.get(me) or 0) if is_first_page else 0
        filled = part.fill(listed, reader.read, max(SPARE, needed_last))
        if filled.dead:
            remove_dead(self._store, {keys.home(me): filled.dead})
        page = part.page(filled, has_more=begins_lower)
        if not part.upwards and page.older is None and content.complete_down_to > part.above:
            page = _below_the_list(sources, filled, part, reader.read)
        if before is None:
            others = tuple(followed.others)
            _last_needed.put(me, reader.needed._replace(followed=others) if others else reader.needed)
        if is_first_page:
            _note_spare(me, listed, filled, needed_last)
        return content, listed, page

    def arrived(self, viewer: Viewer, after: int) -> int:
        """The number of other users' posts above the id `after` that the viewer would see, at most FIRST_TRUSTED. One
        round trip with a cached uid while nothing has come; else one more, and those of `PostReader.read`. Raises
        NotSignedIn.

        Only the newest POSTS_A_PAGE ids are looked at; those below may be dead or hidden. A dropped list, as after a
        follow, is rebuilt here: until then, nothing is pushed into it.
        """
        owner, [head] = viewer.ask_as_user(lambda pipe, me: trip(pipe.ask(_HEAD, me)))
        content = self.list_of(owner.uid).page(head, None, HomeSources(self._store, owner.uid).newest)
        if snowflake.is_ahead(after):  # the page was made while the clock was ahead: what was pushed since then?
            above = [*map(int, filter(str.isdecimal, takewhile(str(after).__ne__, head.entries)))]
        else:
            above = [pid for pid in content.ids if pid > after]
        others = [pid for pid in above if cached_author(pid) != owner.uid and not snowflake.is_ahead(pid)]
        return self._seen_by(viewer, owner, others[:POSTS_A_PAGE]) + len(others[POSTS_A_PAGE:]) if others else 0

    def _seen_by(self, viewer: Viewer, owner: User, pids: Sequence[int]) -> int:
        """How many posts of others their home would show. One round trip, and those of `PostReader.read`."""
        with self._store.pipeline() as pipe:
            chosen, acted = pipe.ask(_CHOSEN, owner.uid), pipe.ask(LATEST_ACTED[Where.HOME], owner.uid)
        followed = relations.FollowedPeople(owner.uid, chosen.value.followed)
        rules = [posts_of_followed(owner.uid, followed, chosen.value.tags)]
        reader = post_reader.PostReader(self._store, viewer, rules, acted=acted.value, about=[followed])
        posts, _ = reader.read(pids)
        return sum(post.listed_by.uid != owner.uid for post in posts)

    def note_seen(self, me: int, pid: int) -> None:
        """Posts up to this one have been seen. One round trip."""
        self._store.hset(keys.user(me), {"seen": str(pid)})

    def list_of(self, me: int) -> TimelineList:
        return TimelineList(self._store, keys.home(me), HOME_EXPIRES_AFTER)


# By uid, what the first page of the home has read in a second round trip. The next visit asks for it in its first one.
# Some 800 KB.
_last_needed: Memory[int, post_reader.Needed] = Memory(size=3750, seconds=3600)
# By uid, how many ids besides its own the first page of the home needed, and one that tells of older ones: more than
# SPARE for users who follow few. 260 KB.
_spare: Hints[int] = Hints(1 << 14)


def _note_spare(me: int, listed: list[int], filled: Filled, needed_last: int) -> None:
    if len(filled.posts) < POSTS_A_PAGE:
        return
    dead = len(filled.dead)  # the next visit does not find them in the list
    needed = listed.index(filled.posts[-1].listed) + 2 - POSTS_A_PAGE - dead
    if needed > SPARE or needed_last:
        _spare.put(me, needed)


def _seen(me: int, replies: Sequence[str | None]) -> int | None:
    """The highest id that the home has shown. None when it was written while the clock was ahead."""
    seen = stored_id(keys.user(me), replies[0])
    return None if seen is not None and snowflake.is_ahead(seen) else seen


# The highest id that the home of a user has shown, as `HomePage.seen`. One command.
SEEN = Question(("HGET", keys.user, "seen"), read=_seen)


def _below_the_list(sources: "HomeSources", filled: Filled, part: Part, read: ReadPosts) -> PostsPage:
    """Fill up a page from the sources, where the list ends. At most four round trips, however long the
    history."""
    below = part.below if filled.last is None else filled.last
    if len(filled.posts) == part.size:
        return PostsPage(filled.posts, below)
    length = part.size + 1
    merged = merge(sources.slices(Part(below), lambda _: length).values(), keep=length)
    pids = part._replace(below=below).of(merged.ids[: part.size])
    more, _ = read(pids)
    posts = [*filled.posts, *more]
    page = posts[: part.size]
    if len(posts) > part.size:
        return PostsPage(page, page[-1].listed)
    has_more = len(merged.ids) > part.size or merged.complete_down_to
    return PostsPage(page, pids[-1] if pids and has_more else None)


class Chosen(NamedTuple):
    """Whose posts a home has, as far as a request has read them, and with which tags."""

    followed: relations.LatestFollowed
    tags: frozenset[str]


NO_CHOSEN_READ = Chosen(relations.NO_FOLLOWED_READ, frozenset())


class _Asked(NamedTuple):
    """What the first round trip says of a home."""

    head: Head
    chosen: Chosen
    acted: LatestActed
    foreseen: post_reader.Foreseen = post_reader.NOTHING_FORESEEN


_CHOSEN = together(relations.LATEST_FOLLOWED, HOME_TAGS, read=Chosen)
_HEAD, _LIST = head_of(keys.home, None), head_of(keys.home, LARGEST_ID)
_FIRST_PART, _LATER_PART = [
    together(entries, _CHOSEN, LATEST_ACTED[Where.HOME], read=_Asked) for entries in (_HEAD, _LIST)
]


def _ask(pipe: Pipe, me: int, before: int | None) -> Reply[_Asked] | Result[_Asked]:
    """Ask for a part of a home, and for what the last visit to the first part has needed besides."""
    asked = pipe.ask(_FIRST_PART if before is None else _LATER_PART, me)
    needed = _last_needed.get(me) if before is None else None
    if needed is None or not any(needed):
        return asked
    foreseen, others = post_reader.ask_foreseen(pipe, me, needed), needed.followed
    among = relations.ask_followed(pipe, me, others) if others else NONE_OF_THEM  # a warm home has none

    def read() -> _Asked:
        known = asked.value.chosen.followed._replace(asked=frozenset(others), among_asked=frozenset(among.value))
        chosen = asked.value.chosen._replace(followed=known)
        return asked.value._replace(chosen=chosen, foreseen=foreseen.value)

    return Result(read)


class HomeSources:
    """What a home is made of: the `updates:` sets of a user and of everyone they follow, and the `tag:` sets of the
    tags that they have chosen."""

    def __init__(self, store: Store, me: int, chosen: Chosen = NO_CHOSEN_READ) -> None:
        """`chosen`: what the request has read. It may be too old for a rebuild, so it is read again with the ids."""
        self._store = store
        self.me = me
        self.chosen = chosen

    def newest(self) -> ListContent:
        """The newest ids. Round trips as for `slices`, and one more where a few authors are prolific.

        The more sources, the shorter the slice of each, so that all slices together stay near KEPT ids. A few prolific
        authors may fill their slices within an hour. Then the merge is complete for that hour only, so more ids of
        these authors are read.
        """
        slices = self.slices(Part(), lambda sources: max(SHORTEST_SLICE, KEPT // sources))
        merged = merge(slices.values())
        if not merged.complete_down_to or len(merged.ids) >= FIRST_TRUSTED:
            return merged
        cut = [key for key, piece in slices.items() if piece.has_more]
        prolific = sorted(cut, key=lambda key: slices[key].ids[-1], reverse=True)[:MOST_PROLIFIC]
        further = {key: Part(below=slices[key].ids[-1]) for key in prolific}
        self._lengthen(slices, further, LONG_SLICE)
        return merge(slices.values())

    def slices(self, part: Part, length_of: Callable[[int], int]) -> dict[str, Slice]:
        """The first ids of each source, by its key, that may be of a part. `length_of` says from the number of sources
        how many of each. One round trip; one more when the request has not read all followed users and chosen tags.
        """
        followed, tags_read = self.chosen
        read = [] if self.chosen is NO_CHOSEN_READ else source_keys(self.me, [*followed.members], tags_read)
        known = dict.fromkeys(read, part)
        with self._store.pipeline() as pipe:
            members, tags = pipe.zrange(keys.following(self.me), 0, -1), pipe.ask(HOME_TAGS, self.me)
            slices = _ask_slices(pipe, known, length_of(len(known) or 1))
        self.chosen = Chosen(relations.LatestFollowed(frozenset(members.value), are_all=True), tags.value)
        sources = source_keys(self.me, members.value, tags.value)
        with self._store.pipeline() as pipe:
            others = _ask_slices(pipe, {key: part for key in sources if key not in known}, length_of(len(sources)))
        found = slices.value | others.value
        return {key: found[key] for key in sources}

    def just_above(self, part: Part) -> list[int]:
        """The lowest ids of all sources that may be of a part, lowest first: as many as a page looks at, unless there
        are fewer. A page may hide many in a row, and an app takes an empty part for the end. Round trips as for
        `slices`, and one more where the user follows so many that a slice of a prolific author ends early."""
        slices = self.slices(part, lambda sources: max(part.size + SPARE, KEPT // sources))
        if len(found := _before_the_first_end(slices)) >= part.size + READ_MORE:
            return found
        cut = sorted((key for key in slices if slices[key].has_more), key=lambda key: slices[key].ids[-1])
        further = {key: part._replace(above=slices[key].ids[-1]) for key in cut[:MOST_PROLIFIC]}
        self._lengthen(slices, further, READ_MORE)
        return _before_the_first_end(slices)

    def _lengthen(self, slices: dict[str, Slice], further: Mapping[str, Part], length: int) -> None:
        """Add ids to some of the slices. One round trip; none without any."""
        for key, piece in answer(self._store, _ask_slices, further, length).items():
            slices[key] = Slice(slices[key].ids + piece.ids, piece.has_more)


def source_keys(me: int, followed: Sequence[str], tags: Iterable[str]) -> list[str]:
    """The sorted sets of which the home of `me` is made. `followed`: uids as text; `tags`: those chosen."""
    uids = [me, *stored_ids(keys.following(me), followed)]
    return [*keys.updates.of_each(uids), *map(keys.tag, tags)]


def _before_the_first_end(slices: Mapping[str, Slice]) -> list[int]:
    """The ids of slices that begin with the lowest, as far as all of them are complete, lowest first."""
    end = min((piece.ids[-1] for piece in slices.values() if piece.has_more), default=LARGEST_ID)
    return sorted({pid for piece in slices.values() for pid in piece.ids if pid <= end})


def _ask_slices(pipe: Pipe, parts: Mapping[str, Part], length: int) -> Result[dict[str, Slice]]:
    """The first ids of each source that may be of a part, at most `length`."""
    asked = {key: part.ask(pipe, key, length) for key, part in parts.items()}
    return Result(lambda: {key: piece.value for key, piece in asked.items()})
