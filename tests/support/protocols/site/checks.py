"""Checks that compare the site with its model: what every page shows, and what every key holds.

Unfinished work of a killed process is finished before a check: an hour passes, and a worker runs.
"""

import contextlib
import functools
import io
import itertools
import json

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from hypothesis.stateful import RuleBasedStateMachine

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import AccountDeleted, NoSuchUser, Visitor
from retwis_site.exceptions import NotShown
from retwis_site.jobs.worker import drain
from retwis_site.store import cached_list
from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from tests.support.clock import Clock
from tests.support.people import LONG_AGO
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.protocols.relations import assert_relations_agree
from tests.support.protocols.site.model import Model
from tests.support.stored_keys import name_entries, noted, ranking
from tests.support.stores.seam import killed_before_round_trip
from timeline.conversation.repository import Threads
from timeline.people import directory
from timeline.people.directory import FollowPages
from timeline.people.lists import Cursor, Show
from timeline.posts.entities import NoSuchPost, Post, PostDeleted
from timeline.posts.reading.records import one_post
from timeline.timelines import everyone, pagination
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import Profiles, Tab

KILLED = object()  # the result of an action whose process was killed
MOST_PAGES = 300  # more than any list has
NO_ID = 10**9  # neither a post nor a user has this id

CLOCK = Clock()


@functools.cache
def hashed(password):
    return make_password(password)


def all_pages(read, before, most=MOST_PAGES):
    """The pages from a cursor to the end."""
    pages = [read(before)]
    while next_cursor(pages[-1]) is not None and len(pages) < most:
        pages.append(read(next_cursor(pages[-1])))
    assert len(pages) < MOST_PAGES, "paging does not end"
    return pages


def next_cursor(page):
    return getattr(page, "page", page).older


def edges_on(pages):
    assert all(len(page.edges) <= directory.PEOPLE_A_PAGE for page in pages)
    return [edge for page in pages for edge in page.edges]


