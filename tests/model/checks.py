"""What must hold when all processes have ended and a worker has finished every job."""

from collections.abc import Iterator

from tests.model.core import Database, alone
from tests.model.entities import FOLLOW, LIKE, OUTBOX, RANKING, RELATIONS, REPOST
from tests.model.protocol import Relations
from tests.model.small_site import ANN, BO, CY, OTHER_POST, POST


def check(db: Database, died: bool, protocol: Relations, notices_may_lack: bool = False) -> list[str]:
    """What is wrong in a database after a worker has finished all jobs."""
    for _ in range(20):
        jobs = db.get(OUTBOX, ("z", ()))[1]
        if not jobs:
            break
        db = alone(db, protocol.work(jobs[0][0], "last"))
    else:
        return ["a job is never done"]
    return sorted(
        {
            *_mirror_errors(db),
            *_count_errors(db),
            *_deleted_errors(db),
            *_notice_errors(db, notices_may_lack),
            *_block_errors(db),
            *_repost_errors(db, died),
            *_home_errors(db),
        }
    )


def edges_in(db: Database, prefix: str) -> dict[tuple, int]:
    """All edges under the keys with this prefix: (id in the key, member) -> score."""
    return {
        (int(key.partition(":")[2]), member): score
        for key, (_, pairs) in db.items()
        if key.startswith(f"{prefix}:")
        for member, score in pairs
    }


def _hash(db: Database, key: str) -> dict:
    return dict(db.get(key, ("h", ()))[1])


def _deleted(db: Database, kind: str, number: int) -> bool:
    fields = _hash(db, f"{kind}:{number}")
    return "deleted" in fields or ("username" if kind == "user" else "user_id") not in fields


def _mirror_errors(db: Database) -> Iterator[str]:
    for relation in RELATIONS.values():
        truth = edges_in(db, relation.truth)
        mirror = {(who, target): score for (target, who), score in edges_in(db, relation.mirror or "none").items()}
        if not relation.mirror:
            continue
        if truth.keys() - mirror.keys():
            yield f"{relation.name}: the mirror lacks an edge"
        if mirror.keys() - truth.keys():
            yield f"{relation.name}: the mirror has an edge without truth"
        if any(truth[edge] != mirror[edge] for edge in truth.keys() & mirror.keys()):
            yield f"{relation.name}: the mirror has another score"


def _count_errors(db: Database) -> Iterator[str]:
    for relation in (LIKE, REPOST):
        for key in {key for key in db if key.startswith("post:")} | {f"post:{POST}", f"post:{OTHER_POST}"}:
            size = len(db.get(f"{relation.mirror}:{key[5:]}", ("z", ()))[1])
            if _hash(db, key).get(relation.count, 0) != size:
                yield f"{relation.name}: the count is wrong"
    for uid in (ANN, BO, CY):
        if _hash(db, RANKING).get(uid, 0) != len(db.get(f"followers:{uid}", ("z", ()))[1]):
            yield "follow: the count in the ranking is wrong"


def _deleted_errors(db: Database) -> Iterator[str]:
    for relation in RELATIONS.values():
        for who, target in edges_in(db, relation.truth):
            if _deleted(db, "user", who):
                yield f"{relation.name}: an edge of a deleted account"
            kind = "user" if relation.target == "person" else relation.target
            if relation.mirror and _deleted(db, kind, target):
                yield f"{relation.name}: an edge to a deleted target"
    for key in db:
        if key.startswith("post:") and not {"user_id", "deleted"} & _hash(db, key).keys():
            yield "a count has made the hash of a post"
    if any(_deleted(db, "user", uid) and f"notices:{uid}" in db for uid in (ANN, BO, CY)):
        yield "notices of a deleted account"


def _notice_errors(db: Database, may_lack: bool) -> Iterator[str]:
    owed = set()
    blocked, muted = edges_in(db, "blocked"), edges_in(db, "muted")
    for relation in (FOLLOW, LIKE, REPOST):
        for who, target in edges_in(db, relation.truth):
            owner = target if relation is FOLLOW else _hash(db, f"post:{target}").get("user_id")
            silent = (owner, who) in blocked or (who, owner) in blocked or (owner, who) in muted
            if owner != who and not silent:
                owed.add((owner, f"{relation.name}:{target}:{who}"))
    found = set(edges_in(db, "notices"))
    if found - owed:
        yield "a notice without cause"
    if owed - found and not may_lack:
        yield "a notice is missing"


def _block_errors(db: Database) -> Iterator[str]:
    follows = edges_in(db, "following")
    for who, target in edges_in(db, "blocked"):
        if {(who, target), (target, who)} & follows.keys():
            yield "a follow between blocked people"


def _repost_errors(db: Database, died: bool) -> Iterator[str]:
    """A process that died before its job may leave the hash of a repost, in no list. `cleanup` removes it."""
    stand = {(who, own_post) for (who, _), own_post in edges_in(db, "reposts").items()}
    for who, own_post in stand:
        if _deleted(db, "post", own_post) or (who, own_post) not in edges_in(db, "updates"):
            yield "repost: its own post is not delivered"
    if any(pid >= 100 and (who, pid) not in stand for who, pid in edges_in(db, "updates")):
        yield "repost: an own post without its edge"
    hashes = {int(key[5:]) for key in db if key.startswith("post:") and not _deleted(db, "post", int(key[5:]))}
    if {pid for pid in hashes if pid >= 100} - {own_post for _, own_post in stand} and not died:
        yield "repost: the hash of an own post without its edge"


def _home_errors(db: Database) -> Iterator[str]:
    """A home holds the follows that it was built from."""
    for uid in (ANN, BO, CY):
        follows = db.get(f"following:{uid}", ("z", ()))[1]
        if db.get(f"posts:{uid}", ("s", follows))[1] != follows and not _deleted(db, "user", uid):
            yield "an old home is kept"
