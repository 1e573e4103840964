"""The site and its model side by side: whether every page shows what the model says, and every key holds it.

What somebody who died has left undone is finished first: an hour passes, and a worker looks.
"""

import functools

import pytest
from django.contrib.auth.hashers import make_password
from hypothesis.stateful import RuleBasedStateMachine

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import AccountDeleted, NoSuchUser, Visitor
from retwis_site.jobs.worker import drain
from retwis_site.store import cached_list
from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from tests.support.people import LONG_AGO
from tests.support.protocols.site_model import Model
from tests.support.stored_keys import name_entries, ranking
from tests.support.stores.key_layouts import noted
from tests.support.stores.seam import killed_before_round_trip
from timeline.people import follow_pages
from timeline.people.cursors import ScoreCursor, score_cursor
from timeline.people.entities import Show
from timeline.people.follow_pages import FollowPages
from timeline.posts.entities import NoSuchPost, PostDeleted
from timeline.posts.reader import one_post
from timeline.timelines import everyone, pagination
from timeline.timelines.everyone import GlobalTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import Profiles

DEAD = object()
ALL = 300  # pages, and then some
NOBODYS = 10**9  # an id that nothing has


class Clock:
    """Stands where the site's modules have `time`, and stands still unless it is told to go on."""

    now = LONG_AGO

    def time(self):
        return self.now

    monotonic = time

    def sleep(self, seconds):
        self.now += seconds


CLOCK = Clock()


@functools.cache
def hashed(password):
    return make_password(password)


def pages(read, before, most=ALL):
    """The pages from a cursor to the end."""
    found = [read(before)]
    while older_than(found[-1]) is not None and len(found) < most:
        found.append(read(older_than(found[-1])))
    assert len(found) < ALL, "paging does not end"
    return found


def older_than(page):
    """The cursor of the next page."""
    return getattr(page, "page", page).older


def posts_on(found, size):
    assert all(len(one.page.posts) <= size for one in found)
    return [post for one in found for post in one.page.posts]


def edges_on(found):
    assert all(len(one.edges) <= follow_pages.PEOPLE_A_PAGE for one in found)
    return [edge for one in found for edge in one.edges]


