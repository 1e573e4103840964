"""Loads users, follows, posts and homes as plain commands, many at once: a million posts in some seconds."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice

import hiredis
import redis
from django.conf import settings
from django.contrib.auth.hashers import make_password

from accounts.users.entities import User
from accounts.users.names import entries
from benchmarks.stand import Place
from benchmarks.visitor import CSRF_LETTERS, Viewer
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from timeline.demo.texts import Writer, persona

Command = tuple[str | int, ...]

BATCH = 2000
NOW = 1_760_000_000  # seconds: when users joined and the first post was written
FIRST_ID = 1_000_000  # the first of seven digits, as INCR gives a site of a million
NO_PASSWORD = make_password(None)


def post_body(rng: random.Random) -> str:
    """The text of one post by somebody."""
    who = persona(rng)
    return Writer(rng).post(who, who.languages[-1], 0)


BODIES = [post_body(random.Random(number)) for number in range(1000)]


def secret(number: int) -> str:
    """The secret of a session cookie, 32 hexadecimal digits that depend only on `number`."""
    return f"{number * 0x9E3779B97F4A7C15 % (1 << 128) | 1 << 127:032x}"


def load(client: redis.Redis, commands: Iterable[Command]) -> None:
    """Send all commands, BATCH in each round trip. Raises the first error reply."""
    connection = client.connection_pool.get_connection()
    try:
        for batch in batches(commands, BATCH):
            connection.send_packed_command([b"".join(hiredis.pack_command(command) for command in batch)])  # type: ignore[arg-type]
            for _ in batch:
                connection.read_response()
    finally:
        client.connection_pool.release(connection)


def viewer(uid: int) -> Viewer:
    """The viewer of a user that `people` loads, with a name of usual length. The secrets depend only on the uid."""
    return Viewer(uid, f"user_{uid % FIRST_ID}", secret(uid), "".join(random.Random(uid).choices(CSRF_LETTERS, k=32)))


def people(uids: Iterable[int], password: str = NO_PASSWORD) -> Iterator[Command]:
    """Users with a session cookie, and with this hash of a password. No password matches NO_PASSWORD."""
    for user in (viewer(uid) for uid in uids):
        yield ("HSET", keys.user(user.uid), "username", user.name, "password", password, "auth", user.secret)
        yield ("HSET", keys.auths(), user.secret, user.uid)
        yield ("ZADD", keys.users_by_time(), NOW, user.name)
        for entry in entries(User(user.uid, user.name)):
            yield ("ZADD", keys.users_by_name(), 0, entry)
        yield ("HSET", keys.users(), user.name, user.uid)


def counters(users: int, posts: int) -> Iterator[Command]:
    yield ("SET", keys.next_user_id(), users)
    yield ("SET", keys.next_post_id(), posts)


def edges(me: int, them: Sequence[int]) -> Iterator[Command]:
    """User `me` follows the users `them`: both sides of each edge."""
    yield from one_side(keys.following(me), them)
    for uid in them:
        yield ("ZADD", keys.followers(uid), NOW, me)


def one_side(key: str, uids: Sequence[int]) -> Iterator[Command]:
    """Edges to these users, in this key alone."""
    for part in batches(uids, 500):
        yield ("ZADD", key, *(word for uid in part for word in (NOW, uid)))


def demo_texts(count: int) -> Iterator[str]:
    return islice(cycle(BODIES), count)


def posts(bodies: Iterable[str], authors: int, first: int = 1) -> Iterator[Command]:
    """Posts from id `first` on, with these texts. Authors 1 to `authors` write in turn."""
    assert not settings.REDIS_KEY_PREFIX
    for pid, body in enumerate(bodies, first):
        author = pid % authors + 1
        yield ("HSET", keys.post(pid), "user_id", author, "time", NOW + pid // 100, "body", body)
        yield ("ZADD", keys.updates(author), pid, pid)


def homes(uids: Iterable[int], length: int) -> Iterator[Command]:
    """Complete homes with the post ids from `length` down to 1. The 0 at the end says that no post is missing."""
    ids = [*range(length, 0, -1), 0]
    for uid in uids:
        yield ("RPUSH", keys.home(uid), *ids)


def fill(place: Place, users: int, follows: int, count: int, bodies: Iterable[str]) -> None:
    """Load users who follow each other, and `count` posts with these texts."""
    rng = random.Random(2)
    uids = range(1, users + 1)
    load(place.client, counters(users, count))
    load(place.client, people(uids))
    for me in uids:
        load(place.client, edges(me, rng.sample([uid for uid in uids if uid != me], follows)))
    load(place.client, posts(bodies, users))
    place.settle()
