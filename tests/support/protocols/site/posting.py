"""The rules of a state machine that uses the site at random: posts and follows."""

import itertools

from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, multiple, precondition, rule

from tests.support.protocols.site.checks import CLOCK, KILLED, NO_ID, SiteChecks
from tests.support.protocols.site.model import ModelPost
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, Published
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows

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
