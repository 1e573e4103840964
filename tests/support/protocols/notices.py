"""What must hold of notices."""

from retwis_site.store import keys


def expected_notices(raw):
    """uid -> notices, as they follow from the edges and posts of a site where nobody is quiet and only people are
    muted."""
    posts = {pid: raw.hgetall(key) for key in raw.keys("post:*") if (pid := key.partition(":")[2])}
    found = []
    for kind, prefix in (("follow", "following"), ("like", "likes"), ("repost", "reposts")):
        for key in raw.keys(f"{prefix}:*"):
            who = key.partition(":")[2]
            for what in raw.zrange(key, 0, -1):
                found.append((what if kind == "follow" else posts[what]["user_id"], f"{kind}:{what}:{who}", who))
    for pid, post in posts.items():
        who = post["user_id"]
        if raw.zscore(keys.updates(who), pid) is None:
            continue
        concerned = dict.fromkeys(post.get("mentions", "").split(), "mention")
        if "quote" in post:
            concerned[posts[post["quote"]]["user_id"]] = "quote"
        if "reply_to_user" in post:
            concerned[post["reply_to_user"]] = "reply"
        found += [(owner, f"{kind}:{pid}:{who}", who) for owner, kind in concerned.items()]
    return {(int(owner), notice) for owner, notice, who in found if owner != who and _is_welcome(raw, owner, who)}


def _is_welcome(raw, owner, who):
    """Whether the owner wants to know what this person does."""
    blocks = (raw.zscore(keys.blocked(owner), who), raw.zscore(keys.blocked(who), owner))
    return [*blocks, raw.zscore(keys.muted(owner), who)] == [None] * 3 and not raw.hexists(keys.user(owner), "deleted")


def assert_notices_agree(raw, where):
    stored = {
        (int(key.partition(":")[2]), notice)
        for key in raw.keys("notices:*")
        for notice in raw.zrange(key, 0, -1)
        if notice != "up_to_here"
    }
    assert stored == expected_notices(raw), where
