"""Bad values for every kind of key of the key table."""

from tests.support.people import LONG_AGO

NOT_IDS = {
    "empty": b"",
    "letters": b"x",
    "zero": b"0",
    "a zero before it": b"007",
    "negative": b"-7",
    "too large for a score": b"9007199254740992",
    "thousands of digits": b"9" * 5000,
    "no ASCII digits": "٧".encode(),
    "no UTF-8": b"\xff\xfe7",
    "two ids": b"1,2",
    "a space before it": b" 7",
    "a fraction": b"7.5",
}
INFINITE = ("inf", "-inf", "-5", "1e300")  # scores

JOBS = ["outbox", "outbox:1", "set_aside"]
SETS = ["following:1", "following:2", "followers:1", "followers:3", "updates:1", "updates:2", "likes:1", "liked_by:1"]
RANKED = [
    "users_by_followers",
    "users_by_time",
    "users_by_name",
    "recent",
    "recent:1",
    "outbox",
    "outbox:1",
    "set_aside",
]
LISTS = ["posts:1", "posts:2", "timeline"]
SECRET = "00000000000000000000000000000bad"  # leads to a bad value
TOKEN = "t" * 32


def add_members(raw, value):
    """A bad member in every sorted set, above the good ones, and a bad entry in every list."""
    for key in SETS + RANKED:
        raw.zadd(key, {value: LONG_AGO if key in JOBS else 9e12})
    for key in LISTS if not value.startswith(b"-") else ():  # there, `-7` is a mark
        raw.lpush(key, value)


def add_fields(raw, value):
    """A bad value in every hash and in the strings that hold an id."""
    raw.hset("users", mapping={"ghost": value})
    raw.hset("auths", mapping={SECRET: value})
    raw.hset("user:1", "seen", value)
    raw.hset("attempts", "follow:2:1:abc", value)
    raw.zadd("outbox", {"follow:2:1:abc": LONG_AGO})
    raw.hset("post:4", "user_id", value)
    raw.hset("post:3", mapping=dict.fromkeys(("time", "reply_to", "root", "reply_to_user", "likes"), value))
    raw.hset("post:2", "deleted", value)
    raw.set(f"idem:1:{TOKEN}", value, ex=900)
    raw.zadd("throttle:post:1", {value: LONG_AGO})
    raw.expire("throttle:post:1", 900)
    raw.set("schema", value)


def add_jobs(raw, value):
    """A job of every kind with a bad id."""
    for kind in ("user", "name", "auth", "gone", "post", "fan", "del", "restore", "lists", "follow"):
        raw.zadd("outbox", {kind.encode() + b":" + value + b":1:abc": LONG_AGO})


def set_scores(raw, score):
    """A score that is no time in every sorted set, for members that exist."""
    for key in SETS + RANKED:
        for member in raw.zrange(key, 0, 0):
            raw.zadd(key, {member: score})
