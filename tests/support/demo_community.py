"""A seeded demo community, and its stored data."""

from django.core.management import call_command

DEMO_LOGIN = {"username": "demo", "password": "retwis-demo"}


def seed(*arguments, users=60, posts=300, follows=8, **options):
    """Run `manage.py seed`."""
    numbers = (f"--users={users}", f"--posts={posts}", f"--follows={follows}")
    call_command("seed", *numbers, *arguments, **{"verbosity": 0, **options})


def members(raw, prefix):
    """The scores of all sorted sets with this prefix, by (uid in the key, id of the member)."""
    return {
        (int(key.removeprefix(prefix)), int(member)): score
        for key in raw.keys(f"{prefix}*")
        for member, score in raw.zrange(key, 0, -1, withscores=True)
    }


def stored_posts(raw):
    """The hashes of all posts, by id."""
    return {int(key.removeprefix("post:")): raw.hgetall(key) for key in raw.keys("post:*")}


def join_dates(raw):
    """When each user registered (unix seconds), by uid."""
    uids = raw.hgetall("users")
    return {int(uids[name.lower()]): when for name, when in raw.zrange("users_by_time", 0, -1, withscores=True)}
