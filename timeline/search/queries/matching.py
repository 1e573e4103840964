"""Whether a post fits a query.

The index only proposes posts: it keeps the words of deleted posts and of earlier texts, and different words may share a
term. So each proposed post is read as it is now, and checked.
"""

from collections.abc import Callable, Mapping
from typing import assert_never

from retwis_site.store.client import Pipe
from timeline.posts.entities import Post
from timeline.search.queries.entities import (
    Before,
    ByPerson,
    ByViewer,
    Kind,
    NotBefore,
    OneWord,
    Part,
    Phrase,
    Query,
    Role,
    WithTag,
)
from timeline.search.queries.searched_texts import SearchedText, searched

Test = Callable[[Post, SearchedText], bool]


class Matching:
    """The posts that fit a query. It is a rule of `PostReader`."""

    def __init__(self, query: Query, uids: Mapping[str, int], me: int | None) -> None:
        """`uids`: those of the people that the query names. `me`: the viewer."""
        self._wanted = [_test(part, uids, me) for part in query.wanted]
        self._unwanted = [_test(part, uids, me) for part in query.unwanted]

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """Nothing to ask."""

    def visible(self, posts: list[Post]) -> list[Post]:
        return [post for post in posts if self.fits(post)]

    def fits(self, post: Post) -> bool:
        """Whether a post that is no repost fits the query."""
        if post.links.repost_of is not None:
            return False
        text = searched(post.body)
        return all(test(post, text) for test in self._wanted) and not any(test(post, text) for test in self._unwanted)


def _test(part: Part, uids: Mapping[str, int], me: int | None) -> Test:
    match part:
        case OneWord():
            return lambda post, text: text.has_word(part)
        case Phrase():
            return lambda post, text: text.has_phrase(part)
        case WithTag():
            return lambda post, text: part.folded in text.tags
        case Kind.HAS_LINK:
            return lambda post, text: text.has_link
        case Kind.IS_REPLY:
            return lambda post, text: post.links.reply_to is not None
        case Before():
            return lambda post, text: post.time < part.seconds
        case NotBefore():
            return lambda post, text: post.time >= part.seconds
        case ByPerson():
            return _by(part.role, uids[part.name])
        case ByViewer():
            return _by(part.role, me)
    assert_never(part)


def _by(role: Role, uid: int | None) -> Test:
    if role is Role.FROM:
        return lambda post, text: post.author.uid == uid
    return lambda post, text: uid is not None and post.links.reply_to_user == uid
