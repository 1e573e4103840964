"""A hypothesis state machine that uses the site at random: each rule is an action of a user or of the operator.

Every rule also changes the model (`site_model.py`). With `dies`, the process is killed before that round trip of the
action. The checks are in `site_checks.py`.
"""

import contextlib
import io
import itertools
import sys

from django.contrib.auth import authenticate
from django.core.management import call_command
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, multiple, precondition, rule

from accounts.signing_in.sessions import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import NameTaken, NotSignedIn, User, Visitor
from accounts.users.name_index import NameIndex
from accounts.users.registration import Registration
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.protocols.site_checks import CLOCK, KILLED, NO_ID, SiteChecks, hashed
from tests.support.protocols.site_model import ModelPost, Person
from tests.support.stores.key_layouts import noted
from timeline.people.entities import Show
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, Published
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

INLINE_LIMIT = 1  # followers; a post for more is left to a worker
MOST_LATE = 4  # late pushes; lists of these sizes stay correct with so many

NAMES = st.sampled_from(["alice", "Alice", "ALICE", "bob", "Bob", "carol", "dora", "Dora", "erin", "frank"])
PASSWORDS = st.sampled_from(["correct horse", "battery staple", "Tr0ub4dor&3"])
DISPLAY_NAMES = st.sampled_from(["", "Alice", "Bob", "Ann of Cleves", "\u00dcnal: Ann:1"])
BIOS = st.sampled_from(["", "Queen for half a year."])
BODIES = st.sampled_from(["Hello", "Good morning", "Is anybody here?"])
BELOW = st.none() | st.integers(1, 150)
SIDES = st.sampled_from(["followers", "following"])
DIES = st.sampled_from([*[None] * 16, *range(12)])  # the round trip before which the process is killed; mostly None
LOOKS = st.booleans()  # whether the user reads their home afterwards


