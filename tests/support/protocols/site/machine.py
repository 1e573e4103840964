"""A hypothesis state machine that uses the site at random: each rule is an action of a user or of the operator.

Every rule also changes the model (`model.py`). With `dies`, the process is killed before that round trip of the
action. The checks are in `checks.py`. First stand the rules about posts, then those about logins.
"""

import contextlib
import itertools
import sys

from django.contrib.auth import authenticate
from django.core.management import call_command
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, multiple, precondition, rule

from accounts.signing_in.sessions import entities
from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import SessionChecks, Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion, Registration
from accounts.users.entities import NameTaken, NotSignedIn, User, Visitor
from accounts.users.names import NameIndex
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.command_output import findings_of
from tests.support.protocols.site.checks import CLOCK, KILLED, NO_ID, SiteChecks, hashed
from tests.support.protocols.site.model import ModelPost, Person
from tests.support.stored_keys import noted
from timeline.people.lists import Show
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, Published, TargetBlocked, TargetDeleted
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Follows, Likes, Mutes
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

# ---- Posts and follows.


INLINE_LIMIT = 1  # followers; a post for more is left to a worker
MOST_LATE = 4  # late pushes; lists of these sizes stay correct with so many

BODIES = st.sampled_from(["Hello", "Good morning", "Is anybody here?"])
DIES = st.sampled_from([*[None] * 16, *range(12)])  # the round trip before which the process is killed; mostly None
MANY = st.sampled_from([*range(6, 31), 60])  # 60 are more than a list keeps
LOOKS = st.booleans()  # whether the user reads their home afterwards

people = Bundle("people")  # uids
forms = Bundle("forms")  # (uid, token) of the post forms that were sent


class PostRules(SiteChecks):
    def __init__(self):
        super().__init__()
        self.numbers = itertools.count()
        self.last = None  # the last form that was sent
        self.became = {}  # the id of the post, by form
        self.late = 0  # ids that were pushed after higher ids

    @rule(target=forms, me=people, body=BODIES, dies=DIES, looks=LOOKS)
    def post(self, me, body, dies, looks):
        form = self._post(me, NewPost(body), dies)
        self._look(me, looks)
        return form

    @precondition(lambda self: len(self.model.posts) < 120)
    @rule(target=forms, me=people, number=MANY, dies=st.none() | st.integers(2, 9), looks=LOOKS)
    def post_much(self, me, number, dies, looks):
        """With `dies`, every request is killed."""
        sent = [self._post(me, NewPost("Hello"), dies) for _ in range(number)]
        self._look(me, looks)
        return multiple(*sent)

    def _post(self, me, new, dies):
        form = (me, f"token{next(self.numbers)}")
        self.last = form
        self._send(form, new, dies)
        return form

    @rule(form=st.none() | forms, body=BODIES, dies=DIES)
    def send_a_form_again(self, form, body, dies):
        """A second click, or a retry after a failure. Without `form` it is the last form."""
        form, new = form or self.last, NewPost(body)
        if form[0] not in self.model.people:
            self._send_without_account(form, new, dies)
            return
        if form not in self.became:
            self.late += 1
            self._send(form, new, dies)
            return
        self.late += self.unsettled
        post, published = self.model.posts[self.became[form]], self._publish(form, new, dies)
        if published is not KILLED:
            bodies = {"", post.body} if self.unsettled else {"" if post.deleted else post.body}
            assert published in {Published(self.became[form], body) for body in bodies}

    def _send(self, form, new, dies):
        """Send a form that has not become a post. After a killed request, what that request has written counts."""
        me, token = form
        begun = self.raw.get(f"idem:{me}:{token}")
        before = self.raw.hgetall(f"post:{begun}")
        published = self._publish(form, new, dies)
        pid = self._committed(form) if published is KILLED else published.pid
        if pid is None:
            return
        assert pid not in self.model.posts
        if before:
            reply_to, quote = (int(before[name]) if name in before else None for name in ("reply_to", "quote"))
            new = NewPost(before.get("body", new.body), reply_to, quote)  # it may have been killed before the body
        assert published in (KILLED, Published(pid, new.body))
        assert pid == int(begun or self.layout.newest(self.raw))
        when = int(self.raw.hget(f"post:{pid}", "time"))
        assert begun or when == CLOCK.now
        self.late += pid in self.waiting()
        self.became[form] = pid
        self.model.posts[pid] = ModelPost(me, new.body, when, reply_to=new.reply_to, quote=new.quote)

    def _send_without_account(self, form, new, dies):
        """Send a form of a user whose account was deleted meanwhile. The post is removed."""
        self.finish()
        before = set(self.model.posts)
        published = self.carry_out(lambda: Posts(self.store).publish(form[0], new, form[1]), dies)
        self.settle()
        pid = int(self.raw.get(f"idem:{form[0]}:{form[1]}") or 0)
        if published is not KILLED and pid not in before:
            self.model.posts[pid] = ModelPost(form[0], "", int(self.raw.hget(f"post:{pid}", "time")), deleted=True)

    def _publish(self, form, new, dies):
        me, token = form
        limit = INLINE_LIMIT if self.late < MOST_LATE else 1000
        with override_settings(DELIVER_INLINE_LIMIT=limit):
            published = self.carry_out(lambda: Posts(self.store).publish(me, new, token), dies)
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
        for pid in self.model.posts_of({me})[:number]:
            self._delete(me, pid, None)
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
        after = (before or CLOCK.now) if verb == "follow" and not self.model.blocked(me, them) else None
        done = self.carry_out(lambda: getattr(Follows(self.store), verb)(me, them), dies)
        if done is KILLED and self.model.blocked(me, them):
            self.finish()  # the follow may stand until a worker has seen the block
        since = self.raw.zscore(f"following:{me}", them)
        assert since in ({before, after} if done is KILLED else {after})
        if since is not None:
            self.model.since[me, them] = int(since)

    def _look(self, me, looks):
        """Read the first page of the own home."""
        if looks and not self.unsettled:
            self.check_home(me, None, most=1)


