"""One protocol for every relation: follows, likes and all that are built as they are.

The truth of an edge is in a sorted set of the person. All else follows from it: the mirror, the count and the effects.
Every step can run twice. `tests/protocols/test_relations.py` interleaves it with others and with crashes.

1. Add the job. What follows is thus found by a worker.
2. Commit: write the truth. The first look goes with it.
3. Write the mirror and the effects.
4. Look again. A deletion commits first and looks at edges afterwards: one of the two sees the other. An edge that must
   not stand is taken back. When the look differs from what was written, write again.
5. Write the count of the last look.
6. Count again; while it differs, write again.
7. Remove the job.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Job, JobHandler, Outbox, reconcile
from retwis_site.store import keys
from retwis_site.store.chunks import emptied, heads, remove_members
from retwis_site.store.client import Pipe, Result, Store, answer, answers
from retwis_site.store.ids import integer, parse_id, stored_id, stored_score
from retwis_site.store.kinds import POST, UNTIL, USER
from timeline.relations.relation import Edge, Relation, ask_person, ask_target, queue_counted, write_counts

# ---- A look: all that decides about some edges, read in one round trip.


@dataclass(frozen=True, slots=True)
class EdgeState:
    """What a look has found about an edge."""

    score: float | None  # in the truth; None: the edge does not stand
    allowed: bool  # both sides exist, and every condition holds
    unseen: tuple[bool, bool]  # whether staff has hidden or suspended the person, and the person to whom it leads
    facts: tuple[object, ...]  # for each effect, what decides about it


class EdgeLook(NamedTuple):
    """What was found about some edges."""

    seen: dict[Edge, EdgeState]
    counts: dict[int, int]  # what the count of each target must be


def ask_look(pipe: Pipe, relation: Relation, edges: Collection[Edge]) -> Result[EdgeLook]:
    scores = {edge: pipe.zscore(relation.truth(edge.who), edge.target) for edge in edges}
    people = {who: ask_person(pipe, str(who)) for who in {edge.who: None for edge in edges}}
    targets = {target: ask_target(pipe, relation.leads_to, target) for target in {edge.target: None for edge in edges}}
    asked = [
        (
            edge,
            score,
            (people[edge.who], targets[edge.target]),
            [condition(pipe, edge) for condition in relation.conditions],
            [effect.ask(pipe, edge) for effect in relation.effects],
        )
        for edge, score in scores.items()
    ]
    counts = {int(target): relation.count.ask(pipe, int(target)) for target in targets} if relation.count else {}

    def read() -> EdgeLook:
        seen = {
            edge: EdgeState(
                score.value,
                allowed=all(end.value.exists for end in ends) and all(each.value for each in conditions),
                unseen=(ends[0].value.unseen, ends[1].value.unseen),
                facts=tuple(fact.value for fact in facts),
            )
            for edge, score, ends, conditions, facts in asked
        }
        return EdgeLook(seen, {target: number.value for target, number in counts.items()})

    return Result(read)


# ---- Edges


class Edges:
    """The edges of one relation."""

    def __init__(self, store: Store, relation: Relation) -> None:
        self._store = store
        self._relation = relation
        self._outbox = Outbox(store)

    # ---- the verbs

    def set(self, edge: Edge, score: float) -> None:
        """Set an edge. Seven round trips; four for a relation without mirror and effects; three more for an edge that
        is taken back, two more each time that another process changes it meanwhile."""
        job = self._outbox.add(self._relation.job(edge))
        pipe = job.store.pipeline()
        if self._relation.truth.score is UNTIL:  # else the date of an edge that stands is kept
            pipe.zadd(self._relation.truth(edge.who), {edge.target: score})
        else:
            pipe.zadd_nx(self._relation.truth(edge.who), {edge.target: integer(score)})
        self._commit(pipe, job, edge)

    def unset(self, edge: Edge) -> None:
        """Remove an edge. A repost is removed only if it is `edge.own_post`. Round trips as for `set`."""
        job = self._outbox.add(self._relation.job(edge))
        pipe = job.store.pipeline()
        self._queue_removal(pipe, edge, edge.own_post)
        self._commit(pipe, job, edge)

    def mend(self, edges: Collection[Edge]) -> None:
        """Make all that follows from these edges right, and take back those that must not stand. At most nine round
        trips for all together, and more as for `set`. Raises LeaseEnded when the store was too slow: the worker that
        claims the jobs finishes them.

        Each edge has a job: when this process dies, a count that it has written may be wrong, and the edge that led to
        the count may be gone."""
        self.set_all(dict.fromkeys(edges))

    def set_all(self, scores: Mapping[Edge, float | None]) -> None:
        """Like `mend`, and set those edges that have a score and do not stand yet, such as those of an import."""
        jobs = [self._relation.job(edge) for edge in scores]
        leased = self._outbox.add_all(jobs)
        with leased.pipeline() as pipe:
            for edge, score in scores.items():
                if score is not None:
                    pipe.zadd_nx(self._relation.truth(edge.who), {edge.target: score})
            look = ask_look(pipe, self._relation, scores)
        Edges(leased, self._relation)._finish(look.value, jobs)

    def finish(self, job: str) -> None:
        """Carry out what follows the commit of a job, for a worker. Five round trips, and more as for `set`."""
        self._carry_out(self._look([self._relation.edge(job)]))

    def reconcile(self, edges: Collection[Edge]) -> None:
        """Like `mend`, for edges that another job has led to: without jobs of their own. At most seven round trips."""
        self._reconcile(self._look(edges).seen)

    # ---- the steps

    def _look(self, edges: Collection[Edge]) -> EdgeLook:
        return answer(self._store, ask_look, self._relation, edges)

    def _commit(self, pipe: Pipe, job: Job, edge: Edge) -> None:
        """Send the commit, which is in `pipe`, together with the first look; then all that follows."""
        look = ask_look(pipe, self._relation, [edge])
        pipe.execute()
        with suppress(LeaseEnded):
            Edges(job.store, self._relation)._finish(look.value, [job.name])

    def _finish(self, look: EdgeLook, jobs: Sequence[str]) -> None:
        """Make all that follows match, and remove the jobs."""
        self._carry_out(look)
        self._outbox.all_done(jobs)

    def _carry_out(self, look: EdgeLook) -> None:
        self._relation.afterwards(self._store, self._reconcile(look.seen))

    def _reconcile(self, seen: dict[Edge, EdgeState]) -> dict[Edge, bool]:
        """Make mirrors, effects and counts match the truth. Returns which edges stand."""
        stand: dict[Edge, bool] = {}
        counts: dict[int, int] = {}

        def look(written: Mapping[Edge, EdgeState]) -> dict[Edge, EdgeState]:
            found = self._look(written)
            counts.update(found.counts)
            stand.update({edge: now.score is not None for edge, now in found.seen.items()})
            return found.seen

        reconcile(seen, look, self._write)
        if self._relation.count is not None:
            write_counts(self._store, self._relation.count, counts)
        return stand

    def _write(self, seen: Mapping[Edge, EdgeState]) -> dict[Edge, EdgeState]:
        """Take back the edges that must not stand, and write what follows from the truth, but the counts. No round trip
        where nothing follows, else one; one more where an edge must not stand, three more where a repost must not."""
        standing = self._take_back(seen)
        with self._store.pipeline() as pipe:
            for edge, now in standing.items():
                self._queue_mirror(pipe, edge, now.score, now.unseen)
                for effect, fact in zip(self._relation.effects, now.facts, strict=True):
                    effect.queue(pipe, edge, now.score, fact)
        return standing

    def _take_back(self, seen: Mapping[Edge, EdgeState]) -> dict[Edge, EdgeState]:
        """Remove the truth of the edges that must not stand. First what only its score leads to."""
        refused = {
            edge: now.score for edge, now in seen.items() if now.score is not None and not self._may_stand(edge, now)
        }
        for effect in self._relation.effects:
            effect.withdraw(self._store, refused)
        with self._store.pipeline() as pipe:
            for edge, score in refused.items():
                self._queue_removal(pipe, edge, score)
        return {**seen, **{edge: replace(seen[edge], score=None) for edge in refused}}

    def _may_stand(self, edge: Edge, now: EdgeState) -> bool:
        facts = zip(self._relation.effects, now.facts, strict=True)
        return now.allowed and all(effect.allows(edge, now.score, fact) for effect, fact in facts)

    def _queue_removal(self, pipe: Pipe, edge: Edge, score: float) -> None:
        """Remove the truth. Of an edge with its own post only the one with this score: the person may have undone it
        and set it again."""
        key = self._relation.truth(edge.who)
        if self._relation.makes_posts:
            pipe.zremrangebyscore(key, str(integer(score)), str(integer(score)))
        else:
            pipe.zrem(key, edge.target)

    def _queue_mirror(self, pipe: Pipe, edge: Edge, score: float | None, unseen: tuple[bool, bool]) -> None:
        """Write the mirror, and whether the numbers of both sides count this edge."""
        if self._relation.mirror is None:
            return
        key, truth, who = self._relation.mirror.of_member(edge.target), self._relation.truth(edge.who), str(edge.who)
        if score is None:
            pipe.zrem(key, who)
        else:
            pipe.zadd(key, {who: stored_score(truth, edge.target, score)})
        if self._relation.count is not None:
            queue_counted(pipe, key, who, counts=score is None or not unseen[0])
        if self._relation.count is not None and self._relation.leads_to == USER:
            queue_counted(pipe, truth, edge.target, counts=score is None or not unseen[1])


def handler(relation: Relation) -> JobHandler:
    """What a worker does for the jobs of a relation."""
    return lambda store, claim: Edges(store, relation).finish(claim.name)


# ---- The edges of a deleted account or post, taken back a chunk at a time.
#
# The deletion is committed before. So each edge sees it in its look, and takes itself back as it would after a race.


def remove_truths(store: Store, relation: Relation, who: int) -> Iterator[None]:
    """Remove all edges from a deleted account, in chunks. At most twelve round trips a chunk."""
    key = relation.truth(who)
    for members in emptied(store, key):
        remove_members(store, key, [member for member in members if not relation.is_target(member)])
        good = [member for member in members if relation.is_target(member)]
        Edges(store, relation).mend(edges_of(store, relation, [(who, member) for member in good]))
        yield


def remove_mirrors(store: Store, relation: Relation, owners: Mapping[int, int]) -> Iterator[None]:
    """Remove all edges to deleted people or posts, in chunks. `owners`: the author of each post, or the person, by the
    id of the target. At most twelve round trips a chunk, whatever the number of targets."""
    assert relation.mirror is not None
    mirrors = {target: relation.mirror.of_member(str(target)) for target in owners}
    while some := heads(store, mirrors):
        bad = [(target, member) for target, member in some if parse_id(member) is None]
        for target, member in bad:
            store.zrem(mirrors[target], member)
        Edges(store, relation).mend(
            [Edge(who, str(target), owners[target]) for target, member in some if (who := parse_id(member)) is not None]
        )
        yield


def edges_of(store: Store, relation: Relation, pairs: Sequence[tuple[int, str]]) -> list[Edge]:
    """Edges, from a person to a target each, with the owners of the targets. The author of a post is read: one round
    trip for all. A post that has expired has no author."""
    edges = [Edge(who, target, int(target) if relation.leads_to == USER else 0) for who, target in pairs]
    if relation.leads_to != POST:
        return edges
    authors = answers(store, lambda pipe, edge: pipe.hget(keys.post(int(edge.target)), "user_id"), edges)
    return [replace(edge, owner=stored_id(keys.post(int(edge.target)), uid) or 0) for edge, uid in authors.items()]
