"""A site, and actions on it that are killed between any two commands: by SIGKILL, in processes of their own, or in the
process of the test.

Each action dies after 0 commands, or round trips, that may write, after 1, and so on, until it ends before that. A
killed action has no effect, or its full effect.
"""

from django.core.management import call_command

from accounts.signing_in.viewer import Viewer
from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from tests.support.command_output import report_of
from tests.support.people import register
from tests.support.processes.victims import KILLED
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.protocols.relations import assert_relations_agree
from tests.support.runs import sampling
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows, Likes
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

ALICE, BOB, CAROL = 1, 2, 3
NO_KILL = 10**9  # commands that may write
FEWEST = 8  # commands of an action; with fewer, its commands were not counted
MOST = 300  # commands of an action that may write
KILLS_IN_A_SAMPLE = 4


class Scene:
    """A site, made anew for each kill: bob and carol follow alice, and like her one post."""

    def __init__(self, cut, victims, administrator):
        self.cut = cut
        self.victims = victims
        self.raw = administrator

    def begin(self):
        self.raw.flushall()
        Memory.clear_all()
        store = connect()
        self.alice, self.bob, self.carol = (register(store, name) for name in ("alice", "bob", "carol"))
        for fan in (BOB, CAROL):
            Follows(store).follow(fan, ALICE)
        self.pid = publish(self.raw, store, self.alice, "Before")
        for fan in (BOB, CAROL):
            Likes(store).like(fan, self.pid, ALICE)
        for login in (self.alice, self.bob):  # carol has no home yet
            self.home(login)
        self.everyone()

    def home(self, login):
        return [post.body for post in Homes(connect()).page(Viewer(connect(), self.secret(login)), None).page.posts]

    def everyone(self):
        return [post.body for post in EveryoneTimeline(connect()).page(Viewer(connect(), ""), None, 50).page.posts]

    def secret(self, login):
        return self.raw.hget(f"user:{login.user.uid}", "auth")

    def finish_jobs(self):
        """Some minutes pass: leases end, every job is due but the end of a sanction, and `deliver --once` runs. A job
        that it adds waits for the next run."""
        Memory.clear_all()
        for _ in range(3):
            for lease in self.raw.keys("lease:*"):
                self.raw.delete(lease)
            for job in self._due():
                self.raw.zadd("outbox", {job: 1})
            call_command("deliver", "--once", verbosity=0)
            if not self._due():
                return
        raise AssertionError(self._due())

    def _due(self):
        return [job for job in self.raw.zrange("outbox", 0, -1) if not job.startswith("sanction_end:")]


def kill_at_every_command(scene, capsys, work, check, moments=range(MOST), fewest=FEWEST):
    """Repeat `work`, killed after one more command that may write each time, or after each of these numbers. After each
    kill, run `check` and `doctor`. A sample draws some of the kills; in the process of the test, each third one runs by
    day. `fewest`: commands that it sends at least."""
    if sampling.CASES:
        scene.begin()
        scene.cut.after(NO_KILL)
        scene.victims.run(**work(scene))
        possible = [writes for writes in moments if writes < scene.cut.writes]
        moments = [*sampling.some(possible, KILLS_IN_A_SAMPLE), NO_KILL]
    for writes in moments[:: scene.cut.stride]:
        scene.begin()
        prepared = work(scene)
        scene.cut.after(writes)
        ended = scene.victims.run(**prepared)
        where = f"killed after {writes} writes, the last command {scene.cut.last}"
        assert ended in {0, KILLED}, where
        scene.finish_jobs()
        check(scene, where, ended == 0)
        assert_relations_agree(scene.raw, where)
        assert_conversations_agree(scene.raw, where)
        errors = report_of(capsys)[1]["errors"]
        assert errors == [], (where, errors)
        if ended == 0:
            assert scene.cut.passed >= fewest
            return
    raise AssertionError("it never ended before the kill")
