"""Users, follows, posts and homes put into a store as bare commands, many at once: a million posts in some seconds."""

import random
from collections.abc import Iterable, Iterator, Sequence

import hiredis
import redis
from django.conf import settings

from accounts.users.names import entry
from benchmarks.growth.sizes import NOW, secret
from benchmarks.visitor import CSRF_LETTERS, Viewer
from retwis_site.store import keys
from timeline.demo.seeding import batches
from timeline.demo.texts import post_body

Command = tuple[str | int, ...]

BATCH = 2000
BODIES = [post_body(random.Random(number)) for number in range(1000)]


def load(client: redis.Redis, commands: Iterable[Command]) -> None:
    """Send them all. Raises what the server refuses."""
    connection = client.connection_pool.get_connection()
    try:
        for batch in batches(commands, BATCH):
            connection.send_packed_command([b"".join(hiredis.pack_command(one) for one in batch)])  # type: ignore[arg-type]
            for _ in batch:
                connection.read_response()
    finally:
        client.connection_pool.release(connection)


def viewer(uid: int) -> Viewer:
    """Somebody of whom `people` writes down the rest."""
    return Viewer(uid, f"user_{uid}", secret(uid), "".join(random.Random(uid).choices(CSRF_LETTERS, k=32)))


def people(uids: Iterable[int]) -> Iterator[Command]:
    """Users who can sign in by their cookie; their password is nobody's."""
    for one in (viewer(uid) for uid in uids):
        yield ("HSET", keys.user(one.uid), "username", one.name, "password", "!", "auth", one.secret)
        yield ("HSET", keys.auths(), one.secret, one.uid)
        yield ("ZADD", keys.users_by_time(), NOW, one.name)
        yield ("ZADD", keys.users_by_name(), 0, entry(one.name, one.uid))
        yield ("HSET", keys.users(), one.name, one.uid)


def counters(users: int, posts: int) -> Iterator[Command]:
    yield ("SET", keys.next_user_id(), users)
    yield ("SET", keys.next_post_id(), posts)


def edges(me: int, them: Sequence[int]) -> Iterator[Command]:
    for part in batches(them, 500):
        yield ("ZADD", keys.following(me), *(word for uid in part for word in (NOW, uid)))
    for uid in them:
        yield ("ZADD", keys.followers(uid), NOW, me)


def followers(of: int, uids: Sequence[int]) -> Iterator[Command]:
    """One side of many edges: whom everybody follows."""
    for part in batches(uids, 500):
        yield ("ZADD", keys.followers(of), *(word for uid in part for word in (NOW, uid)))


def posts(count: int, authors: int) -> Iterator[Command]:
    """Everybody's in turn, from post 1 and user 1."""
    assert not settings.REDIS_KEY_PREFIX
    for pid in range(1, count + 1):
        author = pid % authors + 1
        body = BODIES[pid % len(BODIES)]
        yield ("HSET", keys.post(pid), "user_id", author, "time", NOW + pid // 100, "body", body)
        yield ("ZADD", keys.updates(author), pid, pid)


def homes(uids: Iterable[int], length: int) -> Iterator[Command]:
    """Whole ones, of the ids from `length` down to 1: the mark at the end says that nothing is missing."""
    ids = [*range(length, 0, -1), 0]
    for uid in uids:
        yield ("RPUSH", keys.home(uid), *ids)
