"""The sorted sets in which a post stands because of what its hash says: the thread, the replies to a post, its quotes,
the posts with a tag.

The hash is the truth, and a listing follows from it (`standing.py`). Member and score of each entry are the post's id.
"""

from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from timeline.posts.entities import Links
from timeline.posts.parsing.links import tags_in
from timeline.posts.parsing.tags import in_index
from timeline.relations.protocol.counts import PostCount

REPLIES = PostCount("replies", keys.replies_to)
QUOTES = PostCount("quotes", keys.quotes_of)


class Listing(NamedTuple):
    """A sorted set in which a post stands. `has_tombstones`: also when it is deleted, as long as it has replies."""

    key: str
    has_tombstones: bool = False


def listings_of(links: Links, body: str) -> list[Listing]:
    """The listings of a post with these links and this text. An edit moves the post from the
    sets of the old text to those of the new one."""
    listings = []
    if links.root is not None:
        listings.append(Listing(keys.thread(links.root), has_tombstones=True))
    if links.reply_to is not None:
        listings.append(Listing(keys.replies_to(links.reply_to), has_tombstones=True))
    if links.quote is not None:
        listings.append(Listing(keys.quotes_of(links.quote)))
    listings += [Listing(keys.tag(tag)) for tag in tags_in(body)]
    return listings


def queue_spellings(pipe: Pipe, body: str) -> None:
    """Write how the tags of a text were first spelled, and by what beginning they are found. Both stay when no post has
    the tag any more."""
    for tag, spelling in tags_in(body).items():
        pipe.hsetnx(keys.tags(), tag, spelling)
        pipe.zadd(keys.tags_by_name(), {in_index(tag): 0})
