"""What the site has after an import, in the shapes that tests compare."""

from django.contrib.auth import authenticate


def contents(raw):
    """Every key with its value, in Redis's own format."""
    return {key: (raw.type(key), raw.dump(key)) for key in raw.keys()}  # noqa: SIM118  a client, not a dict


def posts(raw):
    """pid -> (uid, unix seconds, text), of all posts."""
    stored = {int(key.partition(":")[2]): raw.hmget(key, "user_id", "time", "body") for key in raw.keys("post:*")}
    return {pid: (int(uid), int(time), body) for pid, (uid, time, body) in sorted(stored.items())}


def own_posts(raw, uid):
    """The pids in a user's `updates:`."""
    return [int(pid) for pid in raw.zrange(f"updates:{uid}", 0, -1)]


def follows(raw):
    """(follower, followed) -> unix seconds. Both sides must agree."""
    found = {}
    for key in raw.keys("following:*"):
        follower = int(key.partition(":")[2])
        found |= {(follower, int(uid)): int(at) for uid, at in raw.zrange(key, 0, -1, withscores=True)}
    assert all(raw.zscore(f"followers:{followed}", follower) == at for (follower, followed), at in found.items())
    return found


def logs_in(name, password):
    return authenticate(None, username=name, password=password) is not None
