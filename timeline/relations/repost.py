"""Reposts: `reposts:` is the truth, `reposted_by:` its mirror. Both hold the id of the repost, a post of its own.

Here is what belongs to the edge: the repost stands in `updates:` of its author while it is the one in `reposts:`.
`timeline/posts/writing/reposting.py` brings it to the homes of followers.
"""

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import integer
from retwis_site.store.replies import Reply, Result
from timeline.notices.entities import Kind
from timeline.relations.protocol.notifying import notice_of
from timeline.relations.protocol.relation import POST, Edge, Effect, PostCount, Relation, Scores, ask_post_exists


def _list_own_post(pipe: Pipe, edge: Edge, score: float | None, fact: object) -> None:
    """The repost of this edge is in `updates:`. If it is not the one that stands, as after a second click, it goes."""
    if not edge.own_post:
        return
    if score == edge.own_post:
        pipe.zadd(keys.updates(edge.who), {str(edge.own_post): edge.own_post})
    else:
        _withdraw(pipe, edge, edge.own_post)


def _withdraw(pipe: Pipe, edge: Edge, own_post: float) -> None:
    """Remove a repost. A home that still has its id shows nothing: there is no hash."""
    pid = integer(own_post)
    pipe.zrem(keys.updates(edge.who), str(pid))
    pipe.unlink(keys.post(pid))


def _ask_own_post(pipe: Pipe, edge: Edge, score: Reply[float | None]) -> Result[bool]:
    """A `Condition`: the repost that stands has its hash. `cleanup` may have removed the hash of one that took long."""
    if not edge.own_post:
        return Result(lambda: True)
    exists = ask_post_exists(pipe, str(edge.own_post))
    return Result(lambda: score.value != edge.own_post or exists.value)


REPOSTS = PostCount(keys.reposted_by)
REPOST = Relation(
    kind="repost",
    truth=keys.reposts,
    target=POST,
    count=REPOSTS,
    conditions=(_ask_own_post,),
    effects=(Effect(_list_own_post, withdraw=_withdraw), notice_of(Kind.REPOST)),
    scores=Scores.OWN_POST,
)
