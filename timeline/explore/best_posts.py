"""The posts of the day: those which most different people have liked or reposted, for their age."""

import math
from collections.abc import Mapping, Sequence
from heapq import nlargest

from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.explore.entities import Best
from timeline.posts.reading.records import Record

DAY, WEEK = 24 * 3600, 7 * 24 * 3600
FEWEST_PEOPLE = 2
MOST_POSTS = 40  # more than a page shows: a viewer does not see all of them
MOST_COUNTED = 500  # of the people who like a post, and of those who repost it


def best_posts(store: Store, posts: Sequence[Record], now: float) -> Best:
    """The best of these posts of the last day; of the last week, when no post of the day has FEWEST_PEOPLE. One round
    trip, two for the week. Each has at most 80 commands, whose replies have at most 40,000 ids."""
    best = _best(store, posts, now, DAY)
    if best:
        return Best(best, of_the_week=False)
    return Best(_best(store, posts, now, WEEK), of_the_week=True)


def weight(people: int, seconds: float) -> float:
    """The order of posts: people / (hours + 2)^1.5. A post that is six hours old needs eight times as many people as a
    new one, and one of yesterday 47 times."""
    hours = max(seconds, 0) / 3600
    return people / math.pow(hours + 2, 1.5)


def _best(store: Store, posts: Sequence[Record], now: float, period: int) -> tuple[int, ...]:
    """The counts of a post say how many people it has at most. Only the best by these are looked at."""
    at_most = {post.pid: post.counts.likes + post.counts.reposts for post in posts if now - post.time < period}
    likely = _heaviest([post for post in posts if at_most.get(post.pid, 0) >= FEWEST_PEOPLE], at_most, now)
    people = _people(store, likely)
    good = _heaviest([post for post in likely if people[post.pid] >= FEWEST_PEOPLE], people, now)
    return tuple(post.pid for post in good)


def _heaviest(posts: Sequence[Record], people: Mapping[int, int], now: float) -> list[Record]:
    """At most MOST_POSTS; of two that weigh the same, the newer one comes first."""
    return nlargest(MOST_POSTS, posts, key=lambda post: (weight(people[post.pid], now - post.time), post.pid))


def _people(store: Store, posts: Sequence[Record]) -> dict[int, int]:
    """By id, how many different people have liked or reposted each post, without its author. Of each kind, at most
    MOST_COUNTED are counted. One round trip, none without posts."""
    pipe = store.pipeline()
    asked = [
        (post, [pipe.zrevrange(key(post.pid), 0, MOST_COUNTED - 1) for key in (keys.liked_by, keys.reposted_by)])
        for post in posts
    ]
    pipe.execute()
    return {post.pid: len({*likers.value, *reposters.value} - {str(post.uid)}) for post, (likers, reposters) in asked}
