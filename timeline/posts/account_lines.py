"""The lines about posts in the personal download."""

from collections.abc import Iterator

from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids
from timeline.posts.reading.history import ask_versions
from timeline.posts.reading.records import Record, ask_post
from timeline.posts.site_lines import texts_of


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The owner's posts, newest first, without reposts. Two round trips a chunk."""
    updates = keys.updates(owner.uid)
    pipe = store.pipeline()
    for rows in newest_first(store, updates):
        pids = stored_ids(updates, [member for member, _ in rows])
        asked = [(ask_post(pipe, pid), ask_versions(pipe, pid)) for pid in pids]
        pipe.execute()
        yield [
            _line(post.value, address_of("post", owner.username, post.value.pid)) | texts_of(texts.value)
            for post, texts in asked
            if post.value is not None and post.value.uid == owner.uid and post.value.links.repost_of is None
        ]


def _line(post: Record, address: str) -> Line:
    line: Line = {"type": "post", "id": post.pid, "time": iso(post.time), "text": post.body, "address": address}
    named = {"reply_to": post.links.reply_to, "quote": post.links.quote}
    return line | {field: pid for field, pid in named.items() if pid is not None}
