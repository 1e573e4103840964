"""What a relation is, such as following or liking, and an edge of it."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, Protocol

from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from accounts.users.entities import UNSEEN
from accounts.users.repository import is_deleted, state_now
from retwis_site.exceptions import NotShown
from retwis_site.jobs.outbox import job_id, reconcile
from retwis_site.store import keys, kinds
from retwis_site.store.client import Pipe, Result, Store, answers, for_each
from retwis_site.store.ids import nonce, parse_id, parse_number
from retwis_site.store.kinds import OfId, OfText, Value, mirror_of

# ---- Why a block keeps a page from its viewer.


class BlocksViewer(NotShown):
    """Whom a person blocks is seen by nobody else. So it says what follows, which the viewer has just found."""

    message = _("You cannot see this. This person does not show you their profile and posts, and does not see yours.")


class BlockedByViewer(NotShown):
    message = _("You cannot see this. You block this person, and can unblock them on their profile.")
    undone_at = "profile"


# ---- What edges lead to, and how it stands.


class Standing(NamedTuple):
    """What decides about the edges from and to a person or a post."""

    exists: bool  # and is not deleted
    unseen: bool = False  # a person whom staff has hidden or suspended: numbers leave them out


def ask_person(pipe: Pipe, uid: str) -> Result[Standing]:
    """How an account stands. One command."""
    fields = pipe.hmget(keys.user(int(uid)), ["deleted", "state", "state_until"])

    def read() -> Standing:
        deleted, state, until = fields.value
        return Standing(not is_deleted(deleted), bool(state) and state_now(int(uid), state, until) in UNSEEN)

    return Result(read)


def ask_post_exists(pipe: Pipe, pid: str) -> Result[bool]:
    """Whether a post is there and not deleted. The hash of a deleted post expires: then it has no author and no time.
    One command."""
    fields = pipe.hmget(keys.post(int(pid)), ["user_id", "time", "deleted"])

    def read() -> bool:
        *written, deleted = fields.value
        return any(written) and deleted is None

    return Result(read)


def ask_target(pipe: Pipe, of: Value, target: str) -> Result[Standing]:
    """How a target of this kind stands. A thread stays when its first post is deleted, and texts always stand. At most
    one command."""
    if of == kinds.USER:
        return ask_person(pipe, target)
    if of == kinds.POST:
        exists = ask_post_exists(pipe, target)
        return Result(lambda: Standing(exists.value))
    return Result(lambda: Standing(exists=True))


# ---- How many members of a sorted set a number counts: without people whom staff has hidden or suspended, and without
# their posts. They stay in the set: followers of a hidden person see them there, and a suspension may be lifted. So
# they stand in another set besides.


def ask_number(pipe: Pipe, key: str) -> Result[int]:
    """How many members of a sorted set count. Two commands."""
    members, unseen = pipe.zcard(key), pipe.zcard(keys.unseen(key))
    return Result(lambda: max(members.value - unseen.value, 0))


def queue_counted(pipe: Pipe, key: str, member: str, counts: bool, score: int = 0) -> None:
    """Write whether a member of a sorted set counts. What is no member counts: then nothing is kept of it."""
    if counts:
        pipe.zrem(keys.unseen(key), member)
    else:
        pipe.zadd(keys.unseen(key), {member: score})


# ---- The number of edges to a target, where it is shown or sorted by. It is counted anew after each change, and
# counted again after it was written.


class Count(Protocol):
    """Where the number of edges to a target stands."""

    def ask(self, pipe: Pipe, target: int) -> Result[int]:
        """What the number must be."""

    def queue(self, pipe: Pipe, target: int, number: int) -> None:
        """Write the number. 0 is written by removing it."""


@dataclass(frozen=True)
class PostCount:
    """A number in a field of `post:<pid>`.

    A count makes no hash: a post that is deleted, or whose hash has expired, has the count 0, and 0 removes the field.
    When the hash expires just before a number is written, the next look finds no author and removes the field again.
    """

    mirror: OfId

    @property
    def name(self) -> str:
        """Of the field, as the key table says."""
        return self.mirror.counted

    def ask(self, pipe: Pipe, target: int) -> Result[int]:
        size, exists = ask_number(pipe, self.mirror(target)), ask_post_exists(pipe, str(target))
        return Result(lambda: size.value if exists.value else 0)

    def queue(self, pipe: Pipe, target: int, number: int) -> None:
        if number:
            pipe.hset(keys.post(target), {self.name: str(number)})
        else:
            pipe.hdel(keys.post(target), self.name)


class Ranking:
    """The number of followers of each user, as the score in `users_by_followers`. Who has none is not in it."""

    def ask(self, pipe: Pipe, target: int) -> Result[int]:
        return ask_number(pipe, keys.followers(target))

    def queue(self, pipe: Pipe, target: int, number: int) -> None:
        if number:
            pipe.zadd(keys.users_by_followers(), {str(target): number})
        else:
            pipe.zrem(keys.users_by_followers(), str(target))


RANKING = Ranking()


def write_counts(store: Store, count: Count, numbers: Mapping[int, int]) -> None:
    """Write numbers (by target), and correct those that have changed since they were read. Two round trips; two more
    each time that one has changed meanwhile. None without numbers."""

    def write(numbers: Mapping[int, int]) -> Mapping[int, int]:
        for_each(store, lambda pipe, target: count.queue(pipe, target, numbers[target]), numbers)
        return numbers

    reconcile(numbers, lambda targets: answers(store, count.ask, targets), write)


def recount(store: Store, count: Count, targets: Iterable[int]) -> None:
    """Count the edges to these targets anew. Three round trips for all together; two more as for `write_counts`."""
    write_counts(store, count, answers(store, count.ask, targets))


# ---- Relations


@dataclass(frozen=True, slots=True)
class Edge:
    """A person and what they follow, like, block and so on."""

    who: int
    target: str  # an id or a text, as the truth holds it; a text has no colon
    owner: int = 0  # the followed person, or the author of the post; 0: no one, or not known
    own_post: int = 0  # the post that this edge makes; 0: none, or not known


def to_person(who: int, them: int) -> Edge:
    """The edge of a relation between two people."""
    return Edge(who, str(them), owner=them)


@dataclass(frozen=True)
class Effect:
    """What follows from an edge beside its mirror and its count: a dropped home, a notice.

    `queue` gets the score of the edge (None: the edge does not stand) and the answer to `ask`. It runs in the round
    trip that writes the mirror, again and again until two looks are the same. So it must be able to run twice.
    """

    queue: Callable[[Pipe, Edge, float | None, object], None]
    # What decides about the effect; part of each look.
    ask: Callable[[Pipe, Edge], Result[object]] = lambda pipe, edge: Result(lambda: None)
    # Whether the edge may stand, as far as the answer says. It gets the score, too.
    allows: Callable[[Edge, float | None, object], bool] = lambda edge, score, fact: True
    # Removes what only the scores of edges lead to, before these edges: they must not stand.
    withdraw: Callable[[Store, Mapping[Edge, float]], None] = lambda store, scores: None


def _drop_home(pipe: Pipe, edge: Edge, score: float | None, fact: object) -> None:
    pipe.unlink(keys.home(edge.who))


# The next read rebuilds the home with (or without) the posts to which the edge leads, so no other backfill is needed.
DROPS_HOME = Effect(_drop_home)


# Whether an edge may stand, beside the existence of both sides.
Condition = Callable[[Pipe, Edge], Result[bool]]


@dataclass(frozen=True)
class Relation:
    """One kind of edge. All that differs between relations is here and in the key table; `Edges` is the protocol of all
    of them."""

    kind: str  # of its jobs
    truth: OfId  # by the id of the person
    _: KW_ONLY
    count: Count | None = None  # where the number of edges to a target stands; needs a mirror
    conditions: tuple[Condition, ...] = ()
    effects: tuple[Effect, ...] = ()
    # What else follows once edges agree with their mirrors, before their jobs are done: a block ends follows. It gets
    # which of them stand.
    afterwards: Callable[[Store, Mapping[Edge, bool]], None] = lambda store, stand: None

    def __post_init__(self) -> None:
        """`doctor` leaves alone what a job is at work on, and only the key table tells it which jobs these are."""
        if f"{self.kind}:" not in self.truth.jobs:
            jobs = f'jobs="{self.kind}:{{owner}}:{{member}}"'
            raise ImproperlyConfigured(f"The key {self.truth.name} of the relation {self.kind} does not say {jobs}.")

    @cached_property
    def leads_to(self) -> Value:
        """USER, POST, THREAD (its first post), or TEXT (a tag, or words), as the key table says."""
        return self.truth.main

    def is_target(self, member: str) -> bool:
        """Whether a member of the truth names a target."""
        return self.leads_to == kinds.TEXT or parse_id(member) is not None

    @property
    def makes_posts(self) -> bool:
        """Whether each edge makes a post, whose id is its score. Ids are unique, so the score names the edge."""
        return self.truth.score is kinds.REPOST

    @cached_property
    def mirror(self) -> OfId | OfText | None:
        """The key by the target, as the key table says. None: the target knows nothing."""
        return mirror_of(self.truth)

    @cached_property
    def names(self) -> tuple[str, str, str, str]:
        """What a line of `export` calls the relation, the person, the target and the score, as the key table says."""
        type_, who, what, when = (self.truth.line or f"{self.kind} user post time").split()
        return type_, who, what, when

    def job(self, edge: Edge) -> str:
        """A new job about an edge: `<kind>:<who>:<target>:<nonce>`. Before the nonce stand the author of a post and the
        edge's own post, if the relation has them; 0: not known."""
        parts: list[object] = [self.kind, edge.who, edge.target]
        if self.leads_to == kinds.POST:
            parts.append(edge.owner)
        if self.makes_posts:
            parts.append(edge.own_post)
        return ":".join(map(str, [*parts, nonce()]))

    def edge(self, job: str) -> Edge:
        """The edge of a job. Raises ValueError and IndexError for a malformed name."""
        who, target = job_id(job, 1), job.split(":")[2]
        number = 0 if self.leads_to == kinds.TEXT else job_id(job, 2)
        owner = number if self.leads_to == kinds.USER else 0
        own_post = 0
        if self.leads_to == kinds.POST:
            owner = _number(job, 3)
        if self.makes_posts:
            own_post = _number(job, 4)
        return Edge(who, target, owner, own_post)


