"""The replies to a post as branches: what stands below what on the page of a thread. It asks nothing of the store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from timeline.posts.entities import Post, Unavailable

DEEPEST = 3  # indents; a branch that forks more often continues on the page of its last post

InThread = Post | Unavailable
Rank = Callable[[InThread], tuple[int, int]]  # the lowest comes first


@dataclass(frozen=True, slots=True)
class Branch:
    """A chain of posts, each of which replies to the one before. Where it ends, it may fork."""

    posts: list[InThread]  # at least one
    forks: "list[Branch]" = field(default_factory=list)  # none or several; one alone when others are not on this page
    has_more: bool = False  # the last post has replies that are not on this page

    def pids(self) -> Iterator[int]:
        """The ids of all posts, in the order of the page."""
        for post in self.posts:
            yield post.pid
        for fork in self.forks:
            yield from fork.pids()


def branches(top: int, replies: Iterable[InThread], rank: Rank) -> list[Branch]:
    """The branches below the post `top`, in the order of `rank`, each level anew.

    `replies` may have posts of other branches. A post that the viewer does not see is left out, unless posts below it
    are shown. Work is linear in the replies, but for sorting.
    """
    below: dict[int, list[InThread]] = {}
    for reply in {reply.pid: reply for reply in replies if reply.pid != top}.values():
        if reply.links.reply_to is not None:
            below.setdefault(reply.links.reply_to, []).append(reply)
    known = {pid: len(found) for pid, found in below.items()}
    shown = _without_empty_ends(top, below)
    for found in shown.values():
        found.sort(key=rank)
    return [_branch(first, shown, known, level=0) for first in shown.get(top, ())]


def _without_empty_ends(top: int, below: dict[int, list[InThread]]) -> dict[int, list[InThread]]:
    """The replies below `top`, by the post replied to, without those that lead to no post that the viewer sees."""
    reached: list[InThread] = []
    level: Sequence[InThread] = below.get(top, ())
    while level:  # each post replies to one other, so no post is reached twice
        reached += level
        level = [reply for post in level for reply in below.get(post.pid, ())]
    kept: dict[int, list[InThread]] = {}
    for reply in reversed(reached):  # from the leaves up
        if isinstance(reply, Post) or reply.pid in kept:
            kept.setdefault(reply.links.reply_to or top, []).append(reply)
    return kept


def _branch(first: InThread, below: dict[int, list[InThread]], known: dict[int, int], level: int) -> Branch:
    posts = [first]
    while True:
        last = posts[-1]
        replies = below.get(last.pid, [])
        has_more = isinstance(last, Post) and last.counts.replies > known.get(last.pid, 0)
        if len(replies) != 1 or has_more:
            break
        posts.append(replies[0])
    if level == DEEPEST:
        return Branch(posts, has_more=has_more or bool(replies))
    return Branch(posts, [_branch(reply, below, known, level + 1) for reply in replies], has_more)
