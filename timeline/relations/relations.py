"""What each relation is, and what pages ask of it: follow, block, mute, like, repost, bookmark, follow a tag.

All are edges from a user to a person, a post or a tag. `edges.py` is the protocol of all of them.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import NamedTuple

from accounts.community.sanctions import recount_later
from retwis_site.features import features
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import keys
from retwis_site.store.client import Handle, Pipe, Reading, Reply, Repository, Result, Store, answers, for_each, trip
from retwis_site.store.commands import Question
from retwis_site.store.ids import integer, parse_id, stored_time
from timeline.notices import THREADS_READ, Inbox, Notice, NoticeKind, Welcome, ask_seen, ask_welcome, queue_notice
from timeline.relations.edges import Edges
from timeline.relations.home_tags import HOME_TAG, leave_homes
from timeline.relations.relation import (
    DROPS_HOME,
    NONE_OF_THEM,
    RANKING,
    Edge,
    Effect,
    PostCount,
    Relation,
    ask_among,
    ask_person,
    to_person,
)

# ---- Numbers of follows and of shared users, and what a user hides.


class FollowCounts(NamedTuple):
    following: int
    followers: int


class Blocks(NamedTuple):
    """Whether one person blocks another, and the other one them."""

    mine: bool
    theirs: bool


NO_BLOCKS = Blocks(mine=False, theirs=False)


class Hiding(NamedTuple):
    """What a user does not see of another."""

    blocks: Blocks = NO_BLOCKS
    muted: bool = False
    reposts_muted: bool = False


HIDES_NOTHING = Hiding()


@dataclass(frozen=True, slots=True)
class InCommon:
    """The number of users that two sets share: exact up to a limit, beyond it a lower bound (`10000+`)."""

    count: int
    exact: bool

    def __str__(self) -> str:
        return str(self.count) if self.exact else f"{self.count}+"


# ---- Blocks between two people: what they refuse, and what they hide.


def ask_blocks(pipe: Pipe, me: int | None, them: int) -> Result[Blocks]:
    """The blocks between two people. Two commands; none for a visitor, and about oneself."""
    if me is None or me == them:
        return Result(lambda: NO_BLOCKS)
    mine, theirs = pipe.zscore(keys.blocked(me), str(them)), pipe.zscore(keys.blocked(them), str(me))
    return Result(lambda: Blocks(mine.value is not None, theirs.value is not None))


def ask_not_blocked(pipe: Pipe, edge: Edge) -> Result[bool]:
    """A `Condition`: no block stands between the two people of an edge. Two commands."""
    blocks = ask_blocks(pipe, edge.who, edge.owner)
    return Result(lambda: not any(blocks.value))


def read_blocks(pipe: Pipe, me: int | None, them: int) -> Reading[Blocks]:
    """The blocks between the viewer and a person, in a round trip of its own."""
    [blocks] = yield from trip(ask_blocks(pipe, me, them))
    return blocks


def ask_blocked(pipe: Pipe, me: int | None, people: Collection[int]) -> Result[set[int]]:
    """Those of these people whom `me` blocks or who block `me`. Two commands; none without people, and for a visitor,
    None."""
    mine, theirs = (ask_among(pipe, key, me, people) for key in (keys.blocked, keys.blocked_by))
    return Result(lambda: mine.value | theirs.value)


# ---- The notice that an edge causes: an effect of a relation, written and removed with the mirror.


@dataclass(frozen=True, slots=True)
class NoticeFacts:
    """What a look has found about a notice."""

    welcome: Welcome
    made: int | None = None  # the date of the edge's own post; None: it has none


def notice_of(kind: NoticeKind) -> Effect:
    """The effect of a relation: `edge.owner` gets a notice. At most nine commands a look, two when it is written."""

    def ask(pipe: Pipe, edge: Edge) -> Result[object]:
        post = None if kind is NoticeKind.FOLLOW else int(edge.target)
        welcome = ask_welcome(pipe, edge.owner, _notice(edge), post)
        if not edge.own_post:
            return Result(lambda: NoticeFacts(welcome.value))
        key = keys.post(edge.own_post)
        when = pipe.hget(key, "time")
        return Result(lambda: NoticeFacts(welcome.value, stored_time(key, when.value)))

    def queue(pipe: Pipe, edge: Edge, score: float | None, fact: object) -> None:
        assert isinstance(fact, NoticeFacts)
        queue_notice(pipe, edge.owner, _notice(edge), _date(score, fact), fact.welcome)

    def _date(score: float | None, facts: NoticeFacts) -> int | None:
        """Unix seconds; None when the edge does not stand. The score of a repost is an id, so its post has the date."""
        if score is None:
            return None
        return integer(score) if kind is not NoticeKind.REPOST else facts.made or int(time.time())

    def _notice(edge: Edge) -> Notice:
        return Notice(kind, int(edge.target), edge.who)

    return Effect(queue, ask)


# ---- Follows: `following:` is the truth, `followers:` its mirror. Both hold the uid and the unix second of each.


COMPARED = 10_000  # members of the smaller set that a comparison looks up
LATEST = 100  # users that `LatestFollowed` has at most: 2 KB


def _forget_hidden(store: Store, stand: Mapping[Edge, bool]) -> None:
    """What a hidden person has caused is no news to those who no longer follow them. One round trip; two more each, and
    one. When the sanction has ended meanwhile, or they follow again, a worker brings it back."""
    people = answers(store, lambda pipe, edge: ask_person(pipe, edge.target), [one for one in stand if not stand[one]])
    hidden = [edge for edge, person in people.items() if person.exists and person.unseen]  # else it goes with them
    for edge in hidden:
        Inbox(store, edge.who).remove_those_by([edge.owner])
    seen = answers(store, lambda pipe, edge: ask_seen(pipe, edge.who, edge.owner), hidden)
    for_each(store, recount_later, [edge.owner for edge, is_seen in seen.items() if is_seen])


FOLLOW = Relation(
    kind="follow",
    truth=keys.following,
    count=RANKING,
    conditions=(ask_not_blocked,),
    effects=(DROPS_HOME, notice_of(NoticeKind.FOLLOW)),
    afterwards=_forget_hidden,
)


class Follows(Repository):
    """All follows: from a follower to a followed user."""

    def follow(self, me: int, them: int) -> None:
        """Let `me` follow `them`; a second follow keeps the first date. Round trips as for `Edges.set`."""
        Edges(self._store, FOLLOW).set(to_person(me, them), int(time.time()))

    def unfollow(self, me: int, them: int) -> None:
        """Let `me` no longer follow `them`. Round trips as for `Edges.unset`, and one to four more."""
        Edges(self._store, FOLLOW).unset(to_person(me, them))


def follow_counts(uid: int, sizes: Sequence[int]) -> FollowCounts:
    """What the replies to FOLLOW_COUNTS say."""
    following, following_unseen, followers, followers_unseen = sizes
    return FollowCounts(max(following - following_unseen, 0), max(followers - followers_unseen, 0))


FOLLOW_COUNTS = Question(
    ("ZCARD", keys.following),
    ("ZCARD", f"{keys.unseen.word}:{keys.following.word}"),
    ("ZCARD", keys.followers),
    ("ZCARD", f"{keys.unseen.word}:{keys.followers.word}"),
    read=follow_counts,
)


def ask_follow_counts(pipe: Pipe, uid: int) -> Reply[FollowCounts]:
    """How many users a user follows, and how many followers they have. Four commands."""
    return pipe.ask(FOLLOW_COUNTS, uid)


def ask_followed(pipe: Pipe, me: int | None, uids: Collection[int]) -> Result[set[int]]:
    """Those of these users that `me` follows. Commands as for `ask_among`."""
    return ask_among(pipe, keys.following, me, uids)


class LatestFollowed(NamedTuple):
    """The users that a user has followed last, at most LATEST of them, and which of some others the user follows."""

    members: frozenset[str]  # uids as text
    are_all: bool  # the user follows no one else
    asked: frozenset[int] = frozenset()  # of these users all is known, too
    among_asked: frozenset[int] = frozenset()  # those of them that the user follows


NO_FOLLOWED_READ = LatestFollowed(frozenset(), are_all=False)


def _latest_followed(me: int, replies: Sequence[list[str]]) -> LatestFollowed:
    [members] = replies
    return LatestFollowed(frozenset(members), len(members) < LATEST)


# A page can ask this before it knows whose posts it has, and for most users it is all that the page must know. One
# command.
LATEST_FOLLOWED = Question(("ZREVRANGE", keys.following, 0, LATEST - 1), read=_latest_followed)


class FollowedPeople:
    """Which people of one page a user follows."""

    def __init__(self, me: int, latest: LatestFollowed) -> None:
        """`latest`: what this request has read. It asks about others only where a user follows more than these."""
        self._me = me
        self._latest = latest
        self.are_all_known = latest.are_all
        self._asked = set(latest.asked)
        self._answers: list[Result[set[int]]] = []
        self.others: set[int] = set()  # people asked about who are not among the latest

    def ask(self, pipe: Pipe, uids: Collection[int]) -> None:
        """Ask about these people, unless it is known already. At most one command."""
        if self.are_all_known:
            return
        others = {uid for uid in uids if uid != self._me and str(uid) not in self._latest.members}
        self.others |= others
        unknown = others - self._asked
        if unknown:
            self._asked |= unknown
            self._answers.append(ask_followed(pipe, self._me, unknown))

    def among(self, uids: Iterable[int]) -> set[int]:
        """Those of these people whom the user follows. It was asked about all of them."""
        members = self._latest.members
        latest = {uid for uid in uids if str(uid) in members}
        return latest.union(self._latest.among_asked, *[answer.value for answer in self._answers])


# ---- Blocks: `blocked:` is the truth, `blocked_by:` its mirror. Both hold the unix second of each block.
#
# While one of two people blocks the other, neither follows the other, and neither sees the other while signed in.


def _part(store: Store, stand: Mapping[Edge, bool]) -> None:
    """No one of two follows the other, and no one has a notice of the other. Ten round trips for one block at most.

    Each follow is reconciled as if its own job ran: it sees the block and takes itself back. This is done when the
    block no longer stands, too: an earlier attempt may have died in the middle of it. It is done last, so that a follow
    which stands gets its notice back when the block has ended meanwhile."""
    for edge, stands in stand.items():
        if stands:
            Inbox(store, edge.who).remove_those_by([edge.owner])
            Inbox(store, edge.owner).remove_those_by([edge.who])
    pairs = [(edge.who, edge.owner) for edge in stand]
    follows = [to_person(*ends) for me, them in pairs for ends in ((me, them), (them, me))]
    Edges(store, FOLLOW).reconcile(follows)


BLOCK = Relation(kind="block", truth=keys.blocked, afterwards=_part)


def followed_at_work(_: Store, under_way: Collection[str]) -> set[int]:
    """The people whose followers a job may be at work on: a follow of them, a block, which ends follows, or their
    removal. For `AtWork`; no round trip."""
    people = {FOLLOW.kind: 2, BLOCK.kind: 2, "gone": 1}  # how many such a job names
    jobs = [job.split(":") for job in under_way]
    return {uid for kind, *ids in jobs if people.get(kind) == len(ids) for id_ in ids if (uid := parse_id(id_))}


class BlockedPeople(Repository):
    """All blocks: from a user to another."""

    def block(self, me: int, them: int) -> None:
        """Let `me` block `them`; a second block keeps the first date. Neither follows the other any more. Twelve
        round trips; up to two more with notices, and one with a follow."""
        Edges(self._store, BLOCK).set(to_person(me, them), int(time.time()))

    def unblock(self, me: int, them: int) -> None:
        """Let `me` no longer block `them`. The follows do not come back. Ten round trips."""
        Edges(self._store, BLOCK).unset(to_person(me, them))


# ---- Mutes: of people (`muted:`), of their reposts (`muted_reposts:`), and of threads (`muted_threads:`).
#
# The score of a person is until when the mute lasts, in unix seconds, or `+inf`. Nothing leads from the muted to a
# mute: they never learn of it. The notices that they have caused are removed, and do not come back after the mute.


FOREVER = inf


def _remove_notices(store: Store, stand: Mapping[Edge, bool]) -> None:
    """What a muted person has caused is no news any more: neither counted nor shown. Two round trips for each edge
    that stands."""
    for edge, stands in stand.items():
        if stands:
            Inbox(store, edge.who).remove_those_by([edge.owner])


MUTE = Relation("mute", keys.muted, afterwards=_remove_notices)
MUTE_REPOSTS = Relation("mute_reposts", keys.muted_reposts)
MUTE_THREAD = Relation("mute_thread", keys.muted_threads)


def in_days(days: float) -> float:
    """The unix second in which a mute of so many days ends."""
    return time.time() // 1 + days * A_DAY


class Mutes(Repository):
    """Mutes of people: of all that they post, or of their reposts alone."""

    def mute(self, me: int, them: int, until: float = FOREVER) -> None:
        """Hide `them` from `me`, until a unix second. Muting again replaces the end. Round trips as for `Edges.set`,
        and two more at most."""
        Edges(self._store, MUTE).set(to_person(me, them), until)

    def unmute(self, me: int, them: int) -> None:
        """Show `them` to `me` again. Round trips as for `Edges.unset`."""
        Edges(self._store, MUTE).unset(to_person(me, them))

    def mute_reposts(self, me: int, them: int, until: float = FOREVER) -> None:
        """Hide the reposts of `them` from `me`, as `mute`."""
        Edges(self._store, MUTE_REPOSTS).set(to_person(me, them), until)

    def unmute_reposts(self, me: int, them: int) -> None:
        """Show the reposts of `them` to `me` again, as `unmute`."""
        Edges(self._store, MUTE_REPOSTS).unset(to_person(me, them))


class MutedThreads(Repository):
    """Threads of which a user gets no notices. A thread is named by its first post."""

    def mute(self, me: int, root: int) -> None:
        """Let `me` get no notices of a thread. Round trips as for `Edges.set`."""
        Edges(self._store, MUTE_THREAD).set(Edge(me, str(root)), int(time.time()))

    def unmute(self, me: int, root: int) -> None:
        """Let `me` get notices of a thread again. Round trips as for `Edges.unset`."""
        Edges(self._store, MUTE_THREAD).unset(Edge(me, str(root)))


# The first posts (ids as text) of the threads that a user has muted last, THREADS_READ of them. One command.
MUTED_THREADS = Question(
    ("ZREVRANGE", keys.muted_threads, 0, THREADS_READ - 1), read=lambda me, replies: frozenset(replies[0])
)


def ask_muted_threads(pipe: Pipe, me: int | None) -> Handle[frozenset[str]]:
    """The same; a visitor, None, has muted none."""
    return Result(frozenset[str]) if me is None else pipe.ask(MUTED_THREADS, me)


def ask_hidden(pipe: Pipe, me: int | None, people: Collection[int]) -> Result[set[int]]:
    """Those of these people whom lists leave out for `me`: whom they mute, and those with a block between the two.
    Three commands; none without people, and for a visitor, None."""
    if me is None:
        return NONE_OF_THEM
    blocked, muted = ask_blocked(pipe, me, people), ask_among(pipe, keys.muted, me, people)
    return Result(lambda: blocked.value | muted.value)


def _places(me: int, them: int) -> list[tuple[str, int]]:
    return [(keys.blocked(me), them), (keys.blocked(them), me), (keys.muted(me), them), (keys.muted_reposts(me), them)]


def _hiding(scores: Sequence[str | float | None]) -> Hiding:
    if scores.count(None) == len(scores):
        return HIDES_NOTHING
    blocks, blocked, *mutes = scores
    muted, reposts = [until is not None and float(until) > time.time() for until in mutes]
    return Hiding(Blocks(blocks is not None, blocked is not None), muted, reposts)


def ask_hiding(pipe: Pipe, me: int | None, them: int) -> Handle[Hiding]:
    """What `me` does not see of `them`. Four commands; none for a visitor, and about oneself."""
    if me is None or me == them:
        return Result(lambda: HIDES_NOTHING)
    return pipe.zscore_each(_places(me, them), _hiding)


class Between(NamedTuple):
    """What a viewer and another user are to each other."""

    following: bool  # the viewer follows the user
    follows_me: bool
    hiding: Hiding


NOTHING_BETWEEN = Between(following=False, follows_me=False, hiding=HIDES_NOTHING)


def between(scores: Sequence[str | float | None]) -> Between:
    """What these scores say, in the order in which `ask_between` asks for them."""
    follows, followed, *hiding = scores
    return Between(follows is not None, followed is not None, _hiding(hiding))


def ask_between(pipe: Pipe, me: int, them: int) -> Reply[Between]:
    """Six commands."""
    follows = [(keys.following(me), them), (keys.following(them), me)]
    return pipe.zscore_each([*follows, *_places(me, them)], between)


# ---- Likes: `likes:` is the truth, `liked_by:` its mirror. Both hold the unix second of each like.


LIKES = PostCount(keys.liked_by)
LIKE = Relation(
    kind="like",
    truth=keys.likes,
    count=LIKES,
    effects=(notice_of(NoticeKind.LIKE),),
)


class Likes(Repository):
    """All likes: from a user to a post."""

    def like(self, me: int, pid: int, author: int) -> None:
        """Let `me` like a post of `author`; a second like keeps the first date. A like of a deleted post is taken back.
        Round trips as for `Edges.set`."""
        Edges(self._store, LIKE).set(Edge(me, str(pid), author), int(time.time()))

    def unlike(self, me: int, pid: int, author: int) -> None:
        """Let `me` no longer like a post of `author`. Round trips as for `Edges.unset`."""
        Edges(self._store, LIKE).unset(Edge(me, str(pid), author))


# ---- Reposts: `reposts:` is the truth, `reposted_by:` its mirror. Both hold the id of the repost, a post of its own.
#
# Here is what belongs to the edge: the repost stands in `updates:` of its author while it is the one in `reposts:`.
# `timeline/posts/delivery.py` brings it to the homes of followers.


def ask_is_repost(pipe: Pipe, edge: Edge, own: float) -> Result[bool | None]:
    """Whether a post is the repost of an edge; None: there is no such post. It may be another one: where a server has
    taken over without the last writes, the hash is lost, and the counter gives its id out again. One command."""
    fields = pipe.hmget(keys.post(integer(own)), ["user_id", "repost_of", "deleted"])

    def read() -> bool | None:
        author, original, deleted = fields.value
        return None if author is None else (author, original, deleted) == (str(edge.who), edge.target, None)

    return Result(read)


def _ask_own(pipe: Pipe, edge: Edge) -> Result[object]:
    if not edge.own_post:
        return Result(lambda: None)
    is_repost = ask_is_repost(pipe, edge, edge.own_post)
    return Result(lambda: is_repost.value)


def _list_own_post(pipe: Pipe, edge: Edge, score: float | None, is_repost: object) -> None:
    """The repost of this edge is in `updates:`. If it is not the one that stands, as after a second click, it goes."""
    if not edge.own_post:
        return
    if score != edge.own_post:
        _queue_withdrawal(pipe, edge, edge.own_post, is_repost)
    elif is_repost is not False:
        pipe.zadd(keys.updates(edge.who), {str(edge.own_post): edge.own_post})


def _withdraw(store: Store, reposts: Mapping[Edge, float]) -> None:
    found = answers(store, lambda pipe, edge: ask_is_repost(pipe, edge, reposts[edge]), reposts)
    for_each(store, lambda pipe, edge: _queue_withdrawal(pipe, edge, reposts[edge], found[edge]), found)


def _queue_withdrawal(pipe: Pipe, edge: Edge, own_post: float, is_repost: object) -> None:
    """Remove a repost, as far as `ask_is_repost` has found it. A home that still has its id shows nothing: there is no
    hash. Where there was none before, another post may get the id meanwhile, so nothing is unlinked."""
    if is_repost is False:
        return
    pid = integer(own_post)
    pipe.zrem(keys.updates(edge.who), str(pid))
    if is_repost is True:
        pipe.unlink(keys.post(pid))


def _has_own_post(edge: Edge, score: float | None, is_repost: object) -> bool:
    """The repost that stands has its hash. `cleanup` may have removed the hash of one that took long."""
    return not edge.own_post or score != edge.own_post or is_repost is True


REPOSTS = PostCount(keys.reposted_by)
REPOST = Relation(
    kind="repost",
    truth=keys.reposts,
    count=REPOSTS,
    effects=(Effect(_list_own_post, _ask_own, _has_own_post, _withdraw), notice_of(NoticeKind.REPOST)),
)


# ---- Bookmarks: `bookmarks:` is the truth, with the unix second of each. Only their owner sees them, without a mirror.


BOOKMARK = Relation(kind="bookmark", truth=keys.bookmarks)


class Bookmarks(Repository):
    """All bookmarks: from a user to a post."""

    def add(self, me: int, pid: int, author: int) -> None:
        """Let `me` bookmark a post of `author`; a second time keeps the first date. A bookmark of a deleted post is
        taken back. Round trips as for `Edges.set`."""
        Edges(self._store, BOOKMARK).set(Edge(me, str(pid), author), int(time.time()))

    def remove(self, me: int, pid: int, author: int) -> None:
        """Remove a bookmark. Round trips as for `Edges.unset`."""
        Edges(self._store, BOOKMARK).unset(Edge(me, str(pid), author))


# What a card says of its viewer, in the order of `Acted`.
ACTED_ON = (LIKE, REPOST, BOOKMARK)


# ---- Follows of tags: `tags_of:` is the truth, with the unix second of each. A tag is named by its folded text.


TAG_FOLLOW = Relation("follow_tag", keys.tags_of, afterwards=leave_homes)


class TagFollows(Repository):
    """All follows of tags: from a user to a folded tag."""

    def follow(self, me: int, tag: str) -> None:
        """Let `me` follow a tag; a second follow keeps the first date. Round trips as for `Edges.set`."""
        Edges(self._store, TAG_FOLLOW).set(Edge(me, tag), int(time.time()))

    def unfollow(self, me: int, tag: str) -> None:
        """Let `me` no longer follow a tag. Round trips as for `Edges.unset` and `leave_homes`."""
        Edges(self._store, TAG_FOLLOW).unset(Edge(me, tag))


# ---- All of them


MUTE_WORDS = Relation("mute_words", keys.muted_words)  # `muted_words.py`

RELATIONS = (FOLLOW, BLOCK, MUTE, MUTE_REPOSTS, MUTE_WORDS, TAG_FOLLOW, HOME_TAG, LIKE, REPOST, BOOKMARK, MUTE_THREAD)


@cache
def relations() -> tuple[Relation, ...]:
    """All relations: those of this site, and those of its own features."""
    return tuple(relation for feature in features() for relation in feature.relations)