def _number(job: str, place: int) -> int:
    number = parse_number(job.split(":")[place])
    if number is None:
        raise ValueError(f"no number at place {place} of the job's name")
    return number


# ---- Which edges of a person stand, for pages.


NONE_OF_THEM: Result[set[int]] = Result(set)


def stands_above(kind: OfId | OfText) -> float:
    """Above which score a member of such a set stands. The score of a mute is until when, and it may have ended."""
    return time.time() if kind.score is kinds.UNTIL else -1


def ask_stands(pipe: Pipe, relation: Relation, who: int | None, target: str) -> Result[bool]:
    """Whether a person has an edge to a tag; a visitor, None, has none. One command; none for a visitor."""
    if who is None:
        return Result(bool)
    since = pipe.zscore(relation.truth(who), target)
    return Result(lambda: since.value is not None)


def ask_among(pipe: Pipe, kind: OfId | OfText, owner: int | str | None, ids: Collection[int]) -> Result[set[int]]:
    """Those of these ids that stand in the owner's sorted set of this kind, such as the posts that a person likes. One
    command; none without ids, and for a visitor, None, who has no set."""
    if owner is None or not ids:
        return NONE_OF_THEM
    scores, above = pipe.zmscore(kind.of_member(str(owner)), [str(one) for one in ids]), stands_above(kind)
    return Result(
        lambda: {one for one, score in zip(ids, scores.value, strict=True) if score is not None and score > above}
    )
