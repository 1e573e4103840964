"""What a follow of a tag must know before."""

from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.relations.tag_follow import ask_follows_tag
from timeline.tags.entities import NoSuchTag, Tag

MOST_FOLLOWED = 100  # tags that a user may follow: so many sorted sets are read for a page


class FollowedTag(NamedTuple):
    tag: Tag
    following: bool
    number: int  # of all tags that the user follows


def followed_tag(store: Store, me: int, folded: str) -> FollowedTag:
    """A tag, and whether `me` follows it. One round trip. Raises NoSuchTag."""
    pipe = store.pipeline()
    spelling = pipe.hget(keys.tags(), folded)
    following = ask_follows_tag(pipe, me, folded)
    number = pipe.zcard(keys.tags_of(me))
    pipe.execute()
    if spelling.value is None:
        raise NoSuchTag(folded)
    return FollowedTag(Tag(folded, spelling.value), following.value, number.value)
