"""What must hold for posts when all processes have ended and a worker has finished every job."""

from collections.abc import Iterator

from tests.model.core import EXPIRY, Database, alone
from tests.model.entities import OUTBOX
from tests.model.posts.entities import LINKS, Links, Seen, mentioned
from tests.model.posts.protocol import Posting

LISTINGS = ("thread:", "replies_to:", "quotes_of:", "tag:")


def check(db: Database, died: bool, protocol: Posting) -> list[str]:
    """What is wrong in a database after a worker has finished all jobs."""
    for _ in range(20):
        jobs = members(db, OUTBOX)
        if not jobs:
            break
        db = alone(db, protocol.work(jobs[0], "last"))
    else:
        return ["a job is never done"]
    posts = {int(key[5:]): dict(value) for key, (_, value) in db.items() if key.startswith("post:")}
    # A process would have to hang for the thirty days between its EXPIRE and its last write to leave this.
    posts = {pid: post for pid, post in posts.items() if post != {"body": ""}}
    # A process that died before its job may leave a hash that was never published. `cleanup` removes it.
    listed = {pid for key in db if key.startswith("updates:") for pid in members(db, key)}
    published = {pid: hash_ for pid, hash_ in posts.items() if pid in listed or "deleted" in hash_}
    lost = ["a post is lost"] if posts.keys() - published.keys() and not died else []
    return sorted(
        {
            *lost,
            *_listing_errors(db, published, died),
            *_text_errors(db, published),
            *_deleted_errors(db, posts, listed),
        }
    )


def members(db: Database, key: str) -> list:
    return [member for member, _ in db.get(key, ("z", ()))[1]]


def seen_in(db: Database, pid: int) -> Seen:
    post = dict(db.get(f"post:{pid}", ("h", ()))[1])
    return Seen(
        "user_id" in post,
        "deleted" in post,
        bool(members(db, f"replies_to:{pid}")),
        Links(*(post.get(name) for name in LINKS)),
        post.get("mentions"),
        post.get("body", ""),
        post.get("edited"),
        tuple(sorted(db.get(f"edits:{pid}", ("h", ()))[1])),
    )


def _listing_errors(db: Database, posts: dict[int, dict], died: bool) -> Iterator[str]:
    """A process that dies between the tags of its text and what follows, after a deletion has removed that text, may
    leave a deleted post in `tag:`. Readers skip it, and `doctor` finds it."""
    owed = {(key, pid) for pid in posts for key in seen_in(db, pid).stands_in}
    found = {(key, pid) for key in db if key.startswith(LISTINGS) for pid in members(db, key)}
    for key, pid in owed - found:
        yield f"{key.partition(':')[0]}: a {'tombstone' if 'deleted' in posts[pid] else 'post'} is missing"
    for key, pid in found - owed:
        if died and key.startswith("tag:") and (pid not in posts or "deleted" in posts[pid]):
            continue
        state = "deleted" if "deleted" in posts.get(pid, ()) else "unknown" if pid not in posts else "other"
        yield f"{key.partition(':')[0]}: an entry of {'an' if state[0] in 'ou' else 'a'} {state} post"
    for pid, post in posts.items():
        for name, listing in (("replies", "replies_to"), ("quotes", "quotes_of")):
            size = 0 if "deleted" in post else len(members(db, f"{listing}:{pid}"))
            if post.get(name, 0) != size:
                yield f"the count of {name} is wrong"


def _text_errors(db: Database, posts: dict[int, dict]) -> Iterator[str]:
    for pid, post in posts.items():
        seen = seen_in(db, pid)
        if seen.deleted:
            continue
        if seen.body != seen.text or seen.edited != (seen.texts[-1][0] if seen.texts else None):
            yield "the body is not the newest text"
        if post.get("mentions") != mentioned(seen.text):
            yield "the mentions are not those of the newest text"


def _deleted_errors(db: Database, posts: dict[int, dict], listed: set[int]) -> Iterator[str]:
    for pid, post in posts.items():
        seen = seen_in(db, pid)
        if not {"user_id", "deleted"} & post.keys():
            yield "a late write has made a hash"
        if not seen.deleted:
            if EXPIRY in post:
                yield "a post expires that is not deleted"
            continue
        if pid in listed:
            yield "a deleted post is among those of its author"
        if seen.body or seen.texts:
            yield "a deleted post has a text"
        if seen.exists and (EXPIRY in post) == seen.has_replies:
            yield "a tombstone expires" if seen.has_replies else "a deleted post stays for ever"
    for key in db:
        if key.startswith("edits:") and int(key[6:]) not in posts:
            yield "texts of a post that does not exist"
        if key.startswith("updates:") and dict(db.get(f"user:{key[8:]}", ("h", ()))[1]).get("deleted"):
            yield "a deleted account has posts"
