"""A hypothesis state machine that uses the site at random: each rule is an action of a user or of the operator.

Every rule also changes the model (`model.py`). With `dies`, the process is killed before that round trip of the
action. The checks are in `checks.py`; `posting.py` and `conversing.py` have the rules about posts,
`sessions.py` those about logins.
"""

import contextlib
import io
import sys

from django.core.management import call_command
from hypothesis import strategies as st
from hypothesis.stateful import consumes, initialize, multiple, precondition, rule

from accounts.users.deletion import AccountDeletion
from accounts.users.entities import NameTaken, NotSignedIn, User
from accounts.users.name_index import NameIndex
from accounts.users.registration import Registration
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.protocols.site.checks import CLOCK, KILLED, NO_ID, hashed
from tests.support.protocols.site.model import Person
from tests.support.protocols.site.posting import DIES, forms, people
from tests.support.protocols.site.sessions import NAMES, PASSWORDS, SessionRules
from tests.support.stores.key_layouts import noted
from timeline.people.entities import Show
from timeline.posts.entities import NewPost
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

DISPLAY_NAMES = st.sampled_from(["", "Alice", "Bob", "Ann of Cleves", "\u00dcnal: Ann:1"])
BIOS = st.sampled_from(["", "Queen for half a year."])
BELOW = st.none() | st.integers(1, 150)
SIDES = st.sampled_from(["followers", "following"])


class SiteMachine(SessionRules):
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
            self._post(me, NewPost("Hello"), None)
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
            self.check_that_all_agrees()
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
        with_replies=st.booleans(),
    )
    def read_about(self, viewer, name, before, side, row, show, with_replies):
        self.check_profile(viewer, name, before, with_replies)
        # The rows leave out people with a block between them and the viewer; those of the model do not.
        self.check_people(None if self.model.blocks else viewer, name, side, row, show)

    @rule(viewer=st.none() | people, name=NAMES, form=forms)
    def read_a_post(self, viewer, name, form):
        self.check_post(viewer, name, self.became.get(form, NO_ID))

    @rule(viewer=st.none() | people, form=forms)
    def read_a_thread(self, viewer, form):
        if form in self.became and form[0] in self.model.people:
            self.check_thread(viewer, self.model.people[form[0]].name, self.became[form])
