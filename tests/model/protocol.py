"""The protocol of relations: generators of commands.

`timeline/relations/protocol/` follows it. It also has what the site does not have yet: notices, reposts and blocks.
"""

from collections.abc import Iterator
from dataclasses import replace

from tests.model.core import Command, Steps
from tests.model.entities import LIKE, OUTBOX, RANKING, RELATIONS, REPOST, Edge, Relation, Seen, edge_of, follow_of
from tests.model.round_trips import RoundTrips


class Relations(RoundTrips):
    """The protocol. Each method is a generator of commands."""

    # ---- one edge

    def set(self, edge: Edge, on: bool, score: int, nonce: str) -> Steps:
        """Set or remove an edge. Commit: the write to the truth. `score` is ignored for a repost."""
        if edge.relation.has_own_post:
            edge = yield from self._own_post(edge, on)
            score = edge.own_post
            if not score:
                return
        job = edge.job(nonce)
        yield ("ZADD", OUTBOX, job, 0)
        yield self._commit(edge, on, score)
        yield from self.finish(job)

    def _own_post(self, edge: Edge, on: bool) -> Steps:
        """The edge with the id of its own post: a new one, or for an undo the one that stands (0: none)."""
        if on:
            own_post = yield ("INCR", "next_post_id")
            yield ("HSET", f"post:{own_post}", "user_id", edge.who, "repost_of", edge.target)
        else:
            own_post = yield ("ZSCORE", edge.truth, edge.target)
        return replace(edge, own_post=own_post or 0)

    def _commit(self, edge: Edge, on: bool, score: int) -> Command:
        if not on:
            return self._remove_truth(edge, score)
        return ("ZADD" if edge.relation.newest_score else "ZADDNX", edge.truth, edge.target, score)

    def _remove_truth(self, edge: Edge, score: int) -> Command:
        """A repost is removed only if it is the one with this id. Ids are unique, so the score names it."""
        if edge.relation.has_own_post:
            return ("ZREMRANGEBYSCORE", edge.truth, score, score)
        return ("ZREM", edge.truth, edge.target)

    def finish(self, job: str) -> Steps:
        """Carry out what follows the commit, for the owner of the job and for a worker."""
        edge = edge_of(job)
        seen = yield from self._reconcile(edge)
        yield from self._settle(edge, seen.count)
        if edge.relation.blocks:
            yield from self._after_block(edge, seen)
        yield ("ZREM", OUTBOX, job)

    def _reconcile(self, edge: Edge) -> Steps:
        """Make the mirror and the notice match the truth. Look, write, look again, until two looks are the same."""
        seen = yield from self._look(edge)
        while True:
            if seen.score is not None and not seen.allowed:
                yield from self._take_back(edge, seen.score)
                seen = replace(seen, score=None)
            yield from self._tell(self._writes(edge, seen))
            again = yield from self._look(edge)
            if again.edge_is_as_in(seen):
                return again
            seen = again

    def _look(self, edge: Edge) -> Steps:
        """Read all that decides about an edge. One round trip."""
        who, target, owner = edge.who, edge.target, edge.owner
        asked = {
            "score": ("ZSCORE", edge.truth, target),
            "who": ("HMGET", f"user:{who}", "deleted"),
        }
        if edge.relation.target == "person":
            asked["target"] = ("HMGET", f"user:{target}", "deleted")
        elif edge.relation.target == "post":
            asked["target"] = ("HMGET", f"post:{target}", "user_id", "deleted")
        if edge.own_post:
            asked["own post"] = ("HMGET", f"post:{edge.own_post}", "user_id", "deleted")
        if edge.has_notice or edge.relation.ended_by_block:
            asked["block"] = ("ZSCORE", f"blocked:{owner}", who)
            asked["blocked"] = ("ZSCORE", f"blocked:{who}", owner)
        if edge.has_notice:
            asked["mute"] = ("ZSCORE", f"muted:{owner}", who)
            asked["owner"] = ("HMGET", f"user:{owner}", "deleted")
        if edge.relation.count:
            asked["count"] = ("ZCARD", edge.mirror)
        replies = yield from self._ask(asked.values())
        return self._seen(edge, dict(zip(asked, replies, strict=True)))

    def _seen(self, edge: Edge, replies: dict) -> Seen:
        score = replies["score"]
        target_exists = _exists(edge.relation.target, replies.get("target"))
        between = replies.get("block") is not None or replies.get("blocked") is not None
        allowed = target_exists and replies["who"][0] is None and not (between and edge.relation.ended_by_block)
        if edge.own_post and score == edge.own_post:
            allowed = allowed and _exists("post", replies["own post"])
        welcome = not between and replies.get("mute") is None and replies.get("owner", (None,))[0] is None
        counted = edge.relation.target == "person" or target_exists
        return Seen(score, allowed, edge.has_notice and welcome, replies.get("count", 0) if counted else 0)

    def _take_back(self, edge: Edge, score: int) -> Steps:
        """Remove an edge that must not stand: first what only its score leads to, then the truth."""
        if edge.relation.has_own_post:
            yield from self._tell(_withdraw(edge.who, score))
        yield self._remove_truth(edge, score)

    def _writes(self, edge: Edge, seen: Seen) -> Iterator[Command]:
        """What follows from the truth, but the count. One round trip."""
        stands = seen.score is not None
        if edge.relation.mirror:
            yield ("ZADD", edge.mirror, edge.who, seen.score) if stands else ("ZREM", edge.mirror, edge.who)
        if edge.has_notice:
            if stands and seen.notify:
                yield ("ZADDNX", edge.notices, edge.notice, 0)
            else:
                yield ("ZREM", edge.notices, edge.notice)
        if edge.own_post:
            if seen.score == edge.own_post:
                yield ("ZADD", f"updates:{edge.who}", edge.own_post, edge.own_post)
            else:
                yield from _withdraw(edge.who, edge.own_post)
        if edge.relation.drops_home:
            yield ("UNLINK", f"posts:{edge.who}")

    def _after_block(self, edge: Edge, seen: Seen) -> Steps:
        """No one of the two follows the other, and none has a notice of the other.

        Each follow is reconciled as if its own job ran: it sees the block and takes itself back. This is done when the
        block no longer stands, too: an earlier attempt may have died in the middle of it. In the site: both follows in
        the same round trips as the block."""
        for follow in (follow_of(edge.who, edge.target), follow_of(edge.target, edge.who)):
            found = yield from self._reconcile(follow)
            yield from self._settle(follow, found.count)
        if seen.score is None:
            return
        for owner, other in ((edge.who, edge.target), (edge.target, edge.who)):
            notices = yield ("ZRANGE", f"notices:{owner}")  # at most 1,000
            theirs = tuple(notice for notice, _ in notices if notice.endswith(f":{other}"))
            if theirs:
                yield ("ZREM", f"notices:{owner}", *theirs)

    # ---- counts

    def _settle(self, edge: Edge, count: int) -> Steps:
        """Write the count; count again until it is the same. Two round trips, two more for each change."""
        if not edge.relation.count:
            return
        while True:
            yield self._write_count(edge, count)
            counted = yield from self._count(edge)
            if counted == count:
                return
            count = counted

    def _count(self, edge: Edge) -> Steps:
        """What the count must be: 0 for a deleted post, and for one whose hash has expired."""
        if edge.relation.target == "person":
            return (yield ("ZCARD", edge.mirror))
        post = ("HMGET", f"post:{edge.target}", "user_id", "deleted")
        count, fields = yield from self._ask([("ZCARD", edge.mirror), post])
        return count if _exists("post", fields) else 0

    def _write_count(self, edge: Edge, count: int) -> Command:
        """A count of 0 is removed. So a count that has made a new hash, because the post expired, removes it again."""
        if edge.relation.count == RANKING:
            return ("ZADD", RANKING, edge.target, count) if count else ("ZREM", RANKING, edge.target)
        post, name = f"post:{edge.target}", edge.relation.count
        return ("HSET", post, name, count) if count else ("HDEL", post, name)

    # ---- deletions

    def remove_truths(self, relation: Relation, who: int, nonce: str) -> Steps:
        """Remove all edges of a deleted account, a chunk at a time."""
        while scored := (yield ("ZRANGE", f"{relation.truth}:{who}")):
            edges = [Edge(relation, who, target, target) for target, _ in scored]
            if relation.target == "post" and relation.notifies:
                edges = yield from self._with_authors(edges)
            yield from self.mend(edges, nonce)

    def remove_mirrors(self, relation: Relation, target: int, owner: int, nonce: str) -> Steps:
        """Remove all edges to a deleted account or post, a chunk at a time."""
        while scored := (yield ("ZRANGE", f"{relation.mirror}:{target}")):
            yield from self.mend([Edge(relation, who, target, owner) for who, _ in scored], nonce)

    def _with_authors(self, edges: list[Edge]) -> Steps:
        """The edges with the authors of their posts, who have the notices. A post without author has expired, and its
        notices went with it."""
        authors = yield from self._ask([("HMGET", f"post:{edge.target}", "user_id") for edge in edges])
        return [replace(edge, owner=author[0] or 0) for edge, author in zip(edges, authors, strict=True)]

    def mend(self, edges: list[Edge], nonce: str) -> Steps:
        """Make all that follows from these edges right. An edge that must not stand is taken back.

        Each edge has a job. Without it, a worker that dies here may leave a count that no other process sets: the edge
        that led to the count may be gone. In the site: all edges of a chunk in the same round trips."""
        jobs = [edge.job(nonce) for edge in edges]
        yield from self._tell(("ZADD", OUTBOX, job, 0) for job in jobs)
        for job in jobs:
            yield from self.finish(job)

    def delete_post(self, pid: int, author: int, nonce: str) -> Steps:
        """Commit: the HSET of `deleted`."""
        job = f"del:{pid}:{author}:{nonce}"
        yield ("ZADD", OUTBOX, job, 0)
        yield from self.finish_post(job, nonce)

    def finish_post(self, job: str, nonce: str) -> Steps:
        """The job `del:<pid>:<author>:<nonce>`, for its owner and for a worker. `nonce` is for its own jobs."""
        _, pid, author, _ = job.split(":")
        yield from self._remove_post(int(pid), int(author), nonce)
        yield ("ZREM", OUTBOX, job)

    def _remove_post(self, pid: int, author: int, nonce: str) -> Steps:
        """A post that is already marked, or whose hash has expired, is not marked again: an HSET would make a hash."""
        user, deleted = yield ("HMGET", f"post:{pid}", "user_id", "deleted")
        if user is not None and deleted is None:
            yield ("HSET", f"post:{pid}", "deleted", 1)
        for relation in (LIKE, REPOST):
            yield from self.remove_mirrors(relation, pid, author, nonce)
        yield ("ZREM", f"updates:{author}", pid)

    def delete_account(self, uid: int, nonce: str) -> Steps:
        """Commit: the HSET of `deleted`."""
        job = f"gone:{uid}:{nonce}"
        yield ("ZADD", OUTBOX, job, 0)
        yield ("HSET", f"user:{uid}", "deleted", 1)
        yield from self.finish_account(job, nonce)

    def finish_account(self, job: str, nonce: str) -> Steps:
        """The job `gone:<uid>:<nonce>`: both sides of all edges, then the posts one by one, then the notices."""
        uid = int(job.split(":")[1])
        (deleted,) = yield ("HMGET", f"user:{uid}", "deleted")
        if deleted is not None:
            yield from self.remove_person(uid, nonce)
            yield from self._remove_posts(uid, nonce)
            yield ("UNLINK", f"notices:{uid}")
        yield ("ZREM", OUTBOX, job)

    relations: tuple[Relation, ...] = tuple(RELATIONS.values())  # a scenario removes only those that it uses

    def remove_person(self, uid: int, nonce: str) -> Steps:
        """Both sides of all edges of a deleted account."""
        for relation in self.relations:
            yield from self.remove_truths(relation, uid, nonce)
            if relation.target == "person" and relation.mirror:
                yield from self.remove_mirrors(relation, uid, uid, nonce)

    def _remove_posts(self, uid: int, nonce: str) -> Steps:
        while posts := (yield ("ZRANGE", f"updates:{uid}")):
            for pid, _ in posts:
                yield from self._remove_post(pid, uid, nonce)

    # ---- the worker

    def work(self, job: str, nonce: str) -> Steps:
        """Finish a job of any kind. `nonce` is new for each attempt: no other process has jobs with it."""
        kind = job.partition(":")[0]
        if kind == "del":
            return self.finish_post(job, nonce)
        if kind == "gone":
            return self.finish_account(job, nonce)
        return self.finish(job)

    def worker(self, owner: str, nonce: str) -> Steps:
        """A worker that claims the jobs whose nonces begin with `owner`. It looks at the outbox again after it has the
        lease: another worker may have finished the job since the list of due jobs was read."""
        jobs = yield ("ZRANGE", OUTBOX)
        for job, _ in jobs:
            if job.rpartition(":")[2].startswith(owner) and (yield ("ZSCORE", OUTBOX, job)) is not None:
                yield from self.work(job, nonce)


def _exists(target: str, reply: tuple | None) -> bool:
    """Whether a target exists, by the fields that were read of it. A post without `user_id` has expired."""
    if target == "person":
        return reply[0] is None
    if target == "post":
        user, deleted = reply
        return user is not None and deleted is None
    return True


def _withdraw(who: int, own_post: int) -> list[Command]:
    """Remove the post of a repost. Homes that still have its id show nothing: it has no hash."""
    return [("ZREM", f"updates:{who}", own_post), ("UNLINK", f"post:{own_post}")]