class SiteChecks(RuleBasedStateMachine):
    """The test sets `as_redis_cli` and `layout`."""

    as_redis_cli = None  # a plain Redis client
    layout = None  # how the keys are split

    def __init__(self):
        super().__init__()
        self.store = connect()
        self.raw = self.as_redis_cli
        self.raw.flushall()
        self.layout.begin_at(1)
        Memory.clear_all()
        CLOCK.now = LONG_AGO
        self.model = Model()
        self.unsettled = False  # whether a killed process has left unfinished work

    # ---- doing things

    def carry_out(self, work, dies):
        """The result of the work, or KILLED: it was killed before round trip `dies`. The first round trip is 0."""
        result = self.carry_out_safely(work, dies)
        self.unsettled |= result is KILLED
        return result

    def carry_out_safely(self, work, dies):
        """Like `carry_out`, for work that leaves nothing unfinished when it is killed."""
        if dies is None:
            return work()
        results = []
        killed = killed_before_round_trip(dies, lambda: results.append(work()))
        return KILLED if killed else results[0]

    def finish(self):
        """Finish the work of killed processes: every job is due, no lease is held, and a worker runs."""
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
        """The ids in the names of the jobs of this kind."""
        names = [job.split(":") for job in noted(self.raw)]
        return {name[1] for name in names if name[0] == kind}

    def waiting(self):
        """The ids of posts whose delivery was left to a worker."""
        return {int(pid) for pid in self.jobs("fan")}

    def viewer(self, viewer):
        """With the official secret while the user has no session."""
        person = self.model.people[viewer] if viewer else None
        return Viewer(self.store, min(person.sessions, default=person.secret) if person else "")

    def standing(self, uid):
        """The secrets of the sessions that stand, as the user's hash has them: the one used most recently is last."""
        fields, found = self.raw.hgetall(f"user:{uid}"), []
        for name, value in fields.items():
            kind, _, secret = name.partition(":")
            since, generation = value.split(":")[:2] if kind == "session" else (0, None)
            if generation == fields.get("generation", ""):
                used = max(int(since) // 3600 * 3600, int(fields.get(f"used:{secret}", 0)))
                found.append((used, int(since), secret))
        return [secret for _, _, secret in sorted(found)]

    # ---- checks

    def check_who_is_signed_in(self):
        for secret in ("", *self.model.ended):
            assert Viewer(self.store, secret).user == Visitor()
        self.settle()
        for person in self.model.people.values():
            for secret in (person.secret, *person.sessions):
                assert Viewer(self.store, secret).user == person.user

    def check_home(self, me, before, most=MOST_PAGES):
        self.settle()
        pages = all_pages(lambda below: Homes(self.store).page(self.viewer(me), below), before, most)
        expected_viewer = (self.model.people[me].user, self.model.counts(me))
        assert {(page.viewer, page.counts) for page in pages} == {expected_viewer}
        # Until a worker has delivered a post, followers may see it or not.
        undelivered = {pid for pid in self.waiting() if self.model.posts[pid].author != me}
        self._check_listing(me, pages, pagination.POSTS_A_PAGE, self.model.home(me, before), undelivered)

    def _check_listing(self, viewer, pages, size, entries, undelivered=(), page_of=None):
        """The pages have each entry down to their end; of several of one post, a page has the first."""
        entries = [entry for entry in entries if entry[1] not in undelivered]
        for page in pages:
            posts = [post for post in page.page.posts if post.pid not in undelivered]
            assert len(page.page.posts) <= size
            end = next_cursor(page) or 0
            expected = {}
            for own, pid in entries:
                if own >= end:
                    expected.setdefault(pid, own)
            entries = [entry for entry in entries if entry[0] < end]
            assert {post.pid: post.listed for post in posts} == expected
            assert [post.listed for post in posts] == sorted(expected.values(), reverse=True)
            for post in posts:
                self.model.assert_looks_right(viewer, post, page_of)

    def check_everyone(self, before, size):
        """The global timeline has the newest posts. It may end before the first post, but then it says so."""
        self.settle()
        pages = all_pages(lambda below: EveryoneTimeline(self.store).page(self.viewer(None), below, size), before)
        assert pages[0].newest_users == self.model.newest_users()[: everyone.NEWEST_USERS]
        assert all(len(page.page.posts) <= size for page in pages)
        posts = [post for page in pages for post in page.page.posts]
        expected = self.model.posts_of(self.model.people, before)
        assert [post.pid for post in posts] == expected[: len(posts)]
        for post in posts:
            self.model.assert_looks_right(None, post)
        if len(posts) < len(expected):
            assert pages[-1].at_the_cap
            assert self.layout.newest(self.raw) - expected[len(posts)] >= cached_list.TRUSTED // self.layout.of

    def check_profile(self, viewer, name, before, with_replies=False):
        self.settle()
        person = self.model.named(name)
        tab = Tab.REPLIES if with_replies else Tab.POSTS
        error = None if person else self.missing_user_error(name)
        if person and (person.uid, viewer) in self.model.blocks:
            error = NotShown
        if error:
            with pytest.raises(error):
                Profiles(self.store).page(self.viewer(viewer), name, before, tab)
            return
        pages = all_pages(lambda below: Profiles(self.store).page(self.viewer(viewer), name, below, tab), before)
        expected = self.model.profile(viewer, person.uid, before, with_replies)
        self._check_listing(viewer, pages, pagination.POSTS_A_PAGE, expected, page_of=person.uid)
        about = (person.user, self.model.counts(person.uid), self.model.relation(viewer, person.uid))
        assert {(page.person, page.numbers.follows, page.relation) for page in pages} == {about}

    def missing_user_error(self, name):
        """The error for a name that no account has."""
        return AccountDeleted if self.model.deleted_user(name) else NoSuchUser

    def check_people(self, viewer, name, side, row, show=Show.ALL):
        """All pages, and the pages below a row. When the row is gone, the rows of the same second are shown again."""
        self.settle()
        person = self.model.named(name)

        def read(before):
            return FollowPages(self.store, side).page(self.viewer(viewer), name, before, show)

        if person is None:
            with pytest.raises(self.missing_user_error(name)):
                read(None)
            return
        expected = self.model.edges(viewer, person.uid, side, show)
        pages = all_pages(read, None)
        assert {page.person for page in pages} == {person.user}
        assert edges_on(pages) == expected
        if row < len(expected):
            since, uid = expected[row].since, expected[row].listed.user.uid
            assert edges_on(all_pages(read, Cursor(since, str(uid)))) == expected[row + 1 :]
            rest = [edge for edge in expected if edge.since <= since]
            assert edges_on(all_pages(read, Cursor(since, str(NO_ID)))) == rest

    def check_post(self, viewer, name, pid):
        self.settle()
        expected = self._error_of_post(viewer, name, pid)
        if expected:
            with pytest.raises(expected):
                one_post(self.viewer(viewer), name, pid)
            return
        post = one_post(self.viewer(viewer), name, pid)
        assert (post.pid, post.body, post.counts) == (pid, self.model.posts[pid].body, self.model.counts_of(pid))

    def _error_of_post(self, viewer, name, pid):
        person, post = self.model.named(name), self.model.posts.get(pid)
        if person is None:
            return self.missing_user_error(name)
        if self.model.blocked(viewer, person.uid):
            return NotShown
        if post is None or post.author != person.uid:
            return NoSuchPost
        return PostDeleted if post.deleted else None

    def check_thread(self, viewer, name, pid):
        """The page of a post. A branch that forks too often continues on another page."""
        self.settle()
        expected, author = self._error_of_post(viewer, name, pid), self.model.named(name).uid
        if expected is PostDeleted and self.model.shown_replies(viewer, pid, author):
            expected = None  # a tombstone
        if expected:
            with pytest.raises(expected):
                Threads(self.store).page(self.viewer(viewer), name, pid, None)
            return
        page = Threads(self.store).page(self.viewer(viewer), name, pid, None)
        assert page.after is None
        assert [post.pid for post in page.above] == list(self.model.above(pid))[:20][::-1]
        for post in (*page.above, page.post):
            assert isinstance(post, Post) == self.model.shows(viewer, post.pid, author)
            if isinstance(post, Post):
                self.model.assert_looks_right(viewer, post, author)
        self._check_branches(viewer, pid, page.replies, author)

    def _check_branches(self, viewer, pid, branches, author):
        assert [branch.posts[0].pid for branch in branches] == self.model.shown_replies(viewer, pid, author)
        for branch in branches:
            for post in branch.posts:
                assert isinstance(post, Post) == self.model.shows(viewer, post.pid, author)
                if isinstance(post, Post):
                    self.model.assert_looks_right(viewer, post, author)
            for higher, lower in itertools.pairwise(branch.posts):
                assert self.model.shown_replies(viewer, higher.pid, author) == [lower.pid]
            if branch.forks or not branch.has_more:
                self._check_branches(viewer, branch.posts[-1].pid, branch.forks, author)

    def check_the_keys(self):
        """Only while no work is unfinished."""
        people, raw = self.model.people, self.raw
        deleted = self.model.deleted
        assert raw.hgetall("users") == {one.name.lower(): str(uid) for uid, one in (people | deleted).items()}
        secrets = raw.hgetall("auths")
        for uid, one in deleted.items():
            # A killed process may leave the secret, which is signed out.
            assert secrets.pop(one.secret, str(uid)) == str(uid)
            assert raw.hgetall(f"user:{uid}") == {"username": one.name, "deleted": raw.hget(f"user:{uid}", "deleted")}
            assert not any(raw.exists(f"{kind}:{uid}") for kind in ("following", "followers", "updates"))
        for uid, one in people.items():
            assert {secrets.pop(secret, None) for secret in (one.secret, *one.sessions)} == {str(uid)}
        assert secrets.keys() <= self.model.may_be_stale
        registered = {one.name: one.registered for one in people.values()}
        assert dict(raw.zrange("users_by_time", 0, -1, withscores=True)) == registered
        for uid, one in people.items():
            stored = {"username": one.name, "password": hashed(one.password), "auth": one.secret}
            fields = raw.hgetall(f"user:{uid}")
            seen = fields.pop("seen", None)
            fields.pop("generation", None)
            opened = {name for name in fields if name.startswith(("session:", "used:"))}
            assert {name[8:] for name in opened if name[0] == "s"} == one.sessions == {*self.standing(uid)}
            assert {name[5:] for name in opened if name[0] == "u"} <= one.sessions | self.model.may_be_stale
            fields = {name: value for name, value in fields.items() if name not in opened}
            assert (fields.pop("name", ""), fields.pop("bio", "")) == (one.display_name, one.bio)
            assert fields == stored
            assert int(seen or 0) <= self.layout.newest(raw)  # the hash of a repost is gone when it is undone
            for side in ("following", "followers"):
                edges = {str(them): since for them, since in getattr(self.model, side)(uid).items()}
                assert dict(raw.zrange(f"{side}:{uid}", 0, -1, withscores=True)) == edges
            own_ids = [*self.model.posts_of({uid}), *(own for own, _ in self.model.reposts_of({uid}))]
            own_posts = {str(pid): pid for pid in own_ids}
            assert dict(raw.zrange(f"updates:{uid}", 0, -1, withscores=True)) == own_posts
        assert self.name_index() <= name_entries(raw).keys()
        assert set(name_entries(raw).values()) <= {0}
        followers = {str(uid): self.model.counts(uid).followers for uid in people}
        assert ranking(raw) == {uid: count for uid, count in followers.items() if count}
        pipe = raw.pipeline(transaction=False)
        for pid in self.model.posts:
            pipe.hget(f"post:{pid}", "body")
            pipe.ttl(f"post:{pid}")
        replies = pipe.execute()
        for (pid, post), body, ttl in zip(self.model.posts.items(), replies[::2], replies[1::2], strict=True):
            assert body == ("" if post.deleted else post.body)
            assert (ttl > 0) == (post.deleted and not self.model.answers(pid))

    def name_index(self):
        return {entry for one in self.model.people.values() for entry in one.index_entries}

    def check_no_orphans(self):
        """After `cleanup`."""
        secrets = {secret for one in self.model.people.values() for secret in (one.secret, *one.sessions)}
        assert self.raw.hgetall("auths").keys() == secrets
        assert name_entries(self.raw).keys() == self.name_index()
        assert set(self.raw.keys("user:*")) == {f"user:{uid}" for uid in self.model.people | self.model.deleted}
        reposts = {own for own, _ in self.model.reposts_of(self.model.people)}
        assert set(self.raw.keys("post:*")) == {f"post:{pid}" for pid in self.model.posts.keys() | reposts}
        existing = {str(pid) for pid in {*self.model.posts_of(self.model.people), *reposts}}
        for key in (*self.raw.keys("timeline*"), *self.raw.keys("posts:*")):
            assert {entry for entry in self.raw.lrange(key, 0, -1) if entry.isdigit()} - {"0"} <= existing

    def check_that_all_agrees(self):
        """Only while no work is unfinished."""
        assert_relations_agree(self.raw, "")
        assert_conversations_agree(self.raw, "")
        report = io.StringIO()
        with contextlib.suppress(SystemExit):
            call_command("doctor", "--json", stdout=report)
        errors = json.loads(report.getvalue())["errors"]
        assert errors == [], errors

    def check_everything(self):
        self.finish()
        drain(self.store, "worker")
        self.check_the_keys()
        self.check_that_all_agrees()
        self.check_who_is_signed_in()
        self.check_everyone(None, 5)
        viewer = min(self.model.people)
        for person in self.model.people.values():
            self.check_home(person.uid, None)
            for with_replies in (False, True):
                self.check_profile(viewer, person.name, None, with_replies)
            for side in ("followers", "following"):
                for show in Show:
                    self.check_people(None, person.name, side, 0, show)
        for pid, post in self.model.posts.items():
            if post.author in self.model.people and (post.reply_to is None or post.deleted):
                self.check_thread(viewer, self.model.people[post.author].name, pid)