# ---- Replies, quotes, edits, likes, reposts, blocks and mutes. What an earlier killed process has left is
# finished first, so that it is known which posts stand.


CACHED = 6  # seconds; numbers of posts are as old as that at most


class ConversationRules(PostRules):
    @precondition(lambda self: len(self.model.posts) < 120)
    @rule(target=forms, me=people, to=forms, named=st.sampled_from(["reply_to", "quote"]), dies=DIES, looks=LOOKS)
    def answer_or_quote(self, me, to, named, dies, looks):
        self.finish()
        pid = self.became.get(to)
        if pid is None:
            return self._post(me, NewPost("Hello"), None)
        target = self.model.posts[pid]
        new = NewPost("Indeed", **{named: pid})
        try:
            form = self._post(me, new, dies)
        except TargetDeleted:
            assert target.deleted
            return to
        except TargetBlocked:
            assert self.model.blocked(me, target.author)
            return to
        assert self.became.get(form) is None or self._acts_on(me, pid)
        CLOCK.sleep(CACHED)
        self._look(me, looks)
        return form

    @rule(form=forms, body=BODIES, dies=DIES)
    def edit_a_post(self, form, body, dies):
        self.finish()
        pid = self.became.get(form)
        if pid is None or form[0] not in self.model.people:
            return
        post = self.model.posts[pid]
        if post.deleted:
            with contextlib.suppress(NoSuchPost, PostDeleted):
                assert self.carry_out(lambda: Posts(self.store).edit(form[0], pid, body), dies) is KILLED
            return
        self.carry_out(lambda: Posts(self.store).edit(form[0], pid, body), dies)
        self.finish()
        stored = self.raw.hget(f"post:{pid}", "body")
        assert stored == body or (dies is not None and stored == post.body)
        post.edited |= stored != post.body
        post.body = stored
        CLOCK.sleep(CACHED)

    @rule(me=people, form=forms, verb=st.sampled_from(["like", "like", "unlike"]), dies=DIES)
    def like_or_unlike(self, me, form, verb, dies):
        self.finish()
        pid = self.became.get(form)
        if not self._acts_on(me, pid):
            return
        act = getattr(Likes(self.store), verb)
        done = self.carry_out(lambda: act(me, pid, form[0]), dies)
        liked = self.raw.zscore(f"likes:{me}", pid) is not None
        assert liked == (verb == "like") or (done is KILLED and liked == ((me, pid) in self.model.likes))
        (self.model.likes.add if liked else self.model.likes.discard)((me, pid))
        CLOCK.sleep(CACHED)

    @rule(me=people, form=forms, verb=st.sampled_from(["repost", "repost", "undo"]), dies=DIES, looks=LOOKS)
    def repost_or_undo(self, me, form, verb, dies, looks):
        self.finish()
        pid = self.became.get(form)
        if not self._acts_on(me, pid):
            return
        act, before = getattr(Reposts(self.store), verb), self.model.reposts.pop((me, pid), None)
        done = self.carry_out(lambda: act(me, pid, form[0]), dies)
        own = self.raw.zscore(f"reposts:{me}", pid)
        if done is not KILLED:
            assert (own is not None) == (verb == "repost")
        assert before is None or own in (None, before)
        if own is not None:
            self.model.reposts[me, pid] = int(own)
        CLOCK.sleep(CACHED)
        self._look(me, looks)

    def _acts_on(self, me, pid):
        """Whether a button on this post leads to a change."""
        post = self.model.posts.get(pid)
        return post is not None and not post.deleted and not self.model.blocked(me, post.author)

    @rule(me=people, nth=st.integers(0, 4), verb=st.sampled_from(["block", "unblock", "unblock"]), dies=DIES)
    def block_or_unblock(self, me, nth, verb, dies):
        them = self._another(me, nth)
        act = getattr(BlockedPeople(self.store), verb)
        self._hide((me, them), self.model.blocks, verb == "block", "blocked", lambda: act(me, them), dies)
        if (me, them) in self.model.blocks:
            self.model.block(me, them)

    @rule(me=people, nth=st.integers(0, 4), verb=st.sampled_from(["mute", "unmute"]), dies=DIES)
    def mute_or_unmute(self, me, nth, verb, dies):
        them = self._another(me, nth)
        act = getattr(Mutes(self.store), verb)
        self._hide((me, them), self.model.mutes, verb == "mute", "muted", lambda: act(me, them), dies)

    def _hide(self, edge, edges, hides, key, work, dies):
        self.finish()
        done = self.carry_out(work, dies)
        self.finish()
        stands = self.raw.zscore(f"{key}:{edge[0]}", edge[1]) is not None
        assert stands == hides or (done is KILLED and stands == (edge in edges))
        (edges.add if stands else edges.discard)(edge)


