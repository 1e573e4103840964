"""The lines about follows and likes in the file of a whole site."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from accounts.users.site_lines import uids_in_order
from retwis_site.features import Line, SiteLines
from retwis_site.maintenance.checks import ids_of
from retwis_site.maintenance.line_fields import ID, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first_of_each
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_score
from timeline.relations.like import LIKES as LIKE_COUNT
from timeline.relations.protocol.counts import Counts
from timeline.relations.ranking import RANKING


def read_follows(store: Store) -> Iterator[list[Line]]:
    """A line for each follow, by the follower's id, newest first. Round trips as for `newest_first_of_each`."""
    for edges in _edges(store, keys.following):
        yield [{"type": "follow", "follower": me, "followed": them, "since": iso(since)} for me, them, since in edges]


def read_likes(store: Store) -> Iterator[list[Line]]:
    """A line for each like, by the user's id, newest first. Round trips as for `newest_first_of_each`."""
    for edges in _edges(store, keys.likes):
        yield [{"type": "like", "user": uid, "post": pid, "time": iso(when)} for uid, pid, when in edges]


Edges = list[tuple[int, int, int]]  # the user who acts, the target, since when (unix seconds)


def _edges(store: Store, key: Callable[[int], str]) -> Iterator[Edges]:
    for uids in uids_in_order(store):
        rows = newest_first_of_each(store, {uid: key(uid) for uid in uids})
        for some in batches(rows, AT_ONCE):
            yield [
                (uid, target, stored_score(key(uid), member, score))
                for uid, member, score in some
                if (target := stored_id(key(uid), member)) is not None
            ]


def write_follows(store: Store, lines: Sequence[Line]) -> None:
    """Write both sides of each follow. One round trip."""
    edges = [(line["follower"], line["followed"], seconds(line, "since")) for line in lines]
    _write(store, edges, keys.following, keys.followers)


def write_likes(store: Store, lines: Sequence[Line]) -> None:
    """Write both sides of each like. One round trip."""
    edges = [(line["user"], line["post"], seconds(line, "time")) for line in lines]
    _write(store, edges, keys.likes, keys.liked_by)


def _write(store: Store, edges: Edges, truth: Callable[[int], str], mirror: Callable[[int], str]) -> None:
    members: dict[str, dict[str, int]] = defaultdict(dict)  # by key
    for uid, target, since in edges:
        members[truth(uid)][str(target)] = since
        members[mirror(target)][str(uid)] = since
    pipe = store.pipeline()
    for key, scores in members.items():
        pipe.zadd(key, scores)
    pipe.execute()


def rank(store: Store) -> None:
    """Count the followers of all users. Four round trips for each 500 users with followers."""
    for uids in ids_of(store, "followers:*"):
        Counts(store, RANKING).recount(uids)


def count_likes(store: Store) -> None:
    """Count the likes of all posts. Four round trips for each 500 posts with likes."""
    for pids in ids_of(store, "liked_by:*"):
        Counts(store, LIKE_COUNT).recount(pids)


FOLLOWS = SiteLines(
    type="follow",
    fields=lambda line: {"follower": ID, "followed": ID, "since": TIME},
    read=read_follows,
    write=write_follows,
    users=("follower", "followed"),
    finish=rank,
)
LIKES = SiteLines(
    type="like",
    fields=lambda line: {"user": ID, "post": ID, "time": TIME},
    read=read_likes,
    write=write_likes,
    users=("user",),
    posts=("post",),
    finish=count_likes,
)
