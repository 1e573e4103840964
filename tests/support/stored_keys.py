"""What the keys of a store hold, in the shapes that tests compare; and jobs, which a worker or `deliver` does."""

from redis.client import NEVER_DECODE

from accounts.users.entities import User
from accounts.users.names import entries
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from retwis_site.store.local_cache import Memory
from tests.support.command_output import said
from tests.support.people import LONG_AGO
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


def empty(raw):
    """As on another machine: no keys, and nothing cached."""
    raw.flushall()
    Memory.clear_all()


def of_each(raw, found, ask):
    """key -> what `ask(pipe, key)` replies, for all of these keys in one round trip."""
    found = list(found)
    pipe = raw.pipeline(transaction=False)
    for key in found:
        ask(pipe, key)
    return dict(zip(found, pipe.execute(), strict=True))


_VALUE = {
    "hash": lambda pipe, key: pipe.hgetall(key),
    "list": lambda pipe, key: pipe.lrange(key, 0, -1),
    "set": lambda pipe, key: pipe.smembers(key),
    "zset": lambda pipe, key: pipe.zrange(key, 0, -1, withscores=True),
}


def everything(raw):
    """All keys and their values, without the note that a worker has run: it says nothing of the site."""
    found = [key for key in raw.keys() if key != "worker_seen"]  # noqa: SIM118  a client, not a dict
    types = of_each(raw, found, lambda pipe, key: pipe.type(key))
    values = of_each(
        raw, [key for key in found if types[key] != "string"], lambda pipe, key: _VALUE[types[key]](pipe, key)
    )
    return {key: values[key] if key in values else _string(raw, key) for key in found}


def write_all(raw, keys_and_values):
    """Write what `everything` has read into an empty store."""
    pipe = raw.pipeline(transaction=False)
    for key, value in keys_and_values.items():
        if isinstance(value, str | bytes):
            pipe.set(key, value)
        elif isinstance(value, dict):
            pipe.hset(key, mapping=value)
        elif isinstance(value[0], str):
            pipe.rpush(key, *value)
        else:
            pipe.zadd(key, dict(value))
    pipe.execute()


def _string(raw, key):
    """A text; bytes, where the string is no text."""
    stored = raw.execute_command("GET", key, **{NEVER_DECODE: True})
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def without_damaged(raw):
    """All keys but those that a repair has kept."""
    return {key: value for key, value in everything(raw).items() if not key.startswith("damaged:")}


def ranking(raw):
    """uid -> number of followers, as the ranking has it."""
    return dict(raw.zrange("users_by_followers", 0, -1, withscores=True))


def follower_counts(raw):
    """uid -> number of followers, as the `followers:` sets have it. It must equal `ranking`."""
    numbers = of_each(raw, raw.keys("followers:*"), lambda pipe, key: pipe.zcard(key))
    return {key.partition(":")[2]: number for key, number in numbers.items()}


def name_entries(raw):
    """The entries of the index of names, with their scores."""
    return dict(raw.zrange("users_by_name", 0, -1, withscores=True))


def expected_name_entries(raw):
    """The entries that the index should have, from the hashes of the users that `users` leads to."""
    expected = {}
    for uid in raw.hvals("users"):
        username, name, deleted = raw.hmget(f"user:{uid}", "username", "name", "deleted")
        if deleted is None:
            expected |= dict.fromkeys(entries(User(int(uid), username, name or "")), 0)
    return expected


def add_overdue_job(raw, job):
    """Add an overdue job, as a dead owner leaves it."""
    raw.zadd(keys.outbox(job), {job: LONG_AGO})


def noted(raw):
    """All jobs in all outboxes."""
    return [job for key in keys.outbox.all() for job in raw.zrange(key, 0, -1)]


def make_due(raw):
    """Make every job due, and remove all leases: as when an hour has passed."""
    for job in noted(raw):
        raw.zadd(keys.outbox(job), {job: 1})
    for lease in raw.keys("lease:*"):
        raw.delete(lease)


def drain_due(store, raw):
    """Make every job due, and let a worker do what it can."""
    make_due(raw)
    drain(store, "worker")


def deliver(capsys):
    """Run `deliver --once`. Returns what it prints."""
    return said(capsys, "deliver", "--once")


def is_finished(raw):
    """Whether the outbox is empty and no lease is left."""
    return raw.zcard("outbox") == 0 and raw.keys("lease:*") == []


def finish_one_job(raw, capsys):
    """`deliver` finishes the only job that is due, and leaves nothing of it."""
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)


def publish(raw, store, author, body):
    """Publish a post and return its id."""
    Posts(store).publish(author.user.uid, NewPost(body), body.replace(" ", "-"))
    return int(raw.get("next_post_id"))
