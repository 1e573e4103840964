"""What edges lead to: people, posts, threads, tags and words."""

from collections.abc import Callable
from dataclasses import dataclass

from accounts.users.deletion import is_deleted
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Answer


@dataclass(frozen=True)
class Target:
    """A kind of target. `ask_exists` asks whether one is there and not deleted: at most one command."""

    ask_exists: Callable[[Pipe, str], Answer[bool]]
    is_person: bool = False
    has_author: bool = False
    is_text: bool = False  # its name is no id

    @property
    def is_post(self) -> bool:
        """Whether it is a post, or the first one of a thread."""
        return not (self.is_person or self.is_text)

    def is_valid(self, member: str) -> bool:
        """Whether a member of the truth names a target of this kind."""
        return self.is_text or parse_id(member) is not None


def ask_person_exists(pipe: Pipe, uid: str) -> Answer[bool]:
    """Whether an account is not deleted. One command."""
    deleted = pipe.hget(keys.user(int(uid)), "deleted")
    return Answer(lambda: not is_deleted(deleted.value))


def ask_post_exists(pipe: Pipe, pid: str) -> Answer[bool]:
    """Whether a post is there and not deleted. The hash of a deleted post expires: then it has no author. One
    command."""
    fields = pipe.hmget(keys.post(int(pid)), ["user_id", "deleted"])

    def read() -> bool:
        author, deleted = fields.value
        return author is not None and deleted is None

    return Answer(read)


def _always(pipe: Pipe, target: str) -> Answer[bool]:
    return Answer(lambda: True)


PERSON = Target(ask_person_exists, is_person=True)
POST = Target(ask_post_exists, has_author=True)
THREAD = Target(_always)  # it stays when its first post is deleted
TAG = Target(_always, is_text=True)
WORDS = Target(_always, is_text=True)
