"""The rules of a state machine that uses the site at random: replies, quotes, edits, likes, reposts, blocks and mutes.

What an earlier killed process has left is finished first, so that it is known which posts stand.
"""

import contextlib

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.support.protocols.site.checks import CLOCK, KILLED
from tests.support.protocols.site.posting import BODIES, DIES, LOOKS, PostRules, forms, people
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, TargetBlocked, TargetDeleted
from timeline.posts.repository import Posts
from timeline.posts.writing.reposting import Reposts
from timeline.relations.block import BlockedPeople
from timeline.relations.like import Likes
from timeline.relations.mute import Mutes

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
