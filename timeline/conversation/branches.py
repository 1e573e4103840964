"""The answers to a post as branches: what stands below what on the page of a thread. It asks nothing of the store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from timeline.posts.entities import Post, Unavailable

DEEPEST = 3  # indents; a branch that forks more often continues on the page of its last post

Answer = Post | Unavailable
Rank = Callable[[Answer], tuple[int, int]]  # the lowest comes first


@dataclass(frozen=True, slots=True)
class Branch:
    """A chain of posts, each of which answers the one before. Where it ends, it may fork."""

    posts: list[Answer]  # at least one
    forks: "list[Branch]" = field(default_factory=list)  # none or several; one alone when others are not on this page
    has_more: bool = False  # the last post has answers that are not on this page

    def pids(self) -> Iterator[int]:
        """The ids of all posts, in the order of the page."""
        for post in self.posts:
            yield post.pid
        for fork in self.forks:
            yield from fork.pids()


def branches(top: int, answers: Iterable[Answer], rank: Rank) -> list[Branch]:
    """The branches below the post `top`, in the order of `rank`, each level anew.

    `answers` may have posts of other branches. A post that the viewer does not see is left out, unless posts below it
    are shown. Work is linear in the answers, but for sorting.
    """
    below: dict[int, list[Answer]] = {}
    for answer in {answer.pid: answer for answer in answers if answer.pid != top}.values():
        if answer.links.reply_to is not None:
            below.setdefault(answer.links.reply_to, []).append(answer)
    known = {pid: len(found) for pid, found in below.items()}
    shown = _without_empty_ends(top, below)
    for found in shown.values():
        found.sort(key=rank)
    return [_branch(first, shown, known, level=0) for first in shown.get(top, ())]


def _without_empty_ends(top: int, below: dict[int, list[Answer]]) -> dict[int, list[Answer]]:
    """The answers below `top`, by the post answered, without those that lead to no post that the viewer sees."""
    reached: list[Answer] = []
    level: Sequence[Answer] = below.get(top, ())
    while level:  # each post answers one other, so no post is reached twice
        reached += level
        level = [answer for post in level for answer in below.get(post.pid, ())]
    kept: dict[int, list[Answer]] = {}
    for answer in reversed(reached):  # from the leaves up
        if isinstance(answer, Post) or answer.pid in kept:
            kept.setdefault(answer.links.reply_to or top, []).append(answer)
    return kept


def _branch(first: Answer, below: dict[int, list[Answer]], known: dict[int, int], level: int) -> Branch:
    posts = [first]
    while True:
        last = posts[-1]
        answers = below.get(last.pid, [])
        has_more = isinstance(last, Post) and last.counts.replies > known.get(last.pid, 0)
        if len(answers) != 1 or has_more:
            break
        posts.append(answers[0])
    if level == DEEPEST:
        return Branch(posts, has_more=has_more or bool(answers))
    return Branch(posts, [_branch(answer, below, known, level + 1) for answer in answers], has_more)
