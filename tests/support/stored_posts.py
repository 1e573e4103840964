"""Posts written straight into the keys."""


def write_posts(raw, uid, pids):
    """Posts as they stand after delivery, without the deliveries."""
    for pid in pids:
        raw.hset(f"post:{pid}", mapping={"user_id": uid, "time": 1_700_000_000 + pid, "body": f"post {pid}"})
        raw.zadd(f"updates:{uid}", {pid: pid})
    raw.set("next_post_id", max([*pids, int(raw.get("next_post_id") or 0)]))
