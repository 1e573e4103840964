"""What a relation is, such as following or liking, and an edge of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from retwis_site.jobs.outbox import job_id
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, parse_number
from retwis_site.store.kinds import OfId, mirror_of
from retwis_site.store.replies import Answer, Reply
from timeline.relations.protocol.counts import Count
from timeline.relations.protocol.targets import Target


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


class Scores(Enum):
    """What the scores of the truth say."""

    SINCE = auto()  # setting an edge again keeps its score
    UNTIL = auto()  # setting an edge again replaces its score
    OWN_POST = auto()  # the id of the post that the edge makes. Ids are unique, so the score names the edge


def _nothing_asked(pipe: Pipe, edge: Edge) -> Answer[object]:
    return Answer(lambda: None)


def _nothing_withdrawn(pipe: Pipe, edge: Edge, score: float) -> None:
    return None


@dataclass(frozen=True)
class Effect:
    """What follows from an edge beside its mirror and its count: a dropped home, a notice.

    `queue` gets the score of the edge (None: the edge does not stand) and the answer to `ask`. It runs in the round
    trip that writes the mirror, again and again until two looks are the same. So it must be able to run twice.
    """

    queue: Callable[[Pipe, Edge, float | None, object], None]
    ask: Callable[[Pipe, Edge], Answer[object]] = _nothing_asked  # what decides about the effect; part of each look
    # What only the score of the edge leads to. It is removed before an edge that must not stand.
    withdraw: Callable[[Pipe, Edge, float], None] = _nothing_withdrawn


# Whether an edge may stand, beside the existence of both sides. It gets the handle of the score, too.
Condition = Callable[[Pipe, Edge, Reply[float | None]], Answer[bool]]


def _nothing_more(store: Store, stand: Mapping[Edge, bool]) -> None:
    pass


@dataclass(frozen=True)
class Relation:
    """One kind of edge. All that differs between relations is here; `Edges` is the protocol of all of them."""

    kind: str  # of its jobs
    truth: OfId  # by the id of the person
    target: Target
    count: Count | None = None  # where the number of edges to a target stands; needs a mirror
    conditions: tuple[Condition, ...] = ()
    effects: tuple[Effect, ...] = ()
    scores: Scores = Scores.SINCE
    # What else follows once edges agree with their mirrors, before their jobs are done: a block ends follows. It gets
    # which of them stand.
    afterwards: Callable[[Store, Mapping[Edge, bool]], None] = _nothing_more

    @cached_property
    def mirror(self) -> OfId | None:
        """The key by the id of the target, as the key table says. None: the target knows nothing."""
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
        if self.target.has_author:
            parts.append(edge.owner)
        if self.scores is Scores.OWN_POST:
            parts.append(edge.own_post)
        return ":".join(map(str, [*parts, nonce()]))

    def edge(self, job: str) -> Edge:
        """The edge of a job. Raises ValueError and IndexError for a malformed name."""
        who, target = job_id(job, 1), job.split(":")[2]
        number = 0 if self.target.is_text else job_id(job, 2)
        owner = number if self.target.is_person else 0
        own_post = 0
        if self.target.has_author:
            owner = _number(job, 3)
        if self.scores is Scores.OWN_POST:
            own_post = _number(job, 4)
        return Edge(who, target, owner, own_post)


def _number(job: str, place: int) -> int:
    number = parse_number(job.split(":")[place])
    if number is None:
        raise ValueError(f"no number at place {place} of the job's name")
    return number
