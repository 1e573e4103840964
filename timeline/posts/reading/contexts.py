"""What a card names beside the post itself."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from accounts.users.entities import User
from timeline.posts.entities import NO_CONTEXT, NO_LINKS, NOT_ACTED, Context, Post


def made_whole(post: Post, seen: Mapping[int, Post], people: Mapping[int, User], hidden: AbstractSet[int]) -> Post:
    """A post with what it names, as far as the viewer sees it. `seen`: the posts that the viewer sees, by id; `people`:
    by uid, also those who are `hidden` from the viewer."""
    links = post.links
    if links is NO_LINKS:
        return post
    answered = None if links.reply_to_user in hidden else people.get(links.reply_to_user or 0)
    quoted = _as_quoted(seen.get(links.quote) if links.quote else None, people)
    return post._replace(context=Context(NOT_ACTED, None, (), answered, quoted, _names_of(links.mentions, people)))


def _as_quoted(post: Post | None, people: Mapping[int, User]) -> Post | None:
    """A post inside the post that quotes it; None for a repost, which nobody can quote."""
    if post is None or post.links.repost_of is not None:
        return None
    if post.links.mentions is None and post.context is NO_CONTEXT:
        return post
    return post._replace(context=Context(mentioned=_names_of(post.links.mentions, people)))


def _names_of(mentions: tuple[int, ...] | None, people: Mapping[int, User]) -> frozenset[str] | None:
    if mentions is None:
        return None
    return frozenset(people[uid].username.lower() for uid in mentions if uid in people)
