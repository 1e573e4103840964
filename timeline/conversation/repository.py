"""What the pages around posts read: threads, quotes, who likes or reposts a post, what the viewer likes or keeps."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import (
    Pipe,
    Reading,
    Reply,
    Repository,
    Result,
    Scored,
    Store,
    answer,
    answers,
    begun,
    both,
    rest,
    trip,
)
from retwis_site.store.ids import stored_ids, stored_rows
from retwis_site.store.kinds import OfId
from timeline.people.lists import PEOPLE_A_PAGE, Cursor, ListedPerson, ask_listed, ask_start_rank, read_rows
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NO_LINKS, DeletedBy, Links, NoSuchPost, Post, PostsPage, Unavailable
from timeline.posts.reading.post_reader import PostReader, read_asked_for
from timeline.posts.reading.records import OnePost, Record, post_deleted, read_by_id
from timeline.posts.reading.visibility import NOTHING_READ_MUTES_ASIDE, LatestActed, ask_latest_acted
from timeline.relations import relations
from timeline.relations.relation import Relation
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, Part
from timeline.timelines.profile import NUMBERS, Numbers

# ---- What a user does with a post: the buttons of the pages and the calls of apps. Each says its round trips.


ActOnPost = Callable[[Store, int, Post], None]  # `int`: the uid of the user


class Acting(NamedTuple):
    do: ActOnPost
    undo: ActOnPost


def _edge(me: int, post: Post) -> tuple[int, int, int]:
    return me, post.pid, post.author.uid


LIKING = Acting(
    lambda store, me, post: relations.Likes(store).like(*_edge(me, post)),
    lambda store, me, post: relations.Likes(store).unlike(*_edge(me, post)),
)
REPOSTING = Acting(
    lambda store, me, post: Reposts(store).repost(*_edge(me, post)),
    lambda store, me, post: Reposts(store).undo(*_edge(me, post)),
)
BOOKMARKING = Acting(
    lambda store, me, post: relations.Bookmarks(store).add(*_edge(me, post)),
    lambda store, me, post: relations.Bookmarks(store).remove(*_edge(me, post)),
)
MUTING_THREADS = Acting(
    lambda store, me, post: relations.MutedThreads(store).mute(me, post.links.thread(post.pid)),
    lambda store, me, post: relations.MutedThreads(store).unmute(me, post.links.thread(post.pid)),
)

# ---- The replies to a post are branches: what stands below what on the page of a thread. It asks nothing of the store.


DEEPEST = 3  # indents; a branch that forks more often continues on the page of its last post

InThread = Post | Unavailable
Rank = Callable[[InThread], tuple[int, int]]  # the lowest comes first


@dataclass(frozen=True, slots=True)
class Branch:
    """A chain of posts, each of which replies to the one before. Where it ends, it may fork."""

    posts: list[InThread]  # at least one
    forks: "list[Branch]" = field(default_factory=list)  # none or several; one alone when others are not on this page
    has_more: bool = False  # the last post has replies that are not on this page

    def pids(self) -> Iterator[int]:
        """The ids of all posts, in the order of the page."""
        for post in self.posts:
            yield post.pid
        for fork in self.forks:
            yield from fork.pids()


def branches(top: int, replies: Iterable[InThread], rank: Rank) -> list[Branch]:
    """The branches below the post `top`, in the order of `rank`, each level anew.

    `replies` may have posts of other branches. A post that the viewer does not see is left out, unless posts below it
    are shown. Work is linear in the replies, but for sorting.
    """
    below = _by_parent(top, {reply.pid: reply for reply in replies}.values())
    known = {pid: sum(reply.is_counted for reply in found) for pid, found in below.items()}
    shown = _without_empty_ends(top, below)
    for found in shown.values():
        found.sort(key=rank)
    return [_branch(first, shown, known, level=0) for first in shown.get(top, ())]


def _by_parent(top: int, replies: Iterable[InThread]) -> dict[int, list[InThread]]:
    """The replies, without `top` itself, by the post replied to."""
    below: dict[int, list[InThread]] = {}
    for reply in replies:
        if reply.links.reply_to is not None and reply.pid != top:
            below.setdefault(reply.links.reply_to, []).append(reply)
    return below


def _reached(top: int, below: dict[int, list[InThread]]) -> list[InThread]:
    """The replies below `top`, each after the one to which it replies."""
    reached: list[InThread] = []
    level: Sequence[InThread] = below.get(top, ())
    while level:  # each post replies to one other, so no post is reached twice
        reached += level
        level = [reply for post in level for reply in below.get(post.pid, ())]
    return reached


def _without_empty_ends(top: int, below: dict[int, list[InThread]]) -> dict[int, list[InThread]]:
    """The replies below `top`, by the post replied to, without those that lead to no post that the viewer sees."""
    kept: dict[int, list[InThread]] = {}
    for reply in reversed(_reached(top, below)):  # from the leaves up
        if isinstance(reply, Post) or reply.pid in kept:
            kept.setdefault(reply.links.reply_to or top, []).append(reply)
    return kept


def _branch(first: InThread, below: dict[int, list[InThread]], known: dict[int, int], level: int) -> Branch:
    posts = [first]
    while True:
        last = posts[-1]
        replies = below.get(last.pid, [])
        has_more = isinstance(last, Post) and last.counts.replies > known.get(last.pid, 0)
        if len(replies) != 1 or has_more:
            break
        posts.append(replies[0])
    if level == DEEPEST:
        return Branch(posts, has_more=has_more or bool(replies))
    return Branch(posts, [_branch(reply, below, known, level + 1) for reply in replies], has_more)


# ---- The page of a thread: a post, what it replies to, and the replies to it.
#
# The work is bounded, however long the thread is: a page has the first A_PAGE replies to the post itself, and whatever
# stands below them among the next IN_THREAD posts of the thread. What is below these is on the pages of these; what is
# below a post that the viewer does not see, which has no page for them, is read besides.


@dataclass(frozen=True, slots=True)
class ThreadPage:
    author: User
    post: Post | Unavailable
    above: list[Post | Unavailable]  # what the post replies to, the first of the thread first; none on later pages
    begins_higher: bool  # the thread has posts above these
    replies: list[Branch]
    after: int | None  # the cursor of the next page of replies; None on the last page
    is_muted: bool  # by the viewer: they get no notices of the thread
    numbers: Numbers  # of the author
    follows: bool  # whether the viewer follows the author


A_PAGE = 100  # replies to the post itself that a page has
IN_THREAD = 200  # posts of the thread among which a page finds the replies to replies
UNSEEN_IN_A_ROW = 3  # of posts that the viewer does not see and that reply to one another; below them a page ends

FOLLOWS_NOBODY = Result(lambda: relations.LatestFollowed(frozenset(), are_all=True))


class Threads(Repository):
    """All threads."""

    def page(self, viewer: Viewer, username: str, pid: int, after: int | None) -> ThreadPage | Post:
        """A post of `username` with what it replies to, and the replies to it above the cursor: first the author's own,
        then those of people whom the viewer follows, then the others, each oldest first.

        Two round trips with cached uids, however long the thread is; one for a post without replies that is cached. One
        more for replies to a post that is a reply itself, one while the author of a post is not cached, and in a thread
        of more than IN_THREAD posts those of `_read_below_unseen`. Raises NoSuchUser, AccountDeleted, NoSuchPost, and
        PostDeleted for a deleted post without replies.

        The id of a repost gives the post that it reposts, without its thread; NoSuchPost where the viewer does not see
        that.
        """
        author, (found, replies, in_thread, known, latest, muted, numbers) = viewer.ask_about(
            username,
            lambda pipe, me, them: trip(
                OnePost(pipe, me, them, pid).or_place,
                _ask_above(pipe, keys.replies_to(pid), after or 0, A_PAGE + 1),
                _ask_above(pipe, keys.thread(pid), after or 0, IN_THREAD),
                FOLLOWS_NOBODY if me is None else pipe.ask(relations.LATEST_FOLLOWED, me),
                ask_latest_acted(pipe, me),
                relations.ask_muted_threads(pipe, me),
                pipe.ask(NUMBERS, them),
            ),
        )
        links = found.links
        if links.repost_of is not None:
            if reposted := read_asked_for(self._store, viewer, [pid]):
                return reposted[0]
            raise NoSuchPost(pid)
        listed = stored_ids(keys.replies_to(pid), replies)
        direct = listed[:A_PAGE]
        below = self._below(pid, links.root if direct else None, in_thread, after or 0)
        here = set(direct)
        above = _above(pid, links) if after is None else []
        followed = relations.FollowedPeople(viewer.uid or 0, known)
        reader = PostReader(self._store, viewer, (), latest.asking_for(pid), author, about=[followed])
        posts = self._read_thread(reader, pid, [*above, *direct], below)
        shown = [post for post in posts.values() if post.links.reply_to != pid or post.pid in here]
        page = ThreadPage(
            author,
            _as_it_is_now(posts.get(pid), found, author),
            [posts.get(higher) or Unavailable(higher, NO_LINKS, DeletedBy.AUTHOR) for higher in reversed(above)],
            begins_higher=bool(above) and _is_reply(posts.get(above[-1])),
            replies=branches(pid, shown, _rank(author.uid, followed.among(_authors(shown)))),
            after=direct[-1] if len(listed) > A_PAGE else None,
            is_muted=str(links.thread(pid)) in muted,
            numbers=numbers._replace(written=numbers.written or None),  # 0: the database was not adopted
            follows=author.uid in followed.among([author.uid]),
        )
        if isinstance(found, Unavailable) and found.deleted_by and not page.replies and page.after is None:
            raise post_deleted(pid, found.deleted_by)
        return page

    def one(self, viewer: Viewer, pid: int) -> Post:
        """A post by its id alone. The id of a repost gives what it reposts, as a list has it, also where lists leave it
        out for a mute or for staff. Two round trips; one for a post that is cached, one more while its author is not.
        Raises NoSuchPost, PostDeleted, NotShown."""
        [latest], (author, post) = viewer.ask(
            lambda pipe, me: both(trip(ask_latest_acted(pipe, me)), read_by_id(pipe, me, pid))
        )
        found = post.value
        acted = latest if found.links.repost_of is None else NOTHING_READ_MUTES_ASIDE
        posts, _ = self._reader(viewer, author, pid, acted).read([pid])
        if not posts:
            raise NoSuchPost(pid)
        return posts[0] if posts[0].pid != pid else found.by(author)._replace(context=posts[0].context)

    def some(self, viewer: Viewer, pids: Sequence[int]) -> list[Post]:
        """Those of these posts that the viewer sees, also of people whom the viewer mutes. One round trip, and those of
        `PostReader.read`."""
        viewer.ask(lambda pipe, me: trip())
        return read_asked_for(self._store, viewer, pids)

    def around(self, viewer: Viewer, pid: int) -> tuple[list[Post], list[Post]]:
        """What a post replies to, the first of the thread first; and the replies to it and to these, each after the one
        that it replies to, as far as the page of the post has them. Round trips and errors as for `one`; one more for
        replies to a post that is a reply itself, and for more than IN_THREAD of them those of `_read_below_unseen`."""
        (latest, replies, in_thread), (author, post) = viewer.ask(
            lambda pipe, me: both(
                trip(
                    ask_latest_acted(pipe, me),
                    _ask_above(pipe, keys.replies_to(pid), 0, A_PAGE),
                    _ask_above(pipe, keys.thread(pid), 0, IN_THREAD),
                ),
                read_by_id(pipe, me, pid),
            )
        )
        links, direct = post.value.links, stored_ids(keys.replies_to(pid), replies)
        below, above = self._below(pid, links.root if direct else None, in_thread), _above(pid, links)
        reader = self._reader(viewer, author, pid, latest)
        posts = self._read_thread(reader, pid, [*above, *direct], below)
        higher = [posts[one] for one in reversed(above) if one in posts]
        return [post for post in higher if isinstance(post, Post)], _in_order(pid, posts.values())

    def _reader(self, viewer: Viewer, author: User, pid: int, latest: LatestActed) -> PostReader:
        """Of the page of a post."""
        return PostReader(self._store, viewer, (), latest.asking_for(pid), author)

    def _below(self, pid: int, root: int | None, in_thread: Sequence[str], after: int = 0) -> list[int]:
        """The next posts of the thread of a post, above `after`. `in_thread`: those of the thread that it has begun.
        One round trip for a reply, whose thread has begun with the post `root`; None: it has no replies."""
        if root is None or root == pid:
            return stored_ids(keys.thread(pid), in_thread)
        return stored_ids(
            keys.thread(root), answer(self._store, _ask_above, keys.thread(root), max(pid, after), IN_THREAD)
        )

    def _read_thread(
        self, reader: PostReader, top: int, near: Sequence[int], below: Sequence[int]
    ) -> dict[int, InThread]:
        """The post `top`, those near it, and the next posts of its thread, `below`. Round trips as for `_read` and
        `_read_below_unseen`."""
        posts = self._read(reader, dict.fromkeys([*near, top, *below]))
        if len(below) == IN_THREAD:
            self._read_below_unseen(reader, top, posts, below[-1])
        return posts

    def _read_below_unseen(self, reader: PostReader, top: int, posts: dict[int, InThread], end: int) -> None:
        """Add the replies above the id `end` to those of the posts below `top` that the viewer does not see: at most
        IN_THREAD for each of UNSEEN_IN_A_ROW levels, of two round trips each. None without such posts."""
        asked: set[int] = set()
        for _ in range(UNSEEN_IN_A_ROW):
            reached = _reached(top, _by_parent(top, posts.values()))
            unseen = [post.pid for post in reached if isinstance(post, Unavailable) and post.pid not in asked]
            if not unseen:
                return
            asked.update(unseen)
            asked_for, most = map(keys.replies_to, unseen), IN_THREAD // len(unseen) + 1
            found = answers(self._store, partial(_ask_above, pid=end, most=most), asked_for)
            replies = [one for key, some in found.items() for one in stored_ids(key, some)]
            posts |= self._read(reader, {one: None for one in replies[:IN_THREAD] if one not in posts})

    def _read(self, reader: PostReader, pids: dict[int, None]) -> dict[int, InThread]:
        """The posts by id, also those that are not shown. Round trips as for `PostReader.read`."""
        pipe = self._store.pipeline()
        found = rest(pipe, reader.reading(pipe, [*pids]))
        all_of_them: list[InThread] = [*found.unavailable(), *found.posts]
        return {post.pid: post for post in all_of_them}


def _ask_above(pipe: Pipe, key: str, pid: int, most: int) -> Reply[list[str]]:
    """The next posts in a listing above an id."""
    return pipe.zrangebyscore(key, f"({pid}", "+inf", most)


def _in_order(top: int, replies: Iterable[InThread]) -> list[Post]:
    """The posts below `top` that the viewer sees: each reply before the next one to the same post, and what replies to
    it in between."""
    shown = _without_empty_ends(top, _by_parent(top, replies))
    found: list[Post] = []
    waiting = sorted(shown.get(top, ()), key=lambda reply: -reply.pid)
    while waiting:
        reply = waiting.pop()
        if isinstance(reply, Post):
            found.append(reply)
        waiting += sorted(shown.get(reply.pid, ()), key=lambda reply: -reply.pid)
    return found


def _as_it_is_now(shown: InThread | None, found: Record | Unavailable, author: User) -> InThread:
    """The post as the first round trip has found it. `shown` may be older, but says whether the viewer sees it."""
    if isinstance(found, Unavailable):
        return found
    if shown is None:
        return found.by(author)
    return found.by(author)._replace(context=shown.context) if isinstance(shown, Post) else shown


def _above(pid: int, links: Links) -> list[int]:
    """The nearest posts above a post, nearest first. An import may know only the post replied to."""
    return [higher for higher in links.above or [links.reply_to] if higher and higher != pid]


def _is_reply(post: InThread | None) -> bool:
    return post is not None and post.links.reply_to is not None


def _authors(posts: Iterable[InThread]) -> set[int]:
    return {post.author.uid for post in posts if isinstance(post, Post)}


def _rank(author: int, followed: Collection[int]) -> Rank:
    def rank(reply: InThread) -> tuple[int, int]:
        if not isinstance(reply, Post):
            return 2, reply.pid
        uid = reply.author.uid
        return (0 if uid == author else 1 if uid in followed else 2), reply.pid

    return rank


# ---- The posts that quote a post.


class Quotes(Repository):
    """All quotes."""

    def page(self, viewer: Viewer, username: str, pid: int, before: int | None) -> tuple[User, PostsPage, bool]:
        """The user `username`; the posts below the cursor that quote a post of theirs, newest first; and whether there
        are quotes of which the viewer sees none.

        Two round trips with cached uids; one more where many of the quotes are hidden, and those of `PostReader.read`
        while the author of a post is not cached. Raises NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted.
        """
        part = Part(before)
        author, (_, acted, quotes) = viewer.ask_about(
            username,
            lambda pipe, me, them: trip(
                OnePost(pipe, me, them, pid),
                ask_latest_acted(pipe, me),
                part.ask(pipe, keys.quotes_of(pid), part.size + READ_MORE + 1),
            ),
        )
        reader = PostReader(self._store, viewer, acted=acted)
        page = part.page(part.fill(quotes.ids, reader.read), has_more=False)
        return author, page, bool(quotes.ids) and not page.posts


# ---- Who likes a post, and who has reposted it.


@dataclass(frozen=True, slots=True)
class ActedByPage:
    """A page of people, the latest first."""

    author: User  # of the post
    rows: list[tuple[Cursor, ListedPerson]]
    older: Cursor | None  # of the next page; None on the last page
    hides_all: bool  # there are such people, of whom the viewer sees none

    @property
    def people(self) -> list[ListedPerson]:
        return [person for _, person in self.rows]


class ActedBy:
    """The people who have acted on posts: of a relation with a mirror, such as those who like them. Only reads."""

    def __init__(self, store: Store, relation: Relation) -> None:
        assert isinstance(relation.mirror, OfId)
        self._store = store
        self._mirror = relation.mirror

    def page(self, viewer: Viewer, username: str, pid: int, before: Cursor | None) -> ActedByPage:
        """Who has acted on a post of `username`. Two round trips with cached uids, three for a later page. Raises
        NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted, NotShown."""
        key = self._mirror(pid)
        author, (_, found) = viewer.ask_about(
            username,
            lambda pipe, me, them: both(
                trip(OnePost(pipe, me, them, pid)), read_rows(pipe, key, before, PEOPLE_A_PAGE + 1)
            ),
        )
        return self._page(viewer, author, key, found, PEOPLE_A_PAGE)

    def part(self, viewer: Viewer, pid: int, before: Cursor | None, size: int) -> ActedByPage:
        """As `page`, of a post by its id alone, and `size` people. Round trips and errors as for `page` and
        `read_by_id`."""
        key = self._mirror(pid)

        def reading(pipe: Pipe, me: int | None) -> Reading[tuple[Post, Scored]]:
            rows = begun(read_rows(pipe, key, before, size + 1))
            author, post = yield from read_by_id(pipe, me, pid)
            return post.value.by(author), (yield from rows)

        post, found = viewer.ask(reading)
        return self._page(viewer, post.author, key, found, size)

    def _page(self, viewer: Viewer, author: User, key: str, found: Scored, size: int) -> ActedByPage:
        """`found`: one row more than the page has."""
        shown = stored_rows(key, found[:size])
        people = answer(self._store, ask_listed, viewer.uid, [uid for uid, _ in shown])
        cursors = {uid: Cursor(score, str(uid)) for uid, score in shown}
        older = cursors[shown[-1][0]] if shown and len(found) > size else None
        rows = [(cursors[uid], person) for uid, person in people.items()]
        return ActedByPage(author, rows, older, hides_all=bool(shown) and not rows)


# ---- A user's own lists of posts: those that they like, and those that they keep.


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page of posts, the latest like or bookmark first."""

    posts: list[Post]
    older: Cursor | None  # None on the last page
    newest: Cursor | None  # None without posts


