"""The database before a scenario. Ann (1) acts; Bo (2) has the posts 10 and 11; Cy (3) is a third person."""

from tests.model.core import Database, alone
from tests.model.entities import BLOCK, FOLLOW, LIKE, MUTE, REPOST, Edge
from tests.model.protocol import Relations

ANN, BO, CY = 1, 2, 3
POST, OTHER_POST = 10, 11
DAY = 5  # the score of an edge that stands before the scenario begins


def database(*edges: Edge) -> Database:
    """Three people, two posts of Bo, and these edges, complete with all that follows from them."""
    db = {f"user:{uid}": ("h", (("username", f"user {uid}"),)) for uid in (ANN, BO, CY)}
    db |= {f"post:{pid}": ("h", (("user_id", BO),)) for pid in (POST, OTHER_POST)}
    db |= {f"updates:{BO}": ("z", ((POST, POST), (OTHER_POST, OTHER_POST))), "next_post_id": ("s", 100)}
    for edge in edges:
        protocol = Relations()
        db = alone(db, protocol.set(edge, True, DAY, "before"))
    db |= {f"posts:{uid}": ("s", db.get(f"following:{uid}", ("z", ()))[1]) for uid in (ANN, BO, CY)}
    return db


def follow(who: int, target: int) -> Edge:
    return Edge(FOLLOW, who, target, target)


def like(who: int, pid: int = POST) -> Edge:
    return Edge(LIKE, who, pid, BO)


def repost(who: int, pid: int = POST) -> Edge:
    return Edge(REPOST, who, pid, BO)


def block(who: int, target: int) -> Edge:
    return Edge(BLOCK, who, target, target)


def mute(who: int, target: int) -> Edge:
    return Edge(MUTE, who, target, target)