class Agreement(RuleBasedStateMachine):
    as_redis_cli = None  # the store past everything of ours; the test knows it
    layout = None  # how its keys are split; likewise

    def __init__(self):
        super().__init__()
        self.store = connect()
        self.raw = self.as_redis_cli
        self.raw.flushall()
        self.layout.begin_at(1)
        Memory.clear_all()
        CLOCK.now = LONG_AGO
        self.model = Model()
        self.unsettled = False  # somebody died, and nobody has finished it

    # ---- doing things

    def carry_out(self, work, dies):
        """What the work returns, or DEAD when its process died: before round trip `dies`, the first one being 0."""
        result = self.alone(work, dies)
        self.unsettled |= result is DEAD
        return result

    def alone(self, work, dies):
        """The same for work that leaves nothing undone."""
        if dies is None:
            return work()
        results = []
        died = killed_before_round_trip(dies, lambda: results.append(work()))
        return DEAD if died else results[0]

    def finish(self):
        """If somebody has died: every intent is due, nobody holds a lease, and a worker looks."""
        if not self.unsettled:
            return
        CLOCK.sleep(3600)
        for lease in self.raw.keys("lease:*"):
            self.raw.unlink(lease)
        drain(self.store, "worker")
        assert noted(self.raw) == self.raw.zrange("set_aside", 0, -1) == []
        self.unsettled = False

    def settle(self):
        if self.unsettled:
            self.finish()
            self.check_the_keys()

    def jobs(self, kind):
        """What the intents of this kind are about."""
        names = [job.split(":") for job in noted(self.raw)]
        return {name[1] for name in names if name[0] == kind}

    def waiting(self):
        """Posts that wait for the worker."""
        return {int(pid) for pid in self.jobs("fan")}

    def viewer(self, viewer):
        return Viewer(self.store, self.model.people[viewer].secret if viewer else "")

    # ---- whether it agrees

    def check_who_is_signed_in(self):
        for secret in ("", *self.model.ended):
            assert Viewer(self.store, secret).user == Visitor()
        self.settle()
        for person in self.model.people.values():
            assert Viewer(self.store, person.secret).user == person.user

    def check_home(self, me, before, most=ALL):
        self.settle()
        found = pages(lambda below: Homes(self.store).page(self.viewer(me), below), before, most)
        assert {(one.viewer, one.counts) for one in found} == {(self.model.people[me].user, self.model.counts(me))}
        # Until the worker has looked, followers may see a post or not.
        perhaps = {pid for pid in self.waiting() if self.model.posts[pid].author != me}
        shown = [one for one in posts_on(found, pagination.POSTS_A_PAGE) if one.pid not in perhaps]
        expected = [one for one in self.model.home(me, before) if one.pid not in perhaps]
        assert shown == (expected if older_than(found[-1]) is None else expected[: len(shown)])

    def check_everybody(self, before, size):
        """The global timeline need not lead to the first post, but has the newest, and says where it ends."""
        self.settle()
        found = pages(lambda below: GlobalTimeline(self.store).page(self.viewer(None), below, size), before)
        assert found[0].newest_users == self.model.newest_users()[: everyone.NEWEST_USERS]
        shown, expected = posts_on(found, size), self.model.posts_of(self.model.people, before)
        assert shown == expected[: len(shown)]
        if len(shown) < len(expected):
            assert found[-1].at_the_cap
            assert self.layout.newest(self.raw) - expected[len(shown)].pid >= cached_list.TRUSTED // self.layout.of

    def check_profile(self, viewer, name, before):
        self.settle()
        person = self.model.named(name)
        if person is None:
            with pytest.raises(self.nobody(name)):
                Profiles(self.store).page(self.viewer(viewer), name, before)
            return
        found = pages(lambda below: Profiles(self.store).page(self.viewer(viewer), name, below), before)
        assert posts_on(found, pagination.POSTS_A_PAGE) == self.model.posts_of({person.uid}, before)
        about = (person.user, self.model.counts(person.uid), self.model.relation(viewer, person.uid))
        assert {(one.person, one.counts, one.relation) for one in found} == {about}

    def nobody(self, name):
        """What is raised for a name that nobody has, or has any more."""
        return AccountDeleted if self.model.who_left(name) else NoSuchUser

    def check_people(self, viewer, name, side, row, show=Show.ALL):
        """All pages; and those below a row, also when it has gone: then its second is shown again."""
        self.settle()
        person = self.model.named(name)

        def read(before):
            page = getattr(FollowPages(self.store), f"{side}_page")
            return page(self.viewer(viewer), name, score_cursor(before), show)

        if person is None:
            with pytest.raises(self.nobody(name)):
                read(None)
            return
        expected = self.model.edges(viewer, person.uid, side, show)
        found = pages(read, None)
        assert {page.person for page in found} == {person.user}
        assert edges_on(found) == expected
        if row < len(expected):
            since, uid = expected[row].since, expected[row].user.uid
            assert edges_on(pages(read, str(ScoreCursor(since, uid)))) == expected[row + 1 :]
            rest = [edge for edge in expected if edge.since <= since]
            assert edges_on(pages(read, str(ScoreCursor(since, NOBODYS)))) == rest

    def check_post(self, viewer, name, pid):
        self.settle()
        person, post = self.model.named(name), self.model.posts.get(pid)
        if person is None:
            expected = self.nobody(name)
        elif post is None or post.author != person.uid:
            expected = NoSuchPost
        elif post.deleted:
            expected = PostDeleted
        else:
            expected = self.model.posts_of({person.uid}, pid + 1)[0]
        try:
            found = one_post(self.viewer(viewer), name, pid)
        except (NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted) as error:
            found = type(error)
        assert found == expected

    def check_the_keys(self):
        """Only while nobody's work is undone."""
        people, raw = self.model.people, self.raw
        gone = self.model.gone
        assert raw.hgetall("users") == {one.name.lower(): str(uid) for uid, one in (people | gone).items()}
        secrets = raw.hgetall("auths")
        for uid, one in gone.items():
            assert secrets.pop(one.secret, str(uid)) == str(uid)  # who dies leaves it, and it opens nothing
            assert raw.hgetall(f"user:{uid}") == {"username": one.name, "deleted": raw.hget(f"user:{uid}", "deleted")}
            assert not any(raw.exists(f"{kind}:{uid}") for kind in ("following", "followers", "updates"))
        assert secrets == {one.secret: str(one.uid) for one in people.values()}
        registered = {one.name: one.registered for one in people.values()}
        assert dict(raw.zrange("users_by_time", 0, -1, withscores=True)) == registered
        for uid, one in people.items():
            stored = {"username": one.name, "password": hashed(one.password), "auth": one.secret}
            held = raw.hgetall(f"user:{uid}")
            seen = held.pop("seen", None)
            assert (held.pop("name", ""), held.pop("bio", "")) == (one.shown, one.bio)
            assert held == stored
            assert seen is None or raw.exists(f"post:{seen}")
            for side in ("following", "followers"):
                edges = {str(them): since for them, since in getattr(self.model, side)(uid).items()}
                assert dict(raw.zrange(f"{side}:{uid}", 0, -1, withscores=True)) == edges
            written = {str(post.pid): post.pid for post in self.model.posts_of({uid})}
            assert dict(raw.zrange(f"updates:{uid}", 0, -1, withscores=True)) == written
        assert self.found_by() <= name_entries(raw).keys()
        assert set(name_entries(raw).values()) <= {0}
        followers = {str(uid): self.model.counts(uid).followers for uid in people}
        assert ranking(raw) == {uid: count for uid, count in followers.items() if count}
        pipe = raw.pipeline(transaction=False)
        for pid in self.model.posts:
            pipe.hget(f"post:{pid}", "body")
            pipe.ttl(f"post:{pid}")
        replies = pipe.execute()
        for post, body, ttl in zip(self.model.posts.values(), replies[::2], replies[1::2], strict=True):
            assert (body, ttl > 0) == (("", True) if post.deleted else (post.body, False))

    def found_by(self):
        return {entry for one in self.model.people.values() for entry in one.found_by}

    def check_nothing_is_left_over(self):
        """After `cleanup`."""
        assert name_entries(self.raw).keys() == self.found_by()
        assert set(self.raw.keys("user:*")) == {f"user:{uid}" for uid in self.model.people | self.model.gone}
        assert set(self.raw.keys("post:*")) == {f"post:{pid}" for pid in self.model.posts}
        standing_posts = {str(post.pid) for post in self.model.posts_of(self.model.people)}
        for key in (*self.raw.keys("timeline*"), *self.raw.keys("posts:*")):
            assert {entry for entry in self.raw.lrange(key, 0, -1) if entry.isdigit()} - {"0"} <= standing_posts

    def check_everything(self):
        self.finish()
        drain(self.store, "worker")
        self.check_the_keys()
        self.check_who_is_signed_in()
        self.check_everybody(None, 5)
        for person in self.model.people.values():
            self.check_home(person.uid, None)
            self.check_profile(min(self.model.people), person.name, None)
            for side in ("followers", "following"):
                for show in Show:
                    self.check_people(None, person.name, side, 0, show)
