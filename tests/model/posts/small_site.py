"""The database before a scenario of posts. Bo (2) has the post 10; Ann (1) and Cy (3) answer and quote it."""

from tests.model.core import Database, alone
from tests.model.posts.protocol import Posting

ANN, BO, CY = 1, 2, 3
POST = 10


def database(*changes: tuple) -> Database:
    """Three people, the post 10 with the text "a", and these changes, complete with all that follows from them: the
    name of a method of `Posting` and what it is given."""
    db: Database = {f"user:{uid}": ("h", (("username", f"user {uid}"),)) for uid in (ANN, BO, CY)}
    for name, *arguments in [("publish", BO, POST, "a"), *changes]:
        db = alone(db, begin(Posting(), "before", name, *arguments))
    return db


def begin(protocol: Posting, nonce: str, name: str, *arguments: object) -> object:
    """A process of one change. ("reply", uid, pid, parent) and ("quote", uid, pid, quoted) are posts without a text."""
    if name == "reply":
        uid, pid, parent = arguments
        return protocol.publish(uid, pid, "", nonce, reply_to=parent)
    if name == "quote":
        uid, pid, quoted = arguments
        return protocol.publish(uid, pid, "", nonce, quote=quoted)
    return getattr(protocol, name)(*arguments, nonce)