class SavedPart(NamedTuple):
    """Which part of such a list an answer has, as `Part`."""

    below: Cursor | None = None
    above: Cursor | None = None
    upwards: bool = False
    size: int = POSTS_A_PAGE


def saved_posts(store: Store, relation: Relation, viewer: Viewer, part: SavedPart) -> SavedPage:
    """A part of the posts of one relation of the viewer, such as those that they like. Two round trips with cached
    uids, three below or above a cursor; one more where many are deleted or hidden, and those of `PostReader.read`.
    Raises NotSignedIn."""
    key = relation.truth
    me, ([acted], scored) = viewer.ask_as_user(
        lambda pipe, me: both(trip(ask_latest_acted(pipe, me)), _read_saved(pipe, key(me), part))
    )
    scores = dict(stored_rows(key(me.uid), scored))
    reader = PostReader(store, viewer, acted=acted)
    of_ids = Part(upwards=part.upwards, size=part.size)
    page = of_ids.page(of_ids.fill([*scores], reader.read), has_more=False)
    last, first = (None if pid is None else Cursor(scores[pid], str(pid)) for pid in (page.older, page.newest))
    return SavedPage(page.posts, last, first)


def _read_saved(pipe: Pipe, key: str, part: SavedPart) -> Reading[Scored]:
    """The rows of a part, in the order in which they are looked at."""
    above, most = part.above, part.size + READ_MORE + 2  # one tells that there are others, and one is `above` itself
    if above is None:
        return (yield from read_rows(pipe, key, part.below, most))
    below = Result(int) if part.below is None else ask_start_rank(pipe, key, part.below)
    end, start = yield from trip(ask_start_rank(pipe, key, above), below)
    if part.upwards:
        start = max(start, end - most)
    if start >= end:
        return []
    [rows] = yield from trip(pipe.zrevrange_withscores(key, start, min(end, start + most) - 1))
    kept = [row for row in rows if row[0] != above.member]
    return kept[::-1] if part.upwards else kept
