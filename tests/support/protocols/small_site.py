"""A small site for interleavings: three users, two posts, and how to read what it shows."""

import contextlib

from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import User
from accounts.users.names import skeletons
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.delivering import drain_due
from tests.support.stored_posts import queue_posts
from tests.support.stores.key_layouts import Counted, noted
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted
from timeline.posts.repository import Posts
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

ALICE, BOB, CAROL = 1, 2, 3
NAMES = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
DEFAULT_KEYS = Counted()


def make_small_site(raw, layout=DEFAULT_KEYS):
    """alice follows carol; bob and carol have one post each; all follow a tag."""
    raw.flushall()
    Memory.clear_all()
    layout.begin_at(3)
    pipe = raw.pipeline(transaction=False)
    pipe.set("next_user_id", 3)
    for uid, name in NAMES.items():
        pipe.hset(f"user:{uid}", mapping={"username": name, "password": "hash", "auth": f"secret{uid}"})
        pipe.hset("users", name, uid)
        pipe.hset("auths", f"secret{uid}", uid)
        pipe.zadd("users_by_time", {name: uid})
        pipe.zadd("users_by_name", {f"{name}:{uid}": 0})
        pipe.hset("skeletons", mapping=dict.fromkeys(skeletons(name), uid))
        pipe.zadd(f"tags_of:{uid}", {"redis": 1})
    pipe.zadd("following:1", {CAROL: 1})
    pipe.zadd("followers:3", {ALICE: 1})
    pipe.zadd("users_by_followers", {CAROL: 1})
    pipe.zadd("recent", {"1": 1, "2": 2})  # read only when ids are made from the time
    queue_posts(pipe, BOB, [1])
    queue_posts(pipe, CAROL, [2])
    pipe.set("next_post_id", 2)
    pipe.execute()


def home(store):
    return [post.pid for post in Homes(store).page(Viewer(store, "secret1"), None).page.posts]


def everyone(store):
    return [post.pid for post in EveryoneTimeline(store).page(Viewer(store, ""), None, 50).page.posts]


def delete(store, uid, pid):
    with contextlib.suppress(NoSuchPost, PostDeleted):  # an interleaved action may not have made it, or have deleted it
        Posts(store).delete(uid, pid)


def delete_account(store, uid):
    return lambda: AccountDeletion(store).delete(User(uid, NAMES[uid]), f"secret{uid}")


def leave(store, uid):
    """The deletion of an account, and a worker for it."""

    def work():
        delete_account(store, uid)()
        drain(store, "worker")

    return work


def post(store, uid, token="t"):  # noqa: S107
    return lambda: Posts(store).publish(uid, NewPost(f"by {uid}"), token)


def worker(store, name):
    """Carry out due jobs. It looks for jobs until there is one, at most twenty times."""

    def work():
        for _ in range(20):
            if drain(store, name):
                return

    return work


def finish_jobs(store, raw):
    """Make all jobs due and let a worker finish them."""
    drain_due(store, raw)
    assert noted(raw) == []


def existing_posts(raw, uids):
    return sorted((int(pid) for uid in uids for pid in raw.zrange(f"updates:{uid}", 0, -1)), reverse=True)
