"""What the keys of a store hold, in the shapes that tests compare."""

from accounts.users.names import entry
from retwis_site.store import keys
from tests.support.people import LONG_AGO
from timeline.posts.repository import Posts


def everything(raw):
    """All keys with what they hold."""
    read = {
        "string": raw.get,
        "hash": raw.hgetall,
        "list": lambda key: raw.lrange(key, 0, -1),
        "zset": lambda key: raw.zrange(key, 0, -1, withscores=True),
    }
    return {key: read[raw.type(key)](key) for key in raw.keys()}  # noqa: SIM118  a client, not a dict


def ranked(raw):
    """How many followers everybody has, as the ranking says."""
    return dict(raw.zrange("users_by_followers", 0, -1, withscores=True))


def counted(raw):
    """The same as `followers:` says."""
    return {key.partition(":")[2]: raw.zcard(key) for key in raw.keys("followers:*")}


def filed(raw):
    """What leads to people in the index of names, with its scores."""
    return dict(raw.zrange("users_by_name", 0, -1, withscores=True))


def called(raw):
    """The same as it should be, by the hashes of those who can be found by name."""
    right = {}
    for uid in raw.hvals("users"):
        username, name, deleted = raw.hmget(f"user:{uid}", "username", "name", "deleted")
        names = {username, name or username} if deleted is None else set()
        right |= {entry(one, int(uid)): 0 for one in names}
    return right


def left_behind(raw, job):
    """An owner died; its intent is overdue."""
    raw.zadd(keys.outbox(job), {job: LONG_AGO})


def publish(raw, store, author, body):
    """The id of a new post."""
    Posts(store).publish(author.user.uid, body, body.replace(" ", "-"))
    return int(raw.get("next_post_id"))
