"""The posts of a deleted account, removed by a worker a chunk at a time."""

from collections.abc import Iterator

from retwis_site.jobs.outbox import Outbox
from retwis_site.store import keys
from retwis_site.store.chunks import emptied
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, stored_ids
from timeline.posts.notices import PostNotices
from timeline.posts.reading.records import LINKS, links_from
from timeline.posts.writing.deletion import mark_deleted, notices_of
from timeline.posts.writing.settling import Settling
from timeline.relations.removal import remove_edges_to_posts


def remove_posts(store: Store, uid: int) -> Iterator[None]:
    """Delete all posts of a user with their likes, in chunks. Each chunk leaves `updates:` last, since `updates:` leads
    to the posts.

    Each post has a job of its own. Without it, a worker that is killed here could leave a number of replies that no
    other process corrects: the post that led to it may have left `updates:` meanwhile.

    Only removed from the set: a post of another author that is in it by mistake, and reposts. Their edges withdraw
    them, perhaps just now, and to mark a withdrawn one would make a hash. Six round trips a chunk, up
    to two more with notices, and those of `Settling.settle` and `remove_edges_to_posts`."""
    key = keys.updates(uid)
    for members in emptied(store, key):
        pipe = store.pipeline()
        asked = [(pid, pipe.hmget(keys.post(pid), ["user_id", *LINKS])) for pid in stored_ids(key, members)]
        pipe.execute()
        links = {
            pid: links_from(keys.post(pid), fields.value[1:]) for pid, fields in asked if fields.value[0] == str(uid)
        }
        own = [pid for pid, named in links.items() if named.repost_of is None]
        jobs = [f"settle:{pid}:{nonce()}" for pid in own]
        leased = Outbox(store).add_all(jobs)
        mark_deleted(leased, own)
        Settling(leased).settle(own)
        for job in jobs:
            Outbox(leased).queue_done(pipe, job)
        pipe.execute()
        PostNotices(store).remove([notices_of(pid, uid, links[pid], 0) for pid in own])
        yield from remove_edges_to_posts(store, dict.fromkeys(own, uid))
        for member in members:
            pipe.zrem(key, member)
        pipe.execute()
        yield
