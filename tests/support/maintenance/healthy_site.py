"""A site without inconsistencies, for `doctor` to check."""

from accounts.signing_in.viewer import Viewer
from accounts.users.names import NameIndex
from tests.support.stored_keys import publish
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

ALICE, BOB, CAROL = 1, 2, 3  # uids


def make_healthy_site(raw, store, alice, bob, carol):
    """bob and carol follow alice. Posts 1 and 3 are alice's, post 2 was deleted, post 4 is bob's. Two keys belong to
    other programs."""
    Follows(store).follow(BOB, ALICE)
    Follows(store).follow(CAROL, ALICE)
    publish(raw, store, alice, "First")
    deleted = publish(raw, store, alice, "Second")
    publish(raw, store, alice, "Third")
    publish(raw, store, bob, "Fourth")
    Posts(store).delete(ALICE, deleted)
    raw.lrem("timeline", 0, deleted)
    for login in (alice, bob, carol):
        home_pids(store, login)
    EveryoneTimeline(store).page(Viewer(store, ""), None, 50)
    NameIndex(store).edit(carol.user, "Carola", "")
    raw.set("celery", "not ours")
    raw.hset("user:settings", "theme", "dark")


def home_pids(store, login):
    """The ids of the posts in a user's home timeline, newest first."""
    return [post.pid for post in Homes(store).page(Viewer(store, login.secret), None).page.posts]
