"""The lines about posts in the personal download."""

from collections.abc import Iterator

from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids
from timeline.posts.repository import Posts


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The owner's posts, newest first. Two round trips a chunk."""
    updates = keys.updates(owner.uid)
    for rows in newest_first(store, updates):
        posts, _ = Posts(store).read(stored_ids(updates, [member for member, _ in rows]))
        yield [
            {
                "type": "post",
                "id": post.pid,
                "time": iso(post.time),
                "text": post.body,
                "address": address_of("post", owner.username, post.pid),
            }
            for post in posts
            if post.uid == owner.uid
        ]
