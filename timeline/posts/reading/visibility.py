"""Which posts a viewer sees: rules, which `PostReader` applies to every list of posts.

Before the rules, the reader leaves out deleted posts and posts of deleted accounts. What depends on the viewer is a
rule of every page (`rules_of`); it hides a post also where another post reposts or quotes it. What depends on the page
is a rule of that page: it decides about the entries of the list. A repost is an entry by the person who reposts.
"""

from collections.abc import Sequence
from typing import Protocol

from retwis_site.store.client import Pipe
from timeline.posts.entities import Post
from timeline.posts.reading.hidden_people import NOBODY_HIDDEN, HiddenPeople, LatestHidden
from timeline.posts.reading.muted_texts import MutedTexts
from timeline.relations.follow import FollowedPeople, LatestFollowed


class Rule(Protocol):
    """One rule, for one page of one viewer. It may remember what it knows about people while the page is read."""

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """Ask what the rule must know about these people, unless it knows already. At most one command,
        four for `NotHidden`."""

    def visible(self, posts: list[Post]) -> list[Post]:
        """The posts that the viewer sees, in the same order. The rule was asked about all their authors, and about the
        people to whom they reply."""


def rules_of(me: int | None, latest: LatestHidden, page_of: int | None) -> "Sequence[NotHidden]":
    """The rules of every page for this viewer; None for a visitor. `latest`: what this request has read; `page_of`: the
    person whose page it is, if any."""
    return (
        ()
        if me is None or latest is NOBODY_HIDDEN
        else (NotHidden(me, HiddenPeople(me, latest), latest.words, page_of),)
    )


class NotHidden:
    """Neither posts of people whom the viewer blocks or who block the viewer, nor of those whom the viewer mutes, nor
    reposts by those whose reposts the viewer mutes, nor others' posts with words that the viewer mutes. On the page of
    one person, a mute of them hides nothing: the viewer has opened it to see them."""

    def __init__(self, me: int, people: HiddenPeople, words: MutedTexts, page_of: int | None) -> None:
        self._me = me
        self._people = people
        self._words = words
        self._page_of = page_of

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        self._people.ask(pipe, people)

    def visible(self, posts: list[Post]) -> list[Post]:
        hidden, no_reposts = self._read()
        if hidden or no_reposts:
            posts = [
                post
                for post in posts
                if post.author.uid not in hidden and (post.links.repost_of is None or post.author.uid not in no_reposts)
            ]
        if self._words.hiding:
            posts = [post for post in posts if self._is_exempt(post) or not self._words.hide(post.body)]
        return posts

    def folded(self, posts: list[Post]) -> list[Post]:
        """The same posts. Those that have muted words, or quote a post that has, say which ones."""
        return [self._folded(post) for post in posts] if self._words.folding else posts

    def _folded(self, post: Post) -> Post:
        if self._is_exempt(post):
            return post
        quoted = post.context.quoted
        muted = self._words.folded_for(post.body)
        if muted is None and quoted is not None and not self._is_exempt(quoted):
            muted = self._words.folded_for(quoted.body)
        return post if muted is None else post._replace(context=post.context._replace(muted=muted))

    def _is_exempt(self, post: Post) -> bool:
        """Whether no words are muted in a post."""
        return post.author.uid == self._me or post.pid == self._words.besides

    def hidden(self) -> set[int]:
        """Those of the people asked about whose posts are hidden. A card does not name them either."""
        return self._read()[0]

    def _read(self) -> tuple[set[int], set[int]]:
        """Whose posts are hidden, and whose reposts."""
        blocked, muted, reposts_muted = self._people.read()
        return blocked | (muted - {self._page_of}), reposts_muted - {self._page_of}


class PostsOfFollowed:
    """The viewer's own posts and those of the people that the viewer follows. Of the replies to others, only those to
    the viewer and to people that the viewer follows."""

    def __init__(self, me: int, latest: LatestFollowed) -> None:
        """`latest`: what this request has read."""
        self._me = me
        self._followed = FollowedPeople(me, latest)

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        self._followed.ask(pipe, people - {self._me})

    def visible(self, posts: list[Post]) -> list[Post]:
        people: set[int | None] = {post.author.uid for post in posts}
        people.update([post.links.reply_to_user for post in posts])
        read = {uid for uid in people if uid in (None, self._me) or uid in self._followed}
        return [post for post in posts if post.author.uid in read and post.links.reply_to_user in read]


class NoRepliesToOthers:
    """What an author wrote to everyone: no replies to others. A thread of one's own is written to everyone."""

    def __init__(self, shown_anyway: int | None) -> None:
        """`shown_anyway`: the id of the pinned post."""
        self._shown_anyway = shown_anyway

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """Nothing to ask."""

    def visible(self, posts: list[Post]) -> list[Post]:
        return [
            post
            for post in posts
            if post.links.reply_to_user in (None, post.author.uid) or post.pid == self._shown_anyway
        ]


class PostsBy:
    """The posts of one user. A foreign database may list other users' posts as theirs."""

    def __init__(self, author: int) -> None:
        self._author = author

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """Nothing to ask."""

    def visible(self, posts: list[Post]) -> list[Post]:
        return [post for post in posts if post.author.uid == self._author]


class NoReposts:
    """Only what people wrote. Everyone's timeline has each post once already."""

    def ask(self, pipe: Pipe, authors: set[int]) -> None:
        """Nothing to ask."""

    def visible(self, posts: list[Post]) -> list[Post]:
        return [post for post in posts if post.links.repost_of is None]
