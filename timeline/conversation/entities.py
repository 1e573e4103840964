"""The page of a thread."""

from dataclasses import dataclass

from accounts.users.entities import User
from timeline.conversation.branches import Branch
from timeline.posts.entities import Post, Unavailable


@dataclass(frozen=True, slots=True)
class ThreadPage:
    author: User
    post: Post | Unavailable
    above: list[Post | Unavailable]  # what the post replies to, the first of the thread first; none on later pages
    begins_higher: bool  # the thread has posts above these
    replies: list[Branch]
    after: int | None  # the cursor of the next page of replies; None on the last page
    is_muted: bool = False  # by the viewer: they get no notices of the thread