# ---- Logins, their ends, and passwords.


NAMES = st.sampled_from(["alice", "Alice", "ALICE", "bob", "Bob", "carol", "dora", "Dora", "erin", "frank"])
PASSWORDS = st.sampled_from(["correct horse", "battery staple", "Tr0ub4dor&3"])
DEVICES = st.sampled_from([Device("Firefox", "Linux"), Device("Safari", "iPhone"), Device("", "")])


class SessionRules(ConversationRules):
    @rule(name=NAMES, password=PASSWORDS, device=DEVICES, dies=DIES)
    def log_in(self, name, password, device, dies):
        person = self.model.named(name)
        verified = authenticate(None, username=name, password=password)
        if person is None or person.password != password:
            assert verified is None
            return
        assert verified.user == User(person.uid, person.name)
        before, known = self.standing(person.uid), self.raw.hgetall("auths").keys()
        secret = self.carry_out(lambda: Sessions(self.store).open(verified, device), dies)
        [*new] = self.raw.hgetall("auths").keys() - known
        self.model.may_be_stale.update(new)
        standing = self.standing(person.uid)
        if secret is not KILLED:
            assert new == [secret]
        elif len(standing) > entities.SESSIONS.most:  # a check ends what the login has not ended
            self.finish()
            checks = SessionChecks(self.store).inconsistencies()
            assert [finding.repair() for finding in findings_of(self.store, checks, "users with too many sessions")]
            standing = self.standing(person.uid)
        begun = {*new} & {*standing}
        assert begun == {*new} or secret is KILLED
        # The sessions used least recently end when there are too many.
        stay = before[-(entities.SESSIONS.most - 1) :] if begun else before
        assert {*standing} == {*stay} | begun
        self._become(person, standing)

    @rule(me=people, which=st.integers(0, entities.MOST_SESSIONS), dies=DIES)
    def log_out(self, me, which, dies):
        """One session ends; the official secret is replaced."""
        person = self.model.people[me]
        secret = sorted({person.secret, *person.sessions})[which % (len(person.sessions) + 1)]
        if secret == person.secret:
            work, kept = (lambda: Sessions(self.store).end(me, secret)), person.sessions
            self._new_secret(person, person.password, work, dies, kept)
            return
        result = self.carry_out(lambda: Sessions(self.store).end(me, secret), dies)
        standing = self.standing(me)
        assert {*standing} in ([person.sessions - {secret}, person.sessions][: 1 + (result is KILLED)])
        self.model.may_be_stale.add(secret)
        self._become(person, standing)

    @rule(me=people, dies=DIES)
    def log_out_everywhere(self, me, dies):
        person = self.model.people[me]
        self._new_secret(person, person.password, lambda: Sessions(self.store).end_all(me), dies)

    @rule(me=people, password=PASSWORDS, dies=DIES)
    def change_password(self, me, password, dies):
        person = self.model.people[me]
        self._new_secret(person, password, lambda: Sessions(self.store).change_password(me, hashed(password)), dies)

    def _new_secret(self, person, password, work, dies, kept=frozenset()):
        """Work that replaces the official secret, and ends all sessions but those that are kept."""
        result = self.carry_out(work, dies)
        secret, stored = self.raw.hmget(f"user:{person.uid}", "auth", "password")
        if result is not KILLED:
            assert secret != person.secret
        if secret != person.secret:
            assert Viewer(self.store, person.secret).user == Visitor()
            self.model.ended.add(person.secret)
            person.secret, person.password = secret, password
            self._become(person, kept)
        assert stored == hashed(person.password)
        assert {*self.standing(person.uid)} == person.sessions
        self.check_who_is_signed_in()

    def _become(self, person, sessions):
        """The person has these sessions from now on."""
        ended = person.sessions - {*sessions}
        person.sessions = {*sessions}
        self.model.ended |= ended
        for secret in ended:
            assert Viewer(self.store, secret).user == Visitor()
        for secret in person.sessions:
            assert Viewer(self.store, secret).user == person.user


# ---- All rules.


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
            user = self.carry_out(lambda: Registration(self.store).register(name, hashed(password)), dies)
        except NameTaken:
            assert taken
            return None
        if user is KILLED:
            self.finish()
        uid = int(self.raw.hget("users", name.lower()) or 0)
        if taken:
            assert (user, uid) == (KILLED, taken.uid)
            return None
        if not uid:
            assert user is KILLED
            return None
        when, secret = self.raw.zscore("users_by_time", name), self.raw.hget(f"user:{uid}", "auth")
        if user is not KILLED:
            assert (user, CLOCK.now) == (User(uid, name), when)
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
            self.carry_out_safely(lambda: call_command("cleanup", verbosity=0), dies)
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
