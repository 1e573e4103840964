"""A small site for interleavings: three users, two posts, and what they do."""

from functools import partial

from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import User
from accounts.users.names import skeletons
from retwis_site.jobs.worker import drain
from retwis_site.store.client import Store
from tests.support.protocols.interleaving import attempt, take_all_over
from tests.support.stored_keys import drain_due, empty, noted
from tests.support.stored_posts import queue_posts
from tests.support.stores.key_layouts import Counted
from timeline.account_data.restoring import OldPost, Restoring
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, TargetRefused
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Follows, Likes
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

ALICE, BOB, CAROL = 1, 2, 3
NAMES = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
DEFAULT_KEYS = Counted()


def make_small_site(raw, layout=DEFAULT_KEYS):
    """alice follows carol; bob and carol have one post each; all follow a tag."""
    empty(raw)
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


class Acts:
    """What people and workers do on the site. `acts.follow(ALICE, BOB)` is a task for `interleave`, as are `acts.home`
    and what else takes no arguments. What another task may have overtaken is not done then."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def home(self):
        """Read alice's home. Returns its ids."""
        return [post.pid for post in Homes(self.store).page(Viewer(self.store, "secret1"), None).page.posts]

    def everyone(self):
        return [post.pid for post in EveryoneTimeline(self.store).page(Viewer(self.store, ""), None, 50).page.posts]

    def follow(self, who, whom):
        return partial(Follows(self.store).follow, who, whom)

    def unfollow(self, who, whom):
        return partial(Follows(self.store).unfollow, who, whom)

    def block(self, who, whom):
        return partial(BlockedPeople(self.store).block, who, whom)

    def like(self, who, pid, author):
        return partial(Likes(self.store).like, who, pid, author)

    def unlike(self, who, pid, author):
        return partial(Likes(self.store).unlike, who, pid, author)

    def repost(self, who, pid, author):
        return partial(Reposts(self.store).repost, who, pid, author)

    def post(self, uid, text="Hello", token="t"):  # noqa: S107
        return partial(Posts(self.store).publish, uid, NewPost(text), token)

    def answer(self, uid, to, token="t"):  # noqa: S107
        new = NewPost(f"{uid} answers {to}", reply_to=to)
        return attempt(partial(Posts(self.store).publish, uid, new, f"{token}{to}"), TargetRefused)

    def quote(self, uid, of):
        return attempt(
            partial(Posts(self.store).publish, uid, NewPost(f"{uid} quotes {of}", quote=of), f"q{of}"), TargetRefused
        )

    def edit(self, uid, pid, text):
        return attempt(partial(Posts(self.store).edit, uid, pid, text), NoSuchPost, PostDeleted)

    def delete(self, uid, pid):
        return attempt(partial(Posts(self.store).delete, uid, pid), NoSuchPost, PostDeleted)

    def bring_back(self, uid, later="later", texts=()):
        """Bring back two posts of a download. Their ids, 900 and 901, were never given out here."""

        def work():
            restoring = Restoring(self.store, uid)
            restoring.begin()
            restoring.write([OldPost(900, 5, "sooner"), OldPost(901, 6, later, texts=texts)], lambda post: post)
            restoring.finish()
            return restoring

        return work

    def delete_account(self, uid):
        return partial(AccountDeletion(self.store).delete, User(uid, NAMES[uid]), f"secret{uid}")

    def leave(self, uid):
        """The deletion of an account, and a worker for it."""
        return lambda: (self.delete_account(uid)(), self.drain()())

    def drain(self, name="worker"):
        """Carry out the jobs that are due now."""
        return partial(drain, self.store, name)

    def worker(self, name):
        """Carry out due jobs. It looks for jobs until there is one, at most twenty times."""

        def work():
            for _ in range(20):
                if drain(self.store, name):
                    return

        return work

    def take_over(self):
        """Take over all jobs from processes that have become too slow."""
        take_all_over(self.store)


def finish_jobs(store, raw):
    """Make all jobs due and let a worker finish them. It leaves no lease."""
    drain_due(store, raw)
    assert noted(raw) == []
    assert raw.keys("lease:*") == []


def existing_posts(raw, uids):
    return sorted((int(pid) for uid in uids for pid in raw.zrange(f"updates:{uid}", 0, -1)), reverse=True)
