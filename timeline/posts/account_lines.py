"""The lines about posts in the personal download."""

from collections.abc import Iterator

from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_ids
from timeline.posts.reading.records import Record, ask_post, ask_versions
from timeline.posts.site_lines import texts_of


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The owner's posts, newest first, without reposts. Two round trips a chunk; two more where posts answer or quote
    others."""
    updates = keys.updates(owner.uid)
    pipe = store.pipeline()
    for rows in newest_first(store, updates):
        pids = stored_ids(updates, [member for member, _ in rows])
        asked = [(ask_post(pipe, pid), ask_versions(pipe, pid)) for pid in pids]
        pipe.execute()
        posts = [
            (post.value, texts.value)
            for post, texts in asked
            if post.value is not None and post.value.uid == owner.uid and post.value.links.repost_of is None
        ]
        authors = _authors(store, {pid for post, _ in posts for pid in _named(post).values()})
        yield [
            {
                "type": "post",
                "id": post.pid,
                "time": iso(post.time),
                "text": post.body,
                "address": address_of("post", owner.username, post.pid),
                **_named(post),
                **{
                    f"{field}_address": address_of("post", authors[pid].username, pid)
                    for field, pid in _named(post).items()
                    if pid in authors
                },
                **texts_of(texts),
            }
            for post, texts in posts
        ]


def _named(post: Record) -> dict[str, int]:
    """The posts that a post answers and quotes, by field."""
    named = {"reply_to": post.links.reply_to, "quote": post.links.quote}
    return {field: pid for field, pid in named.items() if pid is not None}


def _authors(store: Store, pids: set[int]) -> dict[int, User]:
    """The authors of these posts, without deleted accounts. Two round trips; none without posts."""
    pipe = store.pipeline()
    asked = {pid: pipe.hget(keys.post(pid), "user_id") for pid in pids}
    pipe.execute()
    uids = {pid: stored_id(keys.post(pid), author.value) for pid, author in asked.items()}
    people = Users(store).people({uid for uid in uids.values() if uid is not None})
    return {pid: people[uid] for pid, uid in uids.items() if uid in people}
