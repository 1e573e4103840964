"""A second store beside the site's, and a site in it for `copy`."""

from dataclasses import dataclass

import redis
from django.core.management import call_command

from tests.support.people import LONG_AGO, register
from tests.support.stored_keys import add_overdue_job, everything, publish
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


def client_of(url, settings):
    """A client like the site's own, for another address."""
    options = settings.CACHES["store"]["OPTIONS"]["CONNECTION_POOL_KWARGS"]
    pool = redis.ConnectionPool.from_url(url, **{**options, "decode_responses": True})
    return redis.Redis(connection_pool=pool)


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
    raw.hset("attempts", "post:3:abc", 2)
    raw.set("lease:post:3:abc", "a worker", ex=60)
    raw.zadd("outbox:1", {"post:2:abc": LONG_AGO})
    raw.zadd("likes:2", {"1": LONG_AGO})
    raw.zadd("liked_by:1", {"2": LONG_AGO})
    raw.hset("post:1", "likes", "1")
    for kind in (
        "reposts",
        "reposted_by",
        "bookmarks",
        "blocked",
        "blocked_by",
        "muted_threads",
        "tags_of",
        "home_tags",
    ):
        raw.zadd(f"{kind}:1", {"2": LONG_AGO})
    for kind in ("muted", "muted_reposts"):
        raw.zadd(f"{kind}:1", {"3": "+inf"})
    raw.zadd("muted_words:1", {"home hide the finale": "+inf"})
    for key in ("thread:1", "replies_to:1", "quotes_of:1", "tag:redis", "homes_of_tag:redis"):
        raw.zadd(key, {"3": 3})
    raw.zadd("unseen:liked_by:1", {"2": 0})
    raw.zadd("notices:1", {"like:1:2": LONG_AGO})
    raw.hset("edits:1", LONG_AGO, "Grüsse, 世界")
    raw.hset("tags", "redis", "Redis")
    raw.zadd("tags_by_name", {"redis": 0})
    raw.set("postings:0:7", b"\xff\x00\x01\x80")
    raw.setbit("posting_bits:0:7", 300, 1)
    raw.zadd("posting_ranges", {str(2**40): 2**40})
    raw.hset("search_index", "reindexed", "0")
    raw.set("media:0123abcd-600", b"RIFF\xff\x00")
    raw.hset("media_info:0123abcd", "width", "9")
    raw.hset("blocked_media", "0123abcd", "0")
    for key, member in (("media_users:0123abcd", "post:1:1"), ("media_of:1", "0123abcd"), ("media_sizes", "0123abcd")):
        raw.zadd(key, {member: 9})
    raw.hset("staff", "1", "admin")
    raw.zadd("log:2026", {"a line": 1.7e12})
    raw.zadd("acts:2", {"a line": 1.7e12})
    raw.zadd("staff_notes:2", {"a line": 1.7e12})
    raw.zadd("appeals", {"2:abc": LONG_AGO})
    raw.hset("site", "name", "Ravens")
    raw.hset("invites:1", f"1-{2**31}-abc", "1")
    raw.zadd("uses:0123abcd", {"2": LONG_AGO})
    raw.expire("uses:0123abcd", 900)
    raw.hset("blocked_names", "spam", "1")
    raw.hset("applications", "zoe", "{}")
    raw.zadd("applicants", {"zoe:1": 1})
    raw.hset("report:7", mapping={"who": "1", "whom": "2", "reason": "spam"})
    for key, member in (("reports", "7"), ("reports_about:2", "7"), ("reports_by:1", "2:0")):
        raw.zadd(key, {member: 7})
    raw.zadd("recent", {"1": 1})
    raw.zadd("recent:3", {"2": 2})
    raw.rpush("timeline:2", "-0")
    raw.zadd("set_aside", {"follow:9:9:abc": LONG_AGO})
    raw.zadd("throttle:post:1", {"n": 1.5e9 + 0.1})
    raw.expire("throttle:post:1", 900)
    raw.hset("credentials:1", "totp", f"{LONG_AGO}:JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
    raw.hset("app:tusky", mapping={"name": "Tusky", "secret": "0a", "since": LONG_AGO})
    raw.expire("app:tusky", 900)
    for key, value in TEMPORARY.items():
        raw.set(key, value, ex=900)
    raw.zadd("factor_uses:1", {"0a": 7})
    raw.set("challenge:0123abcd", "1", ex=900)
    raw.set("reset:0123abcd", "1::", ex=900)
    raw.set("schema", "1")
    raw.rpush("posts:1", "b0", "3", "1")
    raw.rpush("timeline", "3", "2", "1")
    raw.set("damaged:user:7", "x", ex=900)
    raw.set("health", "1", ex=900)
    raw.set("worker_seen", str(LONG_AGO))
    raw.set("inspected:0a", "{}", ex=900)
    raw.set("schema", "1")
    raw.set("another-program", "x")


TEMPORARY = {  # of apps
    "code:0123abcd": "{}",
    "spent_code:0123abcd": "1:0a",
    "calls:0123abcd:1": "7",
    f"media_draft:1:{'0' * 40}": " Red",
}


def keys_to_copy(raw):
    """The keys that a copy must have, with their content."""
    return {key: content for key, content in everything(raw).items() if not key.startswith(NOT_COPIED)}


def ttls(raw):
    """The expiry of each key, in units of ten seconds."""
    return {key: round(raw.pttl(key) / 10_000) for key in keys_to_copy(raw)}


def copy(source, **options):
    """Copy the site in `source` to REDIS_URL."""
    call_command("copy", f"--from={source.url}", **{"verbosity": 0, **options})
