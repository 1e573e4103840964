"""Posts that are written directly into their keys."""


def write_posts(raw, uid, pids):
    """Write posts and list them at their author, without a fan-out. The text of post 7 is "post 7"."""
    for pid in pids:
        raw.hset(f"post:{pid}", mapping={"user_id": uid, "time": 1_700_000_000 + pid, "body": f"post {pid}"})
        raw.zadd(f"updates:{uid}", {pid: pid})
    raw.set("next_post_id", max([*pids, int(raw.get("next_post_id") or 0)]))
