"""Whatever people do, in whatever order, and whoever dies on the way: pages show what a model of a few dicts shows.

Lists and pages are a twentieth of their real size, so that a few posts fill pages, cut lists, and lead below them.
"""

import contextlib
import io
import itertools
import sys
import time

import hypothesis
import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, multiple, precondition, rule, run_state_machine_as_test

from accounts.signing_in.sessions import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import NameTaken, NotSignedIn, User, Visitor
from accounts.users.name_index import NameIndex
from accounts.users.registration import Registration
from retwis_site.jobs.worker import drain
from retwis_site.management.commands import cleanup  # noqa: F401  so that the clock is its clock too
from retwis_site.store import cached_list, chunks
from retwis_site.store.local_cache import Memory
from tests.support.protocols.site_machine import CLOCK, DEAD, NOBODYS, Agreement, hashed
from tests.support.protocols.site_model import Person, Written
from tests.support.stores.key_layouts import noted
from timeline.people import follow_pages
from timeline.people.entities import Show
from timeline.posts import post_ids, repository
from timeline.posts.entities import NoSuchPost, PostDeleted, Published
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows
from timeline.timelines import everyone, global_list, home, pagination, profile
from timeline.timelines.everyone import GlobalTimeline
from timeline.timelines.home import Homes

EXAMPLES, STEPS = 60, 100

SIZES = {
    "KEPT": 50,
    "CUT_ABOVE": 55,
    "MAYBE_CUT_FROM": 45,
    "TRUSTED": 36,
    "MOST_PADDING": 5,
    "FIRST_READ": 12,
    "FIRST_TRUSTED": 6,
    "POSTS_A_PAGE": 3,
    "READ_MORE": 9,
    "PEOPLE_A_PAGE": 2,
    "COMPARED": 3,
    "SHORTEST_SLICE": 2,
    "MOST_PROLIFIC": 1,
    "LONG_SLICE": 12,
    "MOST_CHUNKS": 2,
    "RECENT": 100,
    "NEWEST_USERS": 3,
    "FOLLOWERS_AT_ONCE": 2,
    "FOLLOWERS_READ": 3,
    "AT_ONCE": 2,
}
# With several lists, each has its share of these.
SHARED = ("KEPT", "CUT_ABOVE", "MAYBE_CUT_FROM", "TRUSTED", "MOST_PADDING", "FIRST_READ", "FIRST_TRUSTED")
MODULES = (
    follow_pages,
    chunks,
    everyone,
    home,
    post_ids,
    cached_list,
    pagination,
    repository,
    profile,
    global_list,
)
MANY = 1  # followers; a post for more waits for the worker
LATE = 4  # ids pushed out of turn that lists of these sizes bear

NAMES = st.sampled_from(["alice", "Alice", "ALICE", "bob", "Bob", "carol", "dora", "Dora", "erin", "frank"])
PASSWORDS = st.sampled_from(["correct horse", "battery staple", "Tr0ub4dor&3"])
DISPLAY_NAMES = st.sampled_from(["", "Alice", "Bob", "Ann of Cleves", "\u00dcnal: Ann:1"])
BIOS = st.sampled_from(["", "Queen for half a year."])
BODIES = st.sampled_from(["Hello", "Good morning", "Is anybody here?"])
BELOW = st.none() | st.integers(1, 150)
SIDES = st.sampled_from(["followers", "following"])
DIES = st.sampled_from([*[None] * 16, *range(12)])  # before which round trip; mostly not
LOOKS = st.booleans()  # whether whoever did it then looks at their home


