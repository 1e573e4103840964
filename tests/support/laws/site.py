"""A small site with every relation, for the two laws of pages: who is named and counted, and for whom.

zed is the person whose state changes. By name, the others: ann writes what zed answers, fay follows zed, sid is a
stranger to zed, mod is staff. `STATES` says how zed comes into each state and out of it again.
"""

from accounts.community.acts import Roles
from accounts.community.sanctions import Sanctions
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State, User
from accounts.users.names import NameIndex
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.people import register
from tests.support.stored_keys import everything, write_all
from timeline.moderation.reports import NewReport, Reports
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.home_tags import HomeTags
from timeline.relations.relations import BlockedPeople, Bookmarks, Follows, Likes, MutedThreads, Mutes, TagFollows
from timeline.search.index import Indexing
from timeline.timelines.profile import Pins

NAMES = ("ann", "fay", "sid", "mod", "zed")
ANN, FAY, SID, MOD, ZED = range(1, 6)
FOLLOWS = ((ANN, FAY), (ANN, ZED), (FAY, ANN), (FAY, ZED), (SID, ANN), (MOD, ANN), (ZED, ANN), (ZED, FAY), (ZED, SID))
# In their order: who writes what. Each text of zed's has the word `zedsaid`, and a tag that nobody else uses.
TEXTS = (
    (ANN, NewPost("ann begins #shared")),
    (ANN, NewPost("ann goes on, see @zed")),
    (ZED, NewPost("zedsaid hello to @sid #onlyzed #shared")),
    (ZED, NewPost("zedsaid an answer #onlyzed", reply_to=1)),
    (FAY, NewPost("fay answers the answer #shared", reply_to=4)),
    (ZED, NewPost("zedsaid a last answer", reply_to=1)),
    (ZED, NewPost("zedsaid a quote", quote=1)),
    (FAY, NewPost("fay quotes", quote=3)),
    (SID, NewPost("sid speaks #shared")),
    (ZED, NewPost("zedsaid @ann @sid")),
)


class LawfulSite:
    """Built once; its state changes and comes back."""

    def __init__(self, raw, store):
        self.raw, self.store = raw, store
        self.logins = {name: register(store, name) for name in NAMES}
        NameIndex(store).edit(self.logins["zed"].user, "Zed Quux", "zedsaid something of himself")
        for follower, followed in FOLLOWS:
            Follows(store).follow(follower, followed)
        for number, (uid, new) in enumerate(TEXTS):
            Posts(store).publish(uid, new, f"post-{number}")
        for who, pid, author in ((ZED, 1, ANN), (ZED, 9, SID), (FAY, 1, ANN), (SID, 3, ZED), (MOD, 3, ZED)):
            Likes(store).like(who, pid, author)
        for who, pid, author in ((ZED, 1, ANN), (FAY, 3, ZED), (ZED, 9, SID)):
            Reposts(store).repost(who, pid, author)
        for who in (FAY, SID, ZED):
            Bookmarks(store).add(who, 3, ZED)
            Bookmarks(store).add(who, 1, ANN)
            TagFollows(store).follow(who, "shared")
            TagFollows(store).follow(who, "onlyzed")
            HomeTags(store).add(who, "shared")
            HomeTags(store).add(who, "onlyzed")
        Pins(store).pin(ZED, 3)
        MutedThreads(store).mute(ZED, 9)
        Posts(store).edit(ZED, 10, "zedsaid @ann @sid again")
        Roles(store).give(MOD, Role.MODERATOR)
        Reports(store).make(SID, NewReport(ZED, 3, "spam", body="zedsaid hello to @sid"))
        Reports(store).make(ZED, NewReport(SID, 9, "spam", body="sid speaks"))
        self.settle()
        Indexing(store).index(range(1, 11))
        self.initial = everything(raw)

    def settle(self):
        """Workers have finished, and no process remembers anything."""
        drain(self.store, "worker")
        Memory.clear_all()

    def restore(self):
        """As it was before anything happened to zed."""
        self.raw.flushall()
        write_all(self.raw, self.initial)
        self.settle()


def _leave(store):
    AccountDeletion(store).delete(User(ZED, "zed"), "")


def _impose(state):
    return lambda store: Sanctions(store).impose(ZED, state, "reason")


# By name, how zed comes into a state.
STATES = {
    "normal": lambda store: None,
    "sid blocks zed": lambda store: BlockedPeople(store).block(SID, ZED),
    "zed blocks sid": lambda store: BlockedPeople(store).block(ZED, SID),
    "sid mutes zed": lambda store: Mutes(store).mute(SID, ZED),
    "sid mutes zed's reposts": lambda store: Mutes(store).mute_reposts(SID, ZED),
    "frozen": _impose(State.FROZEN),
    "hidden": _impose(State.HIDDEN),
    "suspended": _impose(State.SUSPENDED),
    "deleted": _leave,
}
