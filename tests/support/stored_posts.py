"""Posts and tags that are written directly into their keys, and what reads them."""

import time

from accounts.signing_in.viewer import Checked, Viewer
from timeline.posts.links import folded, in_index, tags_in
from timeline.posts.reading.post_reader import PostReader
from timeline.search.index import Indexing

HOUR, DAY = 3600, 24 * 3600


def write_posts(raw, uid, pids):
    """Write posts and list them at their author, without a fan-out. The text of post 7 is "post 7"."""
    pipe = raw.pipeline(transaction=False)
    queue_posts(pipe, uid, pids)
    pipe.get("next_post_id")
    newest = pipe.execute()[-1]
    raw.set("next_post_id", max([*pids, int(newest or 0)]))


def queue_posts(pipe, uid, pids):
    """Queue what `write_posts` writes, but for the number of the newest post."""
    for pid in pids:
        pipe.hset(f"post:{pid}", mapping={"user_id": uid, "time": 1_700_000_000 + pid, "body": f"post {pid}"})
        pipe.zadd(f"updates:{uid}", {pid: pid})


def write_answer(raw, uid, pid, parent, **fields):
    """Write a post that answers `parent`, with all that publishing writes but homes. `fields` go into its hash."""
    author, root, above = raw.hmget(f"post:{parent}", "user_id", "root", "above")
    nearest = [str(parent), *(above or "").split()][:20]
    links = {"reply_to": parent, "root": root or parent, "reply_to_user": author, "above": " ".join(nearest)}
    write_posts(raw, uid, [pid])
    raw.hset(f"post:{pid}", mapping={**links, **fields})
    raw.zadd(f"replies_to:{parent}", {pid: pid})
    raw.zadd(f"thread:{root or parent}", {pid: pid})
    raw.hset(f"post:{parent}", "replies", raw.zcard(f"replies_to:{parent}"))


def delete_answered(raw, pid):
    """Delete a post that has answers: it keeps its place in the thread."""
    uid = raw.hget(f"post:{pid}", "user_id")
    raw.hset(f"post:{pid}", mapping={"deleted": 1_800_000_000, "body": ""})
    raw.zrem(f"updates:{uid}", pid)


def write_tag(raw, spelling, pids):
    """Give posts a tag, without changing their texts."""
    name = folded(spelling)
    raw.hsetnx("tags", name, spelling)
    raw.zadd("tags_by_name", {in_index(name): 0})
    for pid in pids:
        raw.zadd(f"tag:{name}", {pid: pid})


def write_recent(raw, pid, uid=1, ago=0, body=""):
    """A post of `ago` seconds before now, with its tags, by a user who may have nothing but a name."""
    raw.hsetnx(f"user:{uid}", "username", f"user{uid}")
    write_posts(raw, uid, [pid])
    raw.hset(f"post:{pid}", mapping={"time": int(time.time()) - ago, "body": body or f"post {pid}"})
    for spelling in tags_in(body).values():
        write_tag(raw, spelling, [pid])


def like(raw, pid, *uids):
    _act(raw, pid, uids, "likes", "liked_by")


def repost(raw, pid, *uids):
    _act(raw, pid, uids, "reposts", "reposted_by")


def _act(raw, pid, uids, truth, mirror):
    for uid in uids:
        raw.zadd(f"{truth}:{uid}", {pid: 1})
        raw.zadd(f"{mirror}:{pid}", {uid: 1})
    raw.hset(f"post:{pid}", truth, raw.zcard(f"{mirror}:{pid}"))


def write_indexed(raw, store, uid, texts):
    """Write posts by `uid`, by pid their texts, and put them into the index of the search."""
    write_posts(raw, uid, texts)
    for pid, text in texts.items():
        raw.hset(f"post:{pid}", "body", text)
    Indexing(store).index(texts)


def reader_for(store, user, *args, fresh=(), **known):
    """Reads posts for a user, or a Visitor, who has been checked. `fresh`: posts on which they have just acted."""
    viewer = Viewer(store, "", fresh)
    viewer._checked = Checked(user)
    return PostReader(store, viewer, *args, **known)
