"""Scenarios of the relations.

Ann (1) acts; Bo (2) has the posts 10 and 11; Cy (3) is a third person. The scores of edges tell who has set them.
A worker starts when the owner of its job has ended or died, as the lease demands.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.model.checks import check, edges_in
from tests.model.core import Database, Explorer, Process, Steps
from tests.model.entities import BLOCK, BOOKMARK, FOLLOW, LIKE, MUTE, REPOST, TAG, Edge, Relation
from tests.model.protocol import Relations
from tests.model.small_site import ANN, BO, CY, OTHER_POST, POST, block, database, follow, like, mute, repost


@dataclass
class Scenario:
    """`start` gives the processes. `relations`: those that the deletion of an account removes here (fewer states)."""

    name: str
    db: Database
    start: Callable[[Relations], list[Process]]
    crashes: int = 2
    relations: tuple[Relation, ...] = ()
    notices_may_lack: bool = False
    expects: Callable[[Database], bool] = field(default=lambda _: True)  # when nothing has died
    fails_by_design: bool = False

    def explorer(self, protocol: Relations) -> Explorer:
        protocol.relations = self.relations or protocol.relations
        return Explorer(self.start(protocol), self.db, self.crashes)

    def check(self, protocol: Relations) -> Callable[[Database, bool], list[str]]:
        def errors(db: Database, died: bool) -> list[str]:
            lost = [] if died or self.expects(db) else ["a change is lost"]
            return check(db, died, protocol, self.notices_may_lack) + lost

        return errors


def sets(protocol: Relations, name: str, edge: Edge, on: bool = True, score: int = 7) -> Process:
    return Process(name, lambda: protocol.set(edge, on, score, name))


def deletes(protocol: Relations, name: str, pid: int = POST) -> Process:
    return Process(name, lambda: protocol.delete_post(pid, BO, name))


def leaves(protocol: Relations, name: str, uid: int) -> Process:
    """Deletes an account."""
    return Process(name, lambda: protocol.delete_account(uid, name))


def worker(protocol: Relations, owner: str, honours_lease: bool = True) -> Process:
    """Finishes the job of a process. When the lease is honoured, only after that process has ended or died."""
    after = (owner,) if honours_lease else ()
    return Process(f"worker of {owner}", lambda: protocol.worker(owner, f"{owner}2"), after)


def expires(pid: int = POST) -> Process:
    """The hash of a deleted post expires: here at any time after its deletion."""

    def steps() -> Steps:
        (deleted,) = yield ("HMGET", f"post:{pid}", "deleted")
        if deleted is not None:
            yield ("UNLINK", f"post:{pid}")

    return Process("expiry", steps, can_die=False)


def has(prefix: str, who: int, target: int, number: int = 1) -> Callable[[Database], bool]:
    """Whether the edge stands (1) or not (0)."""
    return lambda db: ((who, target) in edges_in(db, prefix)) == bool(number)


def scenarios() -> list[Scenario]:
    """Ordered by relation. Two processes have a worker each and two crashes; more processes have one crash or none."""
    f12, l1, l3, r1, r3 = follow(ANN, BO), like(ANN), like(CY), repost(ANN), repost(CY)

    def pair(name: str, db: Database, one: tuple, other: tuple, **more: object) -> list[Scenario]:
        """Two changes at once: with a worker for each and two crashes."""

        def start(protocol: Relations) -> list[Process]:
            return [
                _process(protocol, "a", one),
                _process(protocol, "b", other),
                worker(protocol, "a"),
                worker(protocol, "b"),
            ]

        return [Scenario(name, db, start, **more)]

    def several(name: str, db: Database, *changes: tuple, crashes: int = 1, **more: object) -> list[Scenario]:
        def start(protocol: Relations) -> list[Process]:
            return [_process(protocol, letter, change) for letter, change in zip("abcd", changes, strict=False)]

        return [Scenario(name, db, start, crashes, **more)]

    def lease(name: str, db: Database, *changes: tuple, crashes: int = 0, **more: object) -> list[Scenario]:
        def start(protocol: Relations) -> list[Process]:
            owners = [_process(protocol, letter, change) for letter, change in zip("abcd", changes, strict=False)]
            return [*owners, worker(protocol, "a", honours_lease=False)]

        return [Scenario(f"lease violated: {name}", db, start, crashes, **more)]

    def like_and_two_workers(protocol: Relations) -> list[Process]:
        first = worker(protocol, "a")
        second = Process("second worker", lambda: protocol.worker("a", "a3"), after=(first.name,))
        return [_process(protocol, "a", ("on", l1)), first, second]

    def undo_beside_undo_and_repost(protocol: Relations) -> list[Process]:
        return [sets(protocol, "a", r1, on=False), Process("b", lambda: _undo_and_repost(protocol, r1))]

    none = database()
    return [
        # likes
        Scenario("like, finished by a second worker", none, like_and_two_workers, expects=has("likes", ANN, POST)),
        *several("a like of one's own post", none, ("on", like(BO)), ("off", like(BO))),
        *pair("like || unlike, none before", none, ("on", l1), ("off", l1)),
        *pair("like || unlike, liked before", database(l1), ("on", l1), ("off", l1)),
        *pair("like || like of the same edge", none, ("on", l1), ("on", l1, 8), expects=has("likes", ANN, POST)),
        *pair("two people like one post", none, ("on", l1), ("on", l3), expects=has("likes", CY, POST)),
        *pair("like || unlike by another", database(l3), ("on", l1), ("off", l3), expects=has("likes", CY, POST, 0)),
        *several("like || unlike || like by another", none, ("on", l1), ("off", l1), ("on", l3)),
        *several("like || unlike || like again", none, ("on", l1), ("off", l1), ("on", l1, 8)),
        *pair("one person likes two posts", none, ("on", l1), ("on", like(ANN, OTHER_POST))),
        *pair("like || deletion of the actor", none, ("on", l1), ("leave", ANN), relations=(LIKE,)),
        *pair("unlike || deletion of the actor", database(l1), ("off", l1), ("leave", ANN), relations=(LIKE,)),
        *several(
            "like || deletion of an actor with two likes",
            database(like(ANN, OTHER_POST), l3),
            ("on", l1),
            ("leave", ANN),
            relations=(LIKE,),
        ),
        *pair("like || deletion of the post", database(l3), ("on", l1), ("delete", POST)),
        *several("like || deletion || expiry", database(l3), ("on", l1), ("delete", POST), ("expire", POST), crashes=2),
        *several("like || unlike || deletion", database(l3), ("on", l1), ("off", l1), ("delete", POST)),
        *several("two likes || deletion", none, ("on", l1), ("on", l3), ("delete", POST)),
        *several(
            "two likes || deletion || expiry",
            none,
            ("on", l1),
            ("on", l3),
            ("delete", POST),
            ("expire", POST),
            crashes=0,
        ),
        *pair("like || deletion of the author", database(l3), ("on", l1), ("leave", BO), relations=(LIKE,)),
        *several(
            "like || actor and author leave",
            none,
            ("on", l1),
            ("leave", ANN),
            ("leave", BO),
            relations=(LIKE,),
            crashes=0,
        ),
        *several(
            "like || post deleted || actor leaves",
            none,
            ("on", l1),
            ("delete", POST),
            ("leave", ANN),
            relations=(LIKE,),
            crashes=0,
        ),
        # follows
        *pair("follow || unfollow", none, ("on", f12), ("off", f12)),
        *pair("unfollow || follow", database(f12), ("off", f12), ("on", f12)),
        *pair("two people follow one", none, ("on", f12), ("on", follow(CY, BO))),
        *pair("each follows the other", none, ("on", f12), ("on", follow(BO, ANN))),
        *pair("follow || deletion of the follower", none, ("on", f12), ("leave", ANN), relations=(FOLLOW,)),
        *pair(
            "follow || deletion of the followed",
            database(follow(CY, BO)),
            ("on", f12),
            ("leave", BO),
            relations=(FOLLOW,),
        ),
        *several(
            "follow || unfollow || deletion",
            none,
            ("on", f12),
            ("off", f12),
            ("leave", BO),
            relations=(FOLLOW,),
            crashes=0,
        ),
        # blocks and mutes
        *pair("block || follow by the blocker", none, ("on", block(ANN, BO)), ("on", f12)),
        *pair("block || follow by the blocked", none, ("on", block(BO, ANN)), ("on", f12)),
        *pair("block || unfollow", database(f12, follow(BO, ANN)), ("on", block(ANN, BO)), ("off", f12)),
        *pair(
            "block || unblock", database(f12), ("on", block(BO, ANN)), ("off", block(BO, ANN)), notices_may_lack=True
        ),
        *pair("each blocks the other", database(f12, follow(BO, ANN)), ("on", block(ANN, BO)), ("on", block(BO, ANN))),
        *several("block || follow both ways", none, ("on", block(ANN, BO)), ("on", f12), ("on", follow(BO, ANN))),
        *several(
            "block || unblock || follow",
            none,
            ("on", block(BO, ANN)),
            ("off", block(BO, ANN)),
            ("on", f12),
            notices_may_lack=True,
            crashes=0,
        ),
        *pair(
            "block || deletion of the blocker",
            database(f12),
            ("on", block(ANN, BO)),
            ("leave", ANN),
            relations=(BLOCK, FOLLOW),
            notices_may_lack=True,
        ),
        *pair(
            "block || deletion of the blocked",
            database(f12),
            ("on", block(ANN, BO)),
            ("leave", BO),
            relations=(BLOCK, FOLLOW),
            notices_may_lack=True,
        ),
        *pair("block by the author || like", none, ("on", block(BO, ANN)), ("on", l1)),
        *pair("block by the actor || like", none, ("on", block(ANN, BO)), ("on", l1)),
        *several("like while muted", database(mute(BO, ANN)), ("on", l1), crashes=2),
        *pair("mute || mute until later", none, ("on", mute(ANN, BO)), ("on", mute(ANN, BO), 9)),
        # reposts
        *pair("repost || repost", none, ("on", r1), ("on", r1), expects=has("reposts", ANN, POST)),
        *pair("repost || undo", none, ("on", r1), ("off", r1)),
        *pair("undo || repost", database(r1), ("off", r1), ("on", r1)),
        Scenario("undo || undo, then repost", database(r1), undo_beside_undo_and_repost, crashes=1),
        *pair("two people repost one post", none, ("on", r1), ("on", r3)),
        *several("repost || undo || repost", database(r1), ("on", r1), ("off", r1), ("on", r1)),
        *several("undo || undo || repost", database(r1), ("off", r1), ("off", r1), ("on", r1), crashes=0),
        *pair("repost || deletion of the post", database(r3), ("on", r1), ("delete", POST)),
        *pair("undo || deletion of the post", database(r1), ("off", r1), ("delete", POST)),
        *several("repost || undo || deletion", database(r1), ("on", r1), ("off", r1), ("delete", POST)),
        *several("repost || repost || deletion", none, ("on", r1), ("on", r1), ("delete", POST), crashes=0),
        *several("repost || deletion || expiry", database(r3), ("on", r1), ("delete", POST), ("expire", POST)),
        *pair("repost || deletion of the actor", none, ("on", r1), ("leave", ANN), relations=(REPOST,)),
        *pair("repost || deletion of the author", database(r3), ("on", r1), ("leave", BO), relations=(REPOST,)),
        *several(
            "repost || actor and author leave",
            none,
            ("on", r1),
            ("leave", ANN),
            ("leave", BO),
            relations=(REPOST,),
            crashes=0,
        ),
        # relations without a mirror
        *pair(
            "bookmark || deletion of the actor",
            none,
            ("on", Edge(BOOKMARK, ANN, POST, BO)),
            ("leave", ANN),
            relations=(BOOKMARK,),
        ),
        *pair("mute || deletion of the actor", none, ("on", mute(ANN, BO)), ("leave", ANN), relations=(MUTE,)),
        *pair(
            "tag follow || deletion of the actor", none, ("on", Edge(TAG, ANN, 50)), ("leave", ANN), relations=(TAG,)
        ),
        # a worker takes the job of an owner that is alive
        *lease("like || unlike", none, ("on", l1), ("off", l1)),
        *lease("like || deletion of the post", none, ("on", l1), ("delete", POST)),
        *lease("like || deletion || expiry", none, ("on", l1), ("delete", POST), ("expire", POST)),
        *lease("follow || block", none, ("on", f12), ("on", block(BO, ANN))),
        *lease("block || follow", none, ("on", block(BO, ANN)), ("on", f12)),
        *lease("repost || undo", none, ("on", r1), ("off", r1)),
        *lease("repost || deletion of the post", none, ("on", r1), ("delete", POST)),
        *lease("account leaves || like", none, ("leave", ANN), ("on", l1), relations=(LIKE,)),
        *lease("like || unlike, one dies", none, ("on", l1), ("off", l1), crashes=1, fails_by_design=True),
    ]


def _undo_and_repost(protocol: Relations, edge: Edge) -> Steps:
    yield from protocol.set(edge, False, 7, "b")
    yield from protocol.set(edge, True, 7, "bb")


def _process(protocol: Relations, name: str, change: tuple) -> Process:
    kind, subject, *score = change
    if kind == "leave":
        return leaves(protocol, name, subject)
    if kind == "delete":
        return deletes(protocol, name, subject)
    if kind == "expire":
        return expires(subject)
    return sets(protocol, name, subject, kind == "on", *score)
