"""One protocol for every relation: follow, like, repost, bookmark, block, mute and tag follow.

An edge leads from a person to a target. Its truth is in a sorted set of the person. All else follows from the truth:
the mirror at the target, the count, the notice, and other effects of the relation. Every step can run twice.
"""

from dataclasses import dataclass, replace

OUTBOX = "outbox"
RANKING = "users_by_followers"


@dataclass(frozen=True)
class Relation:
    """One kind of edge. `target`: "person", "post" or "tag"."""

    name: str
    truth: str  # prefix of the key; the id of the person follows
    target: str
    mirror: str = ""  # prefix of the key; the id of the target follows
    count: str = ""  # the field of `post:<pid>`, or RANKING
    notifies: bool = False
    drops_home: bool = False
    ended_by_block: bool = False
    newest_score: bool = False  # setting the edge again replaces its score
    has_own_post: bool = False  # the score of the edge is the id of a post
    blocks: bool = False


FOLLOW = Relation(
    "follow", "following", "person", "followers", RANKING, notifies=True, drops_home=True, ended_by_block=True
)
LIKE = Relation("like", "likes", "post", "liked_by", "likes", notifies=True)
REPOST = Relation("repost", "reposts", "post", "reposted_by", "reposts", notifies=True, has_own_post=True)
BOOKMARK = Relation("bookmark", "bookmarks", "post")
BLOCK = Relation("block", "blocked", "person", "blocked_by", blocks=True)
MUTE = Relation("mute", "muted", "person", newest_score=True)
TAG = Relation("tag", "tags_of", "tag")
RELATIONS = {one.name: one for one in (FOLLOW, LIKE, REPOST, BOOKMARK, BLOCK, MUTE, TAG)}


@dataclass(frozen=True)
class Edge:
    """A person and a target. `owner`: the author of the target post, or the target person; 0 for a tag. `own_post`: the
    id of the post that a repost makes; 0 for other relations."""

    relation: Relation
    who: int
    target: int
    owner: int = 0
    own_post: int = 0

    @property
    def truth(self) -> str:
        return f"{self.relation.truth}:{self.who}"

    @property
    def mirror(self) -> str:
        return f"{self.relation.mirror}:{self.target}"

    @property
    def notices(self) -> str:
        return f"notices:{self.owner}"

    @property
    def notice(self) -> str:
        return f"{self.relation.name}:{self.target}:{self.who}"

    @property
    def has_notice(self) -> bool:
        return self.relation.notifies and self.owner != self.who

    def job(self, nonce: str) -> str:
        return f"{self.relation.name}:{self.who}:{self.target}:{self.owner}:{self.own_post}:{nonce}"


def edge_of(job: str) -> Edge:
    """The edge of a job `<relation>:<who>:<target>:<owner>:<own post>:<nonce>`."""
    name, *numbers, _ = job.split(":")
    return Edge(RELATIONS[name], *map(int, numbers))


@dataclass(frozen=True)
class Seen:
    """What one round trip has read about an edge."""

    score: int | None  # of the truth; None: the edge does not stand
    allowed: bool  # both sides exist, and no block is between them
    notify: bool
    count: int  # what the count must be

    def edge_is_as_in(self, other: "Seen") -> bool:
        """All is equal but the count, which others may change."""
        return replace(self, count=0) == replace(other, count=0)


def follow_of(who: int, target: int) -> Edge:
    return Edge(FOLLOW, who, target, target)
