"""A database as the official Retwis (2014) writes it: names and passwords as typed, and no key of ours."""

from tests.support.people import LONG_AGO


def make_official_site(raw, people=("Alice", "bob"), posts=3):
    """Each person follows the next one. All posts are the first person's."""
    for uid, name in enumerate(people, 1):
        raw.hset("users", name, uid)
        raw.hset(f"user:{uid}", mapping={"username": name, "password": f"{name} as typed", "auth": f"secret{uid}"})
        raw.hset("auths", f"secret{uid}", uid)
        raw.zadd("users_by_time", {name: LONG_AGO})
    for uid in range(1, len(people)):
        raw.zadd(f"following:{uid}", {str(uid + 1): LONG_AGO})
        raw.zadd(f"followers:{uid + 1}", {str(uid): LONG_AGO})
    for pid in range(1, posts + 1):
        raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": f"Post {pid}"})
        raw.lpush("posts:1", pid)
        raw.lpush("timeline", pid)
    raw.set("next_user_id", len(people))
    raw.set("next_post_id", posts)
