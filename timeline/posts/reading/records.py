"""Posts as they are stored, for the worker, checks and the download. Pages read posts through `PostReader`."""

from collections.abc import Mapping
from typing import NamedTuple

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import stored_id, stored_time
from retwis_site.store.local_cache import Hints
from retwis_site.store.replies import Answer
from timeline.posts.entities import Post

FIELDS = ("user_id", "time", "body", "deleted")

# pid -> uid of the author, for the posts that were read last: 2 MB. With it, a page asks for posts and authors at once.
_authors_by_pid: Hints[int] = Hints(1 << 17)


class Record(NamedTuple):
    """A post as stored: its author is a uid."""

    pid: int
    uid: int
    time: int  # unix seconds
    body: str

    def by(self, author: User) -> Post:
        return Post(self.pid, author, self.body, self.time)


def ask_post(pipe: Pipe, pid: int) -> Answer[Record | None]:
    """A post; None when it is missing or deleted."""
    fields = pipe.hmget(keys.post(pid), FIELDS)
    return Answer(lambda: record_from(pid, *fields.value))


def record_from(pid: int, uid: str | None, when: str | None, body: str | None, deleted: str | None) -> Record | None:
    """A post from its fields FIELDS; None when it is missing or deleted, or has no author."""
    if uid is None or body is None or deleted is not None:
        return None
    author = stored_id(keys.post(pid), uid)
    if author is None:
        return None
    _authors_by_pid.put(pid, author)
    return Record(pid, author, stored_time(keys.post(pid), when), body)


def existing(asked: Mapping[int, Answer[Record | None]]) -> tuple[list[Record], list[int]]:
    """The posts that exist, in the order of `asked`, and the ids of the missing or deleted ones."""
    found = {pid: answer.value for pid, answer in asked.items()}
    return [one for one in found.values() if one], [pid for pid, one in found.items() if not one]


def cached_author(pid: int) -> int | None:
    """The uid of the author; None when this process has not cached it. No round trip."""
    return _authors_by_pid.get(pid)
