"""Which posts a viewer sees: rules, which `PostReader` applies to every list of posts.

Before the rules, the reader leaves out deleted posts and posts of deleted accounts. What depends on the viewer or on
the page is a rule.
"""

from typing import Protocol

from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.posts.entities import Post
from timeline.relations.follow import LatestFollowed, ask_followed


class Rule(Protocol):
    """One rule, for one page of one viewer. It may remember what it knows about authors while the page is read."""

    def ask(self, pipe: Pipe, authors: set[int]) -> None:
        """Ask what the rule must know about these authors, unless it knows already. At most one command."""

    def visible(self, posts: list[Post]) -> list[Post]:
        """The posts that the viewer sees, in the same order. The rule was asked about all their authors."""


class PostsOfFollowed:
    """The viewer's own posts and those of the people that the viewer follows."""

    def __init__(self, me: int, latest: LatestFollowed) -> None:
        """`latest`: what this request has read. It asks about others only where a user follows more than these."""
        self._me = me
        self._latest = latest
        self._asked = {me}
        self._answers: list[Answer[set[int]]] = []

    def ask(self, pipe: Pipe, authors: set[int]) -> None:
        if self._latest.are_all:
            return
        unknown = {uid for uid in authors - self._asked if str(uid) not in self._latest.members}
        if unknown:
            self._asked |= unknown
            self._answers.append(ask_followed(pipe, self._me, unknown))

    def visible(self, posts: list[Post]) -> list[Post]:
        also = {self._me}.union(*(answer.value for answer in self._answers))
        latest = self._latest.members
        return [post for post in posts if str(post.author.uid) in latest or post.author.uid in also]


class PostsBy:
    """The posts of one user. A foreign database may list other users' posts as theirs."""

    def __init__(self, author: int) -> None:
        self._author = author

    def ask(self, pipe: Pipe, authors: set[int]) -> None:
        """Nothing to ask."""

    def visible(self, posts: list[Post]) -> list[Post]:
        return [post for post in posts if post.author.uid == self._author]
