"""Early drafts of the protocol. Each must fail in its scenario: so the checks can find what the draft gets wrong."""

from collections.abc import Iterator
from dataclasses import replace

from tests.model.core import Command, Steps
from tests.model.entities import FOLLOW, OUTBOX, Edge, Relation, Seen, edge_of
from tests.model.protocol import Relations
from tests.model.small_site import follow


class NoSecondLook(Relations):
    """The truth is not read again after the mirror was written."""

    def _reconcile(self, edge: Edge) -> Steps:
        seen = yield from self._look(edge)
        yield from self._tell(self._writes(edge, seen))
        return seen


class DeletionReadFirst(Relations):
    """Whether the edge is allowed is read only before the mirror is written."""

    def _reconcile(self, edge: Edge) -> Steps:
        seen = yield from self._look(edge)
        allowed = seen.allowed
        while True:
            if seen.score is not None and not allowed:
                yield from self._take_back(edge, seen.score)
                seen = replace(seen, score=None)
            yield from self._tell(self._writes(edge, seen))
            again = yield from self._look(edge)
            if again.score == seen.score:
                return again
            seen = again


class NoSettle(Relations):
    """The count is not counted again after it was written."""

    def _settle(self, edge: Edge, count: int) -> Steps:
        if edge.relation.count:
            yield self._write_count(edge, count)


class Increments(Relations):
    """The count is incremented by what the mirror's write has changed."""

    def _reconcile(self, edge: Edge) -> Steps:
        score = yield ("ZSCORE", edge.truth, edge.target)
        changed = yield ("ZADDNX", edge.mirror, edge.who, score) if score else ("ZREM", edge.mirror, edge.who)
        seen = yield from super()._reconcile(edge)
        return replace(seen, count=changed if score else -changed)

    def _settle(self, edge: Edge, count: int) -> Steps:
        if edge.relation.count:
            yield ("HINCRBY", f"post:{edge.target}", edge.relation.count, count)


class ZeroIsWritten(Relations):
    """A count of 0 is written like any other."""

    def _write_count(self, edge: Edge, count: int) -> Command:
        return ("HSET", f"post:{edge.target}", edge.relation.count, count)


class CommitBeforeJob(Relations):
    """The job is added after the commit."""

    def set(self, edge: Edge, on: bool, score: int, nonce: str) -> Steps:
        yield self._commit(edge, on, score)
        yield ("ZADD", OUTBOX, edge.job(nonce), 0)
        yield from self.finish(edge.job(nonce))


class MirrorKeepsScore(Relations):
    """The mirror is written with NX."""

    def _writes(self, edge: Edge, seen: Seen) -> Iterator[Command]:
        for command in super()._writes(edge, seen):
            yield ("ZADDNX", *command[1:]) if command[:2] == ("ZADD", edge.mirror) else command


class RemovesWithoutJobs(Relations):
    """A removal has no jobs of its own; what leads to an edge goes last. (The site did so until now.)"""

    def mend(self, edges: list[Edge], nonce: str) -> Steps:
        for edge in edges:
            yield ("ZREM", edge.mirror, edge.who)
            yield ("ZREM", edge.notices, edge.notice)
            count = yield from self._count(edge)
            yield from self._settle(edge, count)
            yield self._remove_truth(edge, 0)


class TruthGoesFirst(Relations):
    """The removal of an account removes the truth before the jobs are added."""

    def remove_truths(self, relation: Relation, who: int, nonce: str) -> Steps:
        scored = yield ("ZRANGE", f"{relation.truth}:{who}")
        yield ("UNLINK", f"{relation.truth}:{who}")
        edges = yield from self._with_authors([Edge(relation, who, target, target) for target, _ in scored])
        yield from self.mend(edges, nonce)


class BlockEndsFollowsOnce(Relations):
    """A block that no longer stands has no effect."""

    def _after_block(self, edge: Edge, seen: Seen) -> Steps:
        yield from super()._after_block(edge, seen) if seen.score is not None else ()


class FollowIgnoresBlocks(Relations):
    """Only the block looks at follows."""

    def _seen(self, edge: Edge, replies: dict) -> Seen:
        follows = edge.relation is FOLLOW
        return super()._seen(edge, replies | {"block": None, "blocked": None} if follows else replies)

    def _after_block(self, edge: Edge, seen: Seen) -> Steps:
        for one in (follow(edge.who, edge.target), follow(edge.target, edge.who)):
            if seen.score is not None:
                yield self._remove_truth(one, 0)
        yield from super()._after_block(edge, seen)


class BlockIgnoresFollows(Relations):
    """Only a follow looks at blocks."""

    def _after_block(self, edge: Edge, seen: Seen) -> Steps:
        yield from ()


class NoticeOnce(Relations):
    """A notice is added after the reconciliation, once."""

    def _writes(self, edge: Edge, seen: Seen) -> Iterator[Command]:
        return (command for command in super()._writes(edge, seen) if command[1] != edge.notices)

    def finish(self, job: str) -> Steps:
        edge = edge_of(job)
        seen = yield from self._look(edge)
        if seen.score is not None and seen.notify:
            yield ("ZADDNX", edge.notices, edge.notice, 0)
        else:
            yield ("ZREM", edge.notices, edge.notice)
        yield from super().finish(job)


class UndoByMember(Relations):
    """The undo of a repost removes the member, whichever repost it is by now."""

    def _remove_truth(self, edge: Edge, score: int) -> Command:
        return ("ZREM", edge.truth, edge.target)


class TruthBeforeOwnPost(Relations):
    """A repost that must not stand loses its truth before its own post."""

    def _take_back(self, edge: Edge, score: int) -> Steps:
        yield self._remove_truth(edge, score)


DRAFTS: list[tuple[type[Relations], str]] = [
    (NoSecondLook, "like || unlike, none before"),
    (DeletionReadFirst, "like || deletion of the post"),
    (NoSettle, "two people like one post"),
    (Increments, "like, finished by a second worker"),
    (ZeroIsWritten, "like || deletion || expiry"),
    (CommitBeforeJob, "like, finished by a second worker"),
    (MirrorKeepsScore, "like || unlike || like again"),
    (TruthGoesFirst, "unlike || deletion of the actor"),
    (RemovesWithoutJobs, "like || deletion of the actor"),
    (BlockEndsFollowsOnce, "block || unblock"),
    (FollowIgnoresBlocks, "block || follow by the blocked"),
    (BlockIgnoresFollows, "block || follow by the blocked"),
    (NoticeOnce, "like || unlike, none before"),
    (UndoByMember, "undo || undo, then repost"),
    (TruthBeforeOwnPost, "repost || undo || deletion"),
]
