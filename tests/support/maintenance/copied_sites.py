"""A second store beside the site's, and a site in it for `copy`."""

import contextlib
from dataclasses import dataclass

import redis
from django.core.management import call_command

from retwis_site.store.kinds import KINDS, Entries, Hash, Map, ZSet, kind_of
from tests.support.people import LONG_AGO, register
from tests.support.processes.processes import run_server
from tests.support.stored_keys import add_overdue_job, everything, publish
from tests.support.stores import acl_users
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

NOT_COPIED = (
    "posts:",
    "timeline",
    "lease:",
    "damaged:",
    "health",
    "worker_seen",
    "inspected:",
    "another-program",
    "user:settings",
)


@dataclass
class OtherStore:
    """A store beside the site's. `url` for the site's user, `raw` for the administrator."""

    url: str
    raw: redis.Redis


@contextlib.contextmanager
def store_beside(settings, folder, user=acl_users.SITE):
    """A store beside the site's, whose address is that of `user`. It is one server, whatever the topology of the run;
    on fakeredis, another database."""
    if not settings.REAL_SERVER:
        url = f"{settings.REDIS_URL}/1"
        options = settings.CACHES["store"]["OPTIONS"]["CONNECTION_POOL_KWARGS"]
        pool = redis.ConnectionPool.from_url(url, **{**options, "decode_responses": True})
        yield OtherStore(url, redis.Redis(connection_pool=pool))
        return
    url = acl_users.url(folder, acl_users.ADMIN)
    with run_server(str(folder)), redis.Redis.from_url(url, decode_responses=True) as admin:
        yield OtherStore(acl_users.url(folder, user), admin)


def make_site_with_every_key(raw, store):
    """Write a site with every kind of key of the key table, and a key of another program."""
    alice, bob, carol = (register(store, name) for name in ("Alice", "bob", "carol"))
    for follower, followed in ((alice, bob), (bob, alice), (carol, alice), (carol, bob)):
        Follows(store).follow(follower.user.uid, followed.user.uid)
    Follows(store).unfollow(carol.user.uid, bob.user.uid)
    for author, body in ((alice, "Grüße, 世界"), (bob, "two"), (alice, "three"), (alice, "deleted")):
        pid = publish(raw, store, author, body)
    Posts(store).delete(alice.user.uid, pid)
    add_overdue_job(raw, "post:3:abc")
    raw.zadd("outbox:1", {"post:2:abc": LONG_AGO})
    raw.zadd("recent:3", {"2": 2})
    raw.set("postings:0:7", b"\xff\x00\x01\x80")
    raw.set("schema", "1")
    raw.set("another-program", "x")
    there = set(map(kind_of, raw.keys()))
    for kind in KINDS.values():
        if kind not in there:
            _write_key_of(raw, kind)


def _write_key_of(raw, kind):
    """One key of this kind. No part of its name and nothing in it is the id of a user or a post of the site."""
    key = ":".join([kind.word, *("followers:99" if part == "key" else "99" for part in kind.parts)])
    match kind.holds:
        case ZSet():
            raw.zadd(key, {"99": LONG_AGO + 0.1})
        case Hash() | Map():
            raw.hset(key, mapping={"99": "Grüße"})
        case Entries():
            raw.rpush(key, "99")
        case _:
            raw.set(key, "99")
    if kind.lives:
        raw.expire(key, 900)


def keys_to_copy(raw):
    """The keys that a copy must have, with their content."""
    return {key: content for key, content in everything(raw).items() if not key.startswith(NOT_COPIED)}


def ttls(raw):
    """The expiry of each key, in units of ten seconds."""
    return {key: round(raw.pttl(key) / 10_000) for key in keys_to_copy(raw)}


def copy(source, **options):
    """Copy the site in `source` to REDIS_URL."""
    call_command("copy", f"--from={source.url}", **{"verbosity": 0, **options})