class SiteMachine(SiteChecks):
    people = Bundle("people")  # uids
    forms = Bundle("forms")  # (uid, token) of the post forms that were sent

    def __init__(self):
        super().__init__()
        self.numbers = itertools.count()
        self.last = None  # the last form that was sent
        self.became = {}  # the id of the post, by form
        self.late = 0  # ids that were pushed after higher ids

    def teardown(self):
        if sys.exc_info()[0] is None:
            self.check_everything()

    # ---- accounts

    @initialize(target=people)
    def three_people(self):
        """Three users with posts and homes. Two follow alice, so a worker delivers her posts."""
        for name in ("Alice", "bob", "carol"):
            self._register(name, "correct horse", None)
        for me, them in ((2, 1), (3, 1), (1, 2)):
            self._change_edge(me, them, "follow", None)
        for me in self.model.people:
            self._post(me, "Hello", None)
        drain(self.store, "worker")
        self.check_everyone(None, 5)
        for me in self.model.people:
            self.check_home(me, None)
        return multiple(*self.model.people)

    @rule(target=people, name=NAMES, password=PASSWORDS, dies=DIES)
    def register(self, name, password, dies):
        person = self._register(name, password, dies)
        return person.uid if person else multiple()

    def _register(self, name, password, dies):
        taken = self.model.named(name) or self.model.deleted_user(name)
        try:
            login = self.carry_out(lambda: Registration(self.store).register(name, hashed(password)), dies)
        except NameTaken:
            assert taken
            return None
        if login is KILLED:
            self.finish()
        uid = int(self.raw.hget("users", name.lower()) or 0)
        if taken:
            assert (login, uid) == (KILLED, taken.uid)
            return None
        if not uid:
            assert login is KILLED
            return None
        when, secret = self.raw.zscore("users_by_time", name), self.raw.hget(f"user:{uid}", "auth")
        if login is not KILLED:
            assert (login.user, login.secret, CLOCK.now) == (User(uid, name), secret, when)
        self.model.people[uid] = Person(uid, name, int(when), password, secret)
        return self.model.people[uid]

    @rule(name=NAMES, password=PASSWORDS, dies=DIES)
    def sign_in(self, name, password, dies):
        person = self.model.named(name)
        login = self.carry_out(lambda: authenticate(None, username=name, password=password), dies)
        if login is KILLED:
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
        if result is not KILLED:
            assert secret != person.secret
            assert result in (None, secret)
        if secret != person.secret:
            assert Viewer(self.store, person.secret).user == Visitor()
            self.model.ended.add(person.secret)
            person.secret, person.password = secret, password
        assert stored == hashed(person.password)

    @rule(me=people, display_name=DISPLAY_NAMES, bio=BIOS, dies=DIES)
    def edit(self, me, display_name, bio, dies):
        person = self.model.people[me]
        result = self.carry_out(lambda: NameIndex(self.store).edit(person.user, display_name, bio), dies)
        stored = tuple(field or "" for field in self.raw.hmget(f"user:{me}", "name", "bio"))
        before, after = (person.display_name, person.bio), (display_name, bio)
        assert stored in ({before, after} if result is KILLED else {after})
        person.display_name, person.bio = stored

    @precondition(lambda self: len(self.model.people) > 2)
    @rule(target=people, me=consumes(people), dies=st.sampled_from([None, None, None, None, 0, 1, 2, 3]))
    def delete_the_account(self, me, dies):
        """A later rule lets a worker remove its data."""
        person = self.model.people[me]
        result = self.carry_out(lambda: AccountDeletion(self.store).delete(person.user, person.secret), dies)
        deleted = self.raw.hexists(f"user:{me}", "deleted")
        assert deleted or result is KILLED
        if not deleted:
            return me
        self.unsettled = True
        self.model.delete_account(me)
        return multiple()

    # ---- posts and follows

    @rule(target=forms, me=people, body=BODIES, dies=DIES, looks=LOOKS)
    def post(self, me, body, dies, looks):
        form = self._post(me, body, dies)
        self._look(me, looks)
        return form

    @precondition(lambda self: len(self.model.posts) < 120)
    @rule(target=forms, me=people, number=st.integers(6, 30), dies=st.none() | st.integers(2, 9), looks=LOOKS)
    def post_much(self, me, number, dies, looks):
        """With `dies`, every request is killed."""
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
        """A second click, or a retry after a failure. Without `form` it is the last form."""
        form = form or self.last
        if form[0] not in self.model.people:
            self._send_without_account(form, body, dies)
            return
        if form not in self.became:
            self.late += 1
            self._send(form, body, dies)
            return
        self.late += self.unsettled
        post, published = self.model.posts[self.became[form]], self._publish(form, body, dies)
        if published is not KILLED:
            bodies = {"", post.body} if self.unsettled else {"" if post.deleted else post.body}
            assert published in {Published(self.became[form], body) for body in bodies}

    def _send(self, form, body, dies):
        """Send a form that has not become a post. After a killed request, the text of that request counts."""
        me, token = form
        begun = self.raw.get(f"idem:{me}:{token}")
        text = self.raw.hget(f"post:{begun}", "body") or body
        published = self._publish(form, body, dies)
        pid = self._committed(form) if published is KILLED else published.pid
        if pid is None:
            return
        assert pid not in self.model.posts
        assert published in (KILLED, Published(pid, text))
        assert pid == int(begun or self.layout.newest(self.raw))
        when = int(self.raw.hget(f"post:{pid}", "time"))
        assert begun or when == CLOCK.now
        self.late += pid in self.waiting()
        self.became[form] = pid
        self.model.posts[pid] = ModelPost(me, text, when)

    def _send_without_account(self, form, body, dies):
        """Send a form of a user whose account was deleted meanwhile. The post is removed."""
        self.finish()
        before = set(self.model.posts)
        published = self.carry_out(lambda: Posts(self.store).publish(*form[:1], NewPost(body), form[1]), dies)
        self.settle()
        pid = int(self.raw.get(f"idem:{form[0]}:{form[1]}") or 0)
        if published is not KILLED and pid not in before:
            self.model.posts[pid] = ModelPost(form[0], "", int(self.raw.hget(f"post:{pid}", "time")), deleted=True)

    def _publish(self, form, body, dies):
        me, token = form
        limit = INLINE_LIMIT if self.late < MOST_LATE else 1000
        with override_settings(DELIVER_INLINE_LIMIT=limit):
            published = self.carry_out(lambda: Posts(self.store).publish(me, NewPost(body), token), dies)
        if not self.unsettled and form not in self.became:
            assert (published.pid in self.waiting()) == (len(self.model.followers(me)) > limit)
        return published

    def _committed(self, form):
        """The id of the post of a killed request; None when it was killed before the commit."""
        me, token = form
        pid = int(self.raw.get(f"idem:{me}:{token}") or 0)
        has_job = str(pid) in self.jobs("post") | self.jobs("fan")
        return pid if has_job or self.raw.zscore(f"updates:{me}", pid) is not None else None

    @rule(me=st.none() | people, form=forms, dies=DIES, looks=LOOKS)
    def delete(self, me, form, dies, looks):
        """Delete an own post, a post of another user, or a post that does not exist."""
        me = me or form[0]
        if me not in self.model.people:
            return
        self._delete(me, self.became.get(form, NO_ID), dies)
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
        if done is not KILLED:
            assert mine
            assert self.unsettled or not post.deleted
            post.deleted = True
        elif mine:  # a job in the outbox finishes it
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
        assert since in ({before, after} if done is KILLED else {after})
        if since is not None:
            self.model.since[me, them] = int(since)

    def _look(self, me, looks):
        """Read the first page of the own home."""
        if looks and not self.unsettled:
            self.check_home(me, None, most=1)

    # ---- time, caches and upkeep

    @rule(me=people, what=st.sampled_from(["home", "timeline", "memory", "second", "minute"]))
    def something_is_lost(self, me, what):
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
        """Read pages while work is unfinished. The reader may be killed, too; neither may do harm."""
        with contextlib.suppress(NotSignedIn):
            self.carry_out_safely(lambda: Homes(self.store).page(self.viewer(me), None), dies)
        self.carry_out_safely(lambda: EveryoneTimeline(self.store).page(self.viewer(None), None, 5), dies)

    @rule(what=st.sampled_from(["deliver", "deliver", "cleanup"]), dies=DIES)
    def upkeep(self, what, dies):
        if what == "deliver":
            self.carry_out(lambda: drain(self.store, "worker"), dies)
        else:
            self.carry_out_safely(lambda: call_command("cleanup", stdout=io.StringIO()), dies)
        if self.unsettled or dies is not None:
            return
        self.check_the_keys()
        if what == "deliver":
            assert noted(self.raw) == []
        else:
            self.check_no_orphans()

    # ---- reading

    @rule(me=people, before=BELOW, size=st.sampled_from([2, 5]))
    def read_timelines(self, me, before, size):
        self.check_home(me, before)
        self.check_everyone(before, size)

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
        self.check_post(viewer, name, self.became.get(form, NO_ID))
