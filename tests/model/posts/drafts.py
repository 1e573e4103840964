"""Early drafts of the protocol of posts. Each must fail in its scenario."""

from tests.model.core import Steps
from tests.model.entities import OUTBOX
from tests.model.posts.entities import NO_LINKS, Look, Seen
from tests.model.posts.protocol import Posting


class NoSecondLook(Posting):
    """A post is not read again after its listings were written."""

    def _write_until_same(self, pid: int, written: Seen | None, look: Look) -> Steps:
        yield from self._tell(self._writes(pid, look.seen, written))
        return (yield from self._look(pid, look.seen.links))


class WorkAfterTheJob(Posting):
    """The job is removed before the post is settled."""

    def delete(self, uid: int, pid: int, nonce: str) -> Steps:
        yield ("HSET", f"post:{pid}", "deleted", 1)
        yield ("ZADD", OUTBOX, f"del:{pid}:{uid}:{nonce}", 0)
        yield ("ZREM", OUTBOX, f"del:{pid}:{uid}:{nonce}")
        yield from self._unlist(uid, pid, nonce)


class EditBeforeJob(Posting):
    """The job of an edit is added after the commit."""

    def edit(self, uid: int, pid: int, text: str, now: int, nonce: str) -> Steps:
        look = yield from self._look(pid, NO_LINKS)
        seen = yield from self._commit_text(pid, look.seen, text, now)
        yield ("ZADD", OUTBOX, f"edit:{pid}:{uid}:{nonce}", 0)
        yield from self._agree(pid, None, look._replace(seen=seen), nonce)
        yield ("ZREM", OUTBOX, f"edit:{pid}:{uid}:{nonce}")


class TombstonesAreLeft(Posting):
    """A reply that comes or goes does not settle the tombstone above it."""

    def _agree(self, pid: int, written: Seen | None, look: Look, nonce: str) -> Steps:
        look = yield from self._write_until_same(pid, written, look)
        yield from self._remove_texts(pid, look.seen)
        yield from self._count(look)


class TombstonesHaveNoJobs(Posting):
    """The tombstone above has no job of its own. With the job of the post below it, a worker may find it settled."""

    def _add_stone(self, job: str) -> Steps:
        yield from ()


class CountsOnce(Posting):
    """The number of replies is not counted again after it was written."""

    def _write_count(self, name: str, listing: str, pid: int, number: int) -> Steps:
        yield ("HSET", f"post:{pid}", name, number) if number else ("HDEL", f"post:{pid}", name)


class WrittenIsForgotten(Posting):
    """Who has listed a post that is deleted by now does not remember its text. (The site did so until now.)"""

    def _settle(self, pid: int, written: Seen | None, nonce: str) -> Steps:
        yield from super()._settle(pid, None, nonce)


class RemovesWithoutJobs(Posting):
    """The removal of an account has no jobs for its posts. (The site did so until now.)"""

    def _remove_post(self, pid: int, nonce: str) -> Steps:
        yield ("HSET", f"post:{pid}", "deleted", 1)
        yield from self._settle(pid, None, nonce)


class ExpiredIsLeft(Posting):
    """Nothing is written of a post whose hash has expired. (The site did so until now.)"""

    def _remove_texts(self, pid: int, seen: Seen) -> Steps:
        if seen.exists:
            yield from super()._remove_texts(pid, seen)


DRAFTS: list[tuple[type[Posting], str]] = [
    (NoSecondLook, "reply || deletion of the reply"),
    (WorkAfterTheJob, "quote || deletion of the quoted"),
    (EditBeforeJob, "reply || edit of the parent"),
    (TombstonesAreLeft, "deletion of the last reply below two tombstones"),
    (TombstonesHaveNoJobs, "deletion of the last reply below two tombstones"),
    (CountsOnce, "two replies"),
    (WrittenIsForgotten, "publishing || deletion of the new post"),
    (RemovesWithoutJobs, "reply || deletion of its author"),
    (ExpiredIsLeft, "edit || deletion || expiry"),
]