class Site(Agreement):
    people = Bundle("people")  # uids
    forms = Bundle("forms")  # (uid, token): forms with a text, that were sent

    def __init__(self):
        super().__init__()
        self.numbers = itertools.count()
        self.last = None  # the form that was sent last
        self.became = {}  # form: the post's id
        self.late = 0

    def teardown(self):
        if sys.exc_info()[0] is None:
            self.check_everything()

    # ---- who is who

    @initialize(target=people)
    def three_people(self):
        """Who have written and read something. Two follow alice, and so get her posts from the worker."""
        for name in ("Alice", "bob", "carol"):
            self._register(name, "correct horse", None)
        for me, them in ((2, 1), (3, 1), (1, 2)):
            self._change_edge(me, them, "follow", None)
        for me in self.model.people:
            self._post(me, "Hello", None)
        drain(self.store, "worker")
        self.check_everybody(None, 5)
        for me in self.model.people:
            self.check_home(me, None)
        return multiple(*self.model.people)

    @rule(target=people, name=NAMES, password=PASSWORDS, dies=DIES)
    def register(self, name, password, dies):
        person = self._register(name, password, dies)
        return person.uid if person else multiple()

    def _register(self, name, password, dies):
        taken = self.model.named(name) or self.model.who_left(name)
        try:
            login = self.carry_out(lambda: Registration(self.store).register(name, hashed(password)), dies)
        except NameTaken:
            assert taken
            return None
        if login is DEAD:
            self.finish()
        uid = int(self.raw.hget("users", name.lower()) or 0)
        if taken:
            assert (login, uid) == (DEAD, taken.uid)
            return None
        if not uid:
            assert login is DEAD
            return None
        when, secret = self.raw.zscore("users_by_time", name), self.raw.hget(f"user:{uid}", "auth")
        if login is not DEAD:
            assert (login.user, login.secret, CLOCK.now) == (User(uid, name), secret, when)
        self.model.people[uid] = Person(uid, name, int(when), password, secret)
        return self.model.people[uid]

    @rule(name=NAMES, password=PASSWORDS, dies=DIES)
    def sign_in(self, name, password, dies):
        person = self.model.named(name)
        login = self.carry_out(lambda: authenticate(None, username=name, password=password), dies)
        if login is DEAD:
            return
        if person is None or person.password != password:
            assert login is None
            return
        assert (login.user, login.secret) == (User(person.uid, person.name), person.secret)
        self.check_who_is_signed_in()

    @rule(me=people, dies=DIES)
    def log_out_everywhere(self, me, dies):
        person = self.model.people[me]
        self._new_secret(person, person.password, lambda: Sessions(self.store).end_all(me, person.secret), dies)

    @rule(me=people, password=PASSWORDS, dies=DIES)
    def change_password(self, me, password, dies):
        person = self.model.people[me]
        self._new_secret(person, password, lambda: Sessions(self.store).change_password(me, hashed(password)), dies)

    def _new_secret(self, person, password, work, dies):
        result = self.carry_out(work, dies)
        secret, stored = self.raw.hmget(f"user:{person.uid}", "auth", "password")
        if result is not DEAD:
            assert secret != person.secret
            assert result in (None, secret)
        if secret != person.secret:
            assert Viewer(self.store, person.secret).user == Visitor()
            self.model.ended.add(person.secret)
            person.secret, person.password = secret, password
        assert stored == hashed(person.password)

    @rule(me=people, shown=DISPLAY_NAMES, bio=BIOS, dies=DIES)
    def edit(self, me, shown, bio, dies):
        person = self.model.people[me]
        result = self.carry_out(lambda: NameIndex(self.store).edit(person.user, shown, bio), dies)
        found = tuple(field or "" for field in self.raw.hmget(f"user:{me}", "name", "bio"))
        before, after = (person.shown, person.bio), (shown, bio)
        assert found in ({before, after} if result is DEAD else {after})
        person.shown, person.bio = found

    @precondition(lambda self: len(self.model.people) > 2)
    @rule(target=people, me=consumes(people), dies=st.sampled_from([None, None, None, None, 0, 1, 2, 3]))
    def delete_the_account(self, me, dies):
        """A worker clears it, when one comes."""
        person = self.model.people[me]
        result = self.carry_out(lambda: AccountDeletion(self.store).delete(person.user, person.secret), dies)
        deleted = self.raw.hexists(f"user:{me}", "deleted")
        assert deleted or result is DEAD
        if not deleted:
            return me
        self.unsettled = True
        self.model.leave(me)
        return multiple()

    # ---- writing

    @rule(target=forms, me=people, body=BODIES, dies=DIES, looks=LOOKS)
    def post(self, me, body, dies, looks):
        form = self._post(me, body, dies)
        self._look(me, looks)
        return form

    @precondition(lambda self: len(self.model.posts) < 120)
    @rule(target=forms, me=people, number=st.integers(6, 30), dies=st.none() | st.integers(2, 9), looks=LOOKS)
    def post_much(self, me, number, dies, looks):
        """With `dies`, from a site that dies each time."""
        sent = [self._post(me, "Hello", dies) for _ in range(number)]
        self._look(me, looks)
        return multiple(*sent)

    def _post(self, me, body, dies):
        form = (me, f"token{next(self.numbers)}")
        self.last = form
        self._send(form, body, dies)
        return form

    @rule(form=st.none() | forms, body=BODIES, dies=DIES)
    def send_a_form_again(self, form, body, dies):
        """Any that was sent, or the last one: a second click, or when that had failed."""
        form = form or self.last
        if form[0] not in self.model.people:
            self._send_for_nobody(form, body, dies)
            return
        if form not in self.became:
            self.late += 1
            self._send(form, body, dies)
            return
        self.late += self.unsettled
        post, published = self.model.posts[self.became[form]], self._publish(form, body, dies)
        if published is not DEAD:
            stands = {"", post.body} if self.unsettled else {"" if post.deleted else post.body}
            assert published in {Published(self.became[form], body) for body in stands}

    def _send(self, form, body, dies):
        """A form that has become no post yet. Where its sender has died before, the text that was sent then stands."""
        me, token = form
        begun = self.raw.get(f"idem:{me}:{token}")
        text = self.raw.hget(f"post:{begun}", "body") or body
        published = self._publish(form, body, dies)
        pid = self._committed(form) if published is DEAD else published.pid
        if pid is None:
            return
        assert pid not in self.model.posts
        assert published in (DEAD, Published(pid, text))
        assert pid == int(begun or self.layout.newest(self.raw))
        when = int(self.raw.hget(f"post:{pid}", "time"))
        assert begun or when == CLOCK.now
        self.late += pid in self.waiting()
        self.became[form] = pid
        self.model.posts[pid] = Written(me, text, when)

    def _send_for_nobody(self, form, body, dies):
        """By somebody whose account went while they sent it. It is taken back."""
        self.finish()
        before = set(self.model.posts)
        published = self.carry_out(lambda: Posts(self.store).publish(*form[:1], body, form[1]), dies)
        self.settle()
        pid = int(self.raw.get(f"idem:{form[0]}:{form[1]}") or 0)
        if published is not DEAD and pid not in before:
            self.model.posts[pid] = Written(form[0], "", int(self.raw.hget(f"post:{pid}", "time")), deleted=True)

    def _publish(self, form, body, dies):
        me, token = form
        limit = MANY if self.late < LATE else 1000
        with override_settings(DELIVER_INLINE_LIMIT=limit):
            published = self.carry_out(lambda: Posts(self.store).publish(me, body, token), dies)
        if not self.unsettled and form not in self.became:
            assert (published.pid in self.waiting()) == (len(self.model.followers(me)) > limit)
        return published

    def _committed(self, form):
        """The id of the post whose author died while it was sent; None when that was too early."""
        me, token = form
        pid = int(self.raw.get(f"idem:{me}:{token}") or 0)
        noted = str(pid) in self.jobs("post") | self.jobs("fan")
        return pid if noted or self.raw.zscore(f"updates:{me}", pid) is not None else None

    @rule(me=st.none() | people, form=forms, dies=DIES, looks=LOOKS)
    def delete(self, me, form, dies, looks):
        """One's own post, or somebody else's, or one that never came to be."""
        me = me or form[0]
        if me not in self.model.people:
            return
        self._delete(me, self.became.get(form, NOBODYS), dies)
        self._look(me, looks)

    @rule(me=people, number=st.integers(2, 20), looks=LOOKS)
    def delete_the_newest(self, me, number, looks):
        for post in self.model.posts_of({me})[:number]:
            self._delete(me, post.pid, None)
        self._look(me, looks)

    def _delete(self, me, pid, dies):
        post = self.model.posts.get(pid)
        mine = post is not None and post.author == me
        try:
            done = self.carry_out(lambda: Posts(self.store).delete(me, pid), dies)
        except NoSuchPost:
            assert not mine
            return
        except PostDeleted:
            assert mine
            assert post.deleted
            return
        if done is not DEAD:
            assert mine
            assert self.unsettled or not post.deleted
            post.deleted = True
        elif mine:  # it is rolled forward once it was noted
            post.deleted |= str(pid) in self.jobs("del") or self.raw.hexists(f"post:{pid}", "deleted")

    @rule(me=people, nth=st.integers(0, 4), dies=DIES, looks=LOOKS)
    def follow(self, me, nth, dies, looks):
        self._change_edge(me, self._another(me, nth), "follow", dies)
        self._look(me, looks)

    @rule(me=people, nth=st.integers(0, 4), dies=DIES, looks=LOOKS)
    def unfollow(self, me, nth, dies, looks):
        self._change_edge(me, self._another(me, nth), "unfollow", dies)
        self._look(me, looks)

    def _another(self, me, nth):
        others = [uid for uid in self.model.people if uid != me]
        return others[nth % len(others)]

    def _change_edge(self, me, them, verb, dies):
        before = self.model.since.pop((me, them), None)
        after = (before or CLOCK.now) if verb == "follow" else None
        done = self.carry_out(lambda: getattr(Follows(self.store), verb)(me, them), dies)
        since = self.raw.zscore(f"following:{me}", them)
        assert since in ({before, after} if done is DEAD else {after})
        if since is not None:
            self.model.since[me, them] = int(since)

    def _look(self, me, looks):
        """At the top of one's home, as people do."""
        if looks and not self.unsettled:
            self.check_home(me, None, most=1)

    # ---- misfortunes, and what helps

    @rule(me=people, what=st.sampled_from(["home", "timeline", "memory", "second", "minute"]))
    def something_passes(self, me, what):
        match what:
            case "home":
                self.raw.unlink(f"posts:{me}")
            case "timeline":
                self.raw.unlink("timeline")
            case "memory":
                Memory.clear_all()
            case "second":
                CLOCK.sleep(1)
            case "minute":
                CLOCK.sleep(61)

    @rule(me=people, dies=DIES)
    def glance(self, me, dies):
        """Pages are read while somebody's work is undone, and the reader may die: nothing may come of that."""
        with contextlib.suppress(NotSignedIn):
            self.alone(lambda: Homes(self.store).page(self.viewer(me), None), dies)
        self.alone(lambda: GlobalTimeline(self.store).page(self.viewer(None), None, 5), dies)

    @rule(what=st.sampled_from(["deliver", "deliver", "cleanup"]), dies=DIES)
    def upkeep(self, what, dies):
        if what == "deliver":
            self.carry_out(lambda: drain(self.store, "worker"), dies)
        else:
            self.alone(lambda: call_command("cleanup", stdout=io.StringIO()), dies)
        if self.unsettled or dies is not None:
            return
        self.check_the_keys()
        if what == "deliver":
            assert noted(self.raw) == []
        else:
            self.check_nothing_is_left_over()

    # ---- reading

    @rule(me=people, before=BELOW, size=st.sampled_from([2, 5]))
    def read_timelines(self, me, before, size):
        self.check_home(me, before)
        self.check_everybody(before, size)

    @rule(
        viewer=st.none() | people,
        name=NAMES,
        before=BELOW,
        side=SIDES,
        row=st.integers(0, 5),
        show=st.sampled_from(Show),
    )
    def read_about(self, viewer, name, before, side, row, show):
        self.check_profile(viewer, name, before)
        self.check_people(viewer, name, side, row, show)

    @rule(viewer=st.none() | people, name=NAMES, form=forms)
    def read_a_post(self, viewer, name, form):
        self.check_post(viewer, name, self.became.get(form, NOBODYS))


@pytest.fixture
def small(layout, monkeypatch):
    """A site of small lists and pages, by a clock of its own."""
    for name, size in SIZES.items():
        if name in SHARED:
            size *= layout.of
        modules = [module for module in MODULES if hasattr(module, name)]
        assert modules, name
        for module in modules:
            monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(cached_list.merge, "__defaults__", (cached_list.KEPT,))
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("accounts", "retwis_site", "timeline") and vars(module).get("time") is time:
            monkeypatch.setattr(module, "time", CLOCK)


def test_the_site_shows_what_its_model_shows(layout, small, raw, sent, monkeypatch):
    monkeypatch.setattr(Agreement, "as_redis_cli", raw)
    monkeypatch.setattr(Agreement, "layout", layout)
    settings = hypothesis.settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(Site, settings=settings)
    # It got everywhere: lists were rebuilt, cut, and rid of dead ids, and workers had something to do. Where several
    # lists share the global timeline, a walk that is random fills none of them now and then.
    everywhere = {"LINSERT", "LREM", "HINCRBY"} | ({"LTRIM"} if layout.of == 1 else set())
    assert everywhere <= {command[0] for command in sent.commands}
