"""The pictures of posts in Redis: whether a post shows one, and one that staff removes from a post."""

from collections.abc import Mapping
from contextlib import suppress

from accounts.community.log import Act, Log, read_act
from accounts.media.repository import Info, Pictures
from retwis_site.exceptions import LeaseEnded
from retwis_site.features import Use
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_id
from retwis_site.store.replies import Result
from timeline.posts.entities import Media, NoSuchPost, Picture
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import media_field, media_from


def with_sizes(media: Media, known: Mapping[str, Info]) -> Media:
    """The pictures of a new post, with what is stored of them."""
    return media._replace(pictures=tuple(with_stored(one, known[one.digest]) for one in media.pictures))


def with_stored(one: Picture, known: Info) -> Picture:
    """A picture of a post with what is stored of it."""
    return one._replace(width=known.width, height=known.height, blurhash=known.blurhash)


def ask_picture_use(pipe: Pipe, digest: str, uid: int, pid: int) -> Result[Use]:
    """Whether a post of this user shows a picture. Two commands."""
    fields, listed = (
        pipe.hmget(keys.post(pid), ["user_id", "deleted", "media"]),
        pipe.zscore(keys.updates(uid), str(pid)),
    )

    def read() -> Use:
        author, deleted, media = fields.value
        if author is None:
            return Use.UNKNOWN
        if author != str(uid) or deleted is not None:
            return Use.ENDED
        if listed.value is None:  # it has not come to its commit
            return Use.UNKNOWN
        return Use.SHOWN if digest in media_from(keys.post(pid), media).digests else Use.ENDED

    return Result(read)


# ---- A picture that staff removes from a post. The job has the line of the log too: a worker can do all of it again.


BLOCKED = "blocked"  # in the name of the job: nobody may upload it again


def remove_by_staff(store: Store, pid: int, digest: str, by: int, reason: str, blocks: bool) -> None:
    """Remove one picture from anybody's post; with `blocks`, nobody may upload it again, or one that looks nearly the
    same. Seven round trips. Raises NoSuchPost, also for a picture that the post does not have."""
    key = keys.post(pid)
    author, media = store.hmget(key, ["user_id", "media"])
    uid = stored_id(key, author)
    if uid is None or digest not in media_from(key, media).digests:
        raise NoSuchPost(pid)
    act = Act(what="picture:deleted", by=by, whom=uid, post=pid, reason=reason)
    job = Outbox(store).add(f"staff_picture:{pid}:{digest}:{BLOCKED if blocks else ''}:{act.line()}")
    with suppress(LeaseEnded):
        _remove(job.store, job.name)
        job.done()


def finish_removal(store: Store, claim: Claim) -> None:
    """The job `staff_picture:<pid>:<digest>:<blocked>:<line of the log>`."""
    _remove(store, claim.name)
    claim.outbox.done(claim.name)


def _remove(store: Store, job: str) -> None:
    """The commit is the HSET of the other pictures. The hash of a picture to be blocked is read before it is gone."""
    pid = job_id(job, 1)
    _, _, digest, blocked, line = job.split(":", 4)
    act = read_act("outbox", line)
    if act is None:
        return
    if blocked:
        Pictures(store).block(digest)
    key = keys.post(pid)
    media = media_from(key, store.hget(key, "media"))
    if digest in media.digests:
        left = media._replace(pictures=tuple(one for one in media.pictures if one.digest != digest))
        store.hset(key, media_field(left) or {"media": ""})
        forget(pid)
    Pictures(store).release(act.whom, [digest])
    Log(store).write(act)
