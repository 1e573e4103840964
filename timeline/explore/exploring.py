"""What many people like, repost and write about."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple

from accounts.signing_in.viewer import Viewer
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reply, Repository, Store, answer, answers, handles, trip
from retwis_site.store.ids import LARGEST_ID, stored_ids
from retwis_site.store.local_cache import Memory
from timeline.people.lists import Suggested, Suggestions
from timeline.posts.entities import Post
from timeline.posts.links import tags_in
from timeline.posts.post_ids import ask_given_out
from timeline.posts.reading.moments import bounds_of
from timeline.posts.reading.post_reader import PostReader
from timeline.posts.reading.records import Record, ask_authors
from timeline.posts.reading.visibility import ask_latest_acted, seen_by_all
from timeline.posts.repository import Posts
from timeline.tags.tags import Tag
from timeline.timelines.everyone import EveryoneList
from timeline.timelines.html import rising

# ---- What the page of explore shows.


@dataclass(frozen=True, slots=True)
class TagOfTheWeek:
    """A tag that more people use this week than usual."""

    tag: Tag
    people: int  # different people who used it this week
    all_counted: bool  # False: there may be more people
    posts: int  # of this week


@dataclass(frozen=True, slots=True)
class Best:
    """The posts of the last day or, on a quiet site, of the last week, the best first."""

    pids: tuple[int, ...]
    of_the_week: bool


@dataclass(frozen=True, slots=True)
class Explored:
    """What is the same for every viewer."""

    best: Best
    tags: tuple[TagOfTheWeek, ...]  # the one that rises most first


# ---- The posts that explore looks at: the newest ones, and those on which people who are active now have acted.
#
# On a site with up to some thousand posts a week that is every post. A larger site is sampled: there, a post that many
# people like is liked by some of those whose posts are among the newest, too.


PEOPLE = 300  # authors of the newest posts
LATEST_OF_EACH = 30  # likes of each, and reposts
MOST_ACTED_ON = 1000  # posts that are read besides the newest; those on which most people have acted


def sample(store: Store) -> list[Record]:
    """Posts whose authors everyone sees; neither list names a repost. Six round trips: one for the newest ids (more
    when that list must be rebuilt), then at most 1,000 commands each for posts and for authors, 600 for likes and
    reposts, and MOST_ACTED_ON each for the other posts and their authors."""
    newest = _read(store, EveryoneList(store).below(LARGEST_ID).ids)
    known = {post.pid for post in newest}
    acted_on = _acted_on(store, list(dict.fromkeys(post.uid for post in newest))[:PEOPLE])
    further = [pid for pid, _ in acted_on.most_common() if pid not in known][:MOST_ACTED_ON]
    return [*newest, *_read(store, further)]


def _read(store: Store, pids: Sequence[int]) -> list[Record]:
    """Those of these posts that exist and that everyone sees. Two round trips; none without posts."""
    posts = Posts(store).read(pids)
    seen = seen_by_all(store, {post.uid for post in posts})
    return [post for post in posts if post.uid in seen]


def _acted_on(store: Store, people: Sequence[int]) -> Counter[int]:
    """How often these people have liked and reposted each post lately. One round trip."""
    lists = [key(uid) for uid in people for key in (keys.likes, keys.reposts)]
    found = answers(store, lambda pipe, key: pipe.zrevrange(key, 0, LATEST_OF_EACH - 1), lists)
    return Counter(pid for key, members in found.items() for pid in stored_ids(key, members))


# ---- The posts of the day: those which most different people have liked or reposted, for their age.


DAY, WEEK = 24 * 3600, 7 * 24 * 3600
FEWEST_PEOPLE = 2
MOST_POSTS = 40  # more than a page shows: a viewer does not see all of them
MOST_COUNTED = 500  # of the people who like a post, and of those who repost it


def best_posts(store: Store, posts: Sequence[Record], now: float) -> Best:
    """The best of these posts of the last day; of the last week, when no post of the day has FEWEST_PEOPLE. One round
    trip, two for the week. Each has at most 160 commands, whose replies have at most 80,000 ids."""
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
    """The counts of a post say how many people it has at most. Only the best by these are looked at. What a clock that
    was far ahead has dated is of no period: it would be the newest for years."""
    at_most = {post.pid: post.counts.likes + post.counts.reposts for post in posts if abs(now - post.time) < period}
    likely = _heaviest([post for post in posts if at_most.get(post.pid, 0) >= FEWEST_PEOPLE], at_most, now)
    people = _people(store, likely)
    good = _heaviest([post for post in likely if people[post.pid] >= FEWEST_PEOPLE], people, now)
    return tuple(post.pid for post in good)


def _heaviest(posts: Sequence[Record], people: Mapping[int, int], now: float) -> list[Record]:
    """At most MOST_POSTS; of two that weigh the same, the newer one comes first."""
    return nlargest(MOST_POSTS, posts, key=lambda post: (weight(people[post.pid], now - post.time), post.pid))


def _people(store: Store, posts: Sequence[Record]) -> dict[int, int]:
    """By id, how many different people have liked or reposted each post, without its author and those whom no number
    counts. Of each kind, at most MOST_COUNTED are counted. One round trip, none without posts."""

    def ask(pipe: Pipe, pid: int) -> list[Reply[list[str]]]:
        of = keys.liked_by(pid), keys.reposted_by(pid)
        return [pipe.zrevrange(key, 0, MOST_COUNTED - 1) for key in (*of, *map(keys.unseen, of))]

    authors = {post.pid: str(post.uid) for post in posts}
    found = {pid: [set(each.value) for each in asked] for pid, asked in handles(store, ask, authors).items()}
    return {
        pid: len((likers - unseen_likers | others - unseen_others) - {authors[pid]})
        for pid, (likers, others, unseen_likers, unseen_others) in found.items()
    }


# ---- The tags of the week: those that more people use than usual.


FEWEST_PEOPLE_OF_A_TAG = 3
MOST_TAGS = 10
COMPARED = 20  # tags
WEEKS_BEFORE = 4
READ_OF_A_WEEK = 100  # posts of a tag


def rising_tags(store: Store, posts: Sequence[Record], now: float) -> tuple[TagOfTheWeek, ...]:
    """The tags that rise most: the COMPARED tags with the most authors among these posts of the last week are looked
    up. None without a tag; else five round trips, and those of `bounds_of` for each week: 300 commands, then one for
    each post whose author this process does not know, and one for each of these people, at most 10,000 each; a process
    remembers 100,000 authors."""
    candidates = _candidates(post for post in posts if abs(now - post.time) < WEEK)
    if not candidates:
        return ()
    starts = [int(now) - WEEK * weeks for weeks in range(1, WEEKS_BEFORE + 2)]
    newest, counted = max(post.pid for post in posts), answer(store, ask_given_out)
    first = [bounds_of(store, start, newest, counted).first + 1 for start in starts]
    used = _used(store, candidates, ["+inf", *(f"({pid}" for pid in first)], [str(pid) for pid in first])
    spellings = store.hmget(keys.tags(), candidates)
    rising = {tag: _rise(weeks) for tag, weeks in used.items() if weeks[0].counted >= FEWEST_PEOPLE_OF_A_TAG}
    best = sorted(rising, key=lambda tag: (-rising[tag], tag))[:MOST_TAGS]
    spelled = dict(zip(candidates, spellings, strict=True))
    return tuple(
        TagOfTheWeek(Tag(tag, spelled[tag] or tag), week.counted, week.posts == week.read, week.posts)
        for tag, week in ((tag, used[tag][0]) for tag in best)
    )


class Week(NamedTuple):
    """The use of a tag in one week."""

    posts: int  # without those that were read and that not everyone sees
    read: int  # of these posts, the newest
    counted: int  # different people among their authors

    @property
    def people(self) -> float:
        """About how many people used the tag in posts that were read and in the others."""
        return self.counted * self.posts / self.read if self.read else 0


def _rise(weeks: Sequence[Week]) -> float:
    """People of this week for each one of a usual week: the mean of the weeks before. The 2 keeps a tag of three new
    people below one that rose from ten to thirty."""
    this, *before = weeks
    return this.people / (sum(week.people for week in before) / len(before) + 2)


def _candidates(posts: Iterable[Record]) -> list[str]:
    """The folded tags that most of the authors use."""
    authors: dict[str, set[int]] = {}
    for post in posts:
        for tag in tags_in(post.body):
            authors.setdefault(tag, set()).add(post.uid)
    return sorted(authors, key=lambda tag: (-len(authors[tag]), tag))[:COMPARED]


def _used(store: Store, tags: Sequence[str], highs: Sequence[str], lows: Sequence[str]) -> Mapping[str, list[Week]]:
    """The use of each tag in each week, the last week first: by people whom everyone sees. Three round trips."""
    with store.pipeline() as pipe:
        asked = [
            (
                tag,
                [pipe.zcount(key, low, high) for key in (keys.tag(tag), keys.unseen(keys.tag(tag)))],
                pipe.zrevrangebyscore(keys.tag(tag), high, low, READ_OF_A_WEEK),
            )
            for tag in tags
            for high, low in zip(highs, lows, strict=False)
        ]
    read = [(tag, posts, stored_ids(keys.tag(tag), pids.value)) for tag, posts, pids in asked]
    authors = _authors(store, {pid for _, _, pids in read for pid in pids})
    used: dict[str, list[Week]] = {}
    for tag, (posts, left_out), pids in read:
        people = [authors[pid] for pid in pids if pid in authors]
        unseen = max(len(pids) - len(people), left_out.value)
        used.setdefault(tag, []).append(Week(posts.value - unseen, len(people), len(set(people))))
    return used


def _authors(store: Store, pids: Iterable[int]) -> dict[int, int]:
    """Uids of the authors, by post, without posts by people whom not everyone sees. At most two round trips."""
    authors = answer(store, ask_authors, [*pids])
    seen = seen_by_all(store, {*authors.values()})
    return {pid: uid for pid, uid in authors.items() if uid in seen}


# ---- Exploring


MOST_SHOWN = 20  # posts

_explored: Memory[str, Explored] = Memory(size=2, seconds=300)  # one entry, of some 10 KB


class Explore(Repository):
    """The page of explore. Only reads, and keeps nothing in the store: each process looks for itself."""

    def page(self, viewer: Viewer) -> tuple[list[Post], Explored, list[Suggested]]:
        """The best posts and people to follow, as this viewer may see them: without deleted posts and people whom the
        viewer hides; and what is the same for everyone.

        Two round trips while the posts are cached, and those of the suggestions. Every five minutes a process looks
        anew: some twenty more.
        """
        posts = self.posts(viewer)
        explored = self._explored()
        suggestions = Suggestions(self._store)
        people = suggestions.for_visitor() if viewer.uid is None else suggestions.for_user(viewer.uid)
        return posts, explored, people

    def posts(self, viewer: Viewer) -> list[Post]:
        """The posts of the page. Round trips as for `page`."""
        [acted] = viewer.ask(lambda pipe, me: trip(ask_latest_acted(pipe, me)))
        reader = PostReader(self._store, viewer, acted=acted, at_most=MOST_SHOWN)
        return reader.read(self._explored().best.pids)[0]

    def tags(self) -> tuple[TagOfTheWeek, ...]:
        """The tags of the week. No round trip while they are cached; else some twenty, as for `page`."""
        return self._explored().tags

    def _explored(self) -> Explored:
        """No round trip while it is cached."""
        return _explored.get_or_make("", self._look)

    def _look(self) -> Explored:
        now, posts = time.time(), sample(self._store)
        found = Explored(best_posts(self._store, posts, now), rising_tags(self._store, posts, now))
        rising.put("", [one.tag.spelling for one in found.tags])
        return found
