"""The check of the numbers in `post:` hashes: likes, reposts, replies and quotes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id, parse_number, stored_id
from timeline.posts.checks.post_checks import KINDS_OF_JOBS
from timeline.posts.writing.listings import QUOTES, REPLIES
from timeline.relations.checks.count_checks import miscounted
from timeline.relations.like import LIKE, LIKES
from timeline.relations.protocol.counts import Counts, PostCount
from timeline.relations.protocol.targets import ask_post_exists
from timeline.relations.repost import REPOST, REPOSTS

COUNTS = (LIKES, REPOSTS, REPLIES, QUOTES)


@dataclass(frozen=True)
class Miscount:
    """A post with a wrong number."""

    pid: int
    count: PostCount
    written: int
    right: int


class CountChecks:
    """Searches the numbers of posts, all in one walk. A repair relies on the checks of edges and listings, which run
    before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        return [Check("wrong numbers in post:", self.wrong_counts, self._store.dbsize)]

    def wrong_counts(self) -> Chunks:
        """Numbers that are missing or wrong. Six commands a post."""
        for pids in ids_of(self._store, "post:*"):
            yield [
                Finding(
                    f"post {one.pid} has {one.right} {one.count.name}, but its number is {one.written}",
                    partial(Counts(self._store, one.count).recount, [one.pid]),
                )
                for one in miscounted(pids, self._look, lambda one: one.pid, self._at_work_on)
            ]

    def _look(self, pids: Sequence[int]) -> list[Miscount]:
        """The numbers that are wrong now. One round trip."""
        names = [count.name for count in COUNTS]
        pipe = self._store.pipeline()
        asked = [
            (
                pid,
                ask_post_exists(pipe, str(pid)),
                pipe.hmget(keys.post(pid), names),
                [pipe.zcard(count.mirror(pid)) for count in COUNTS],
            )
            for pid in pids
        ]
        pipe.execute()
        numbers = [
            Miscount(pid, count, parse_number(text or "") or 0, size.value if exists.value else 0)
            for pid, exists, written, sizes in asked
            for count, text, size in zip(COUNTS, written.value, sizes, strict=True)
        ]
        return [one for one in numbers if one.written != one.right]

    def _at_work_on(self) -> set[int]:
        """The posts that jobs are at work on, also for an edge to them, and those that these posts answer or quote."""
        jobs = [job.split(":") for job in Outbox(self._store).under_way()]
        edges = [job[2] for job in jobs if job[0] in (LIKE.kind, REPOST.kind) and len(job) == 3]
        pids = {pid for job in jobs if job[0] in KINDS_OF_JOBS and len(job) == 2 and (pid := parse_id(job[1]))}
        pipe = self._store.pipeline()
        named = [(pid, pipe.hmget(keys.post(pid), ["reply_to", "quote"])) for pid in pids]
        pipe.execute()
        others = [stored_id(keys.post(pid), text) for pid, fields in named for text in fields.value]
        return (
            {pid for text in edges if (pid := parse_id(text))} | pids | {other for other in others if other is not None}
        )
