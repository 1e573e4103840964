"""The tags of the week: those that more people use than usual."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids
from timeline.explore.best_posts import WEEK
from timeline.explore.entities import TagOfTheWeek
from timeline.posts.parsing.links import tags_in
from timeline.posts.reading.hidden_by_staff import seen_by_all
from timeline.posts.reading.moments import moment
from timeline.posts.reading.records import Record, ask_authors
from timeline.tags.entities import Tag

FEWEST_PEOPLE = 3
MOST_TAGS = 10
COMPARED = 20  # tags
WEEKS_BEFORE = 4
READ_OF_A_WEEK = 100  # posts of a tag


def rising_tags(store: Store, posts: Sequence[Record], now: float) -> tuple[TagOfTheWeek, ...]:
    """The tags that rise most: the COMPARED tags with the most authors among these posts of the last week are looked
    up. None without a tag; else four round trips, and those of `moment` for each week: 200 commands, then one for each
    post whose author this process does not know, and one for each of these people, at most 10,000 each; a process
    remembers 100,000 authors."""
    candidates = _candidates(post for post in posts if now - post.time < WEEK)
    if not candidates:
        return ()
    starts = [int(now) - WEEK * weeks for weeks in range(1, WEEKS_BEFORE + 2)]
    newest = max(post.pid for post in posts)
    first = [moment(store, start, newest).first + 1 for start in starts]
    used = _used(store, candidates, ["+inf", *(f"({pid}" for pid in first)], [str(pid) for pid in first])
    spellings = store.hmget(keys.tags(), candidates)
    rising = {tag: _rise(weeks) for tag, weeks in used.items() if weeks[0].counted >= FEWEST_PEOPLE}
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
    pipe = store.pipeline()
    asked = [
        (tag, pipe.zcount(keys.tag(tag), low, high), pipe.zrevrangebyscore(keys.tag(tag), high, low, READ_OF_A_WEEK))
        for tag in tags
        for high, low in zip(highs, lows, strict=False)
    ]
    pipe.execute()
    read = [(tag, posts.value, stored_ids(keys.tag(tag), pids.value)) for tag, posts, pids in asked]
    authors = _authors(store, {pid for _, _, pids in read for pid in pids})
    used: dict[str, list[Week]] = {}
    for tag, posts, pids in read:
        people = [authors[pid] for pid in pids if pid in authors]
        unseen = len(pids) - len(people)
        used.setdefault(tag, []).append(Week(posts - unseen, len(people), len(set(people))))
    return used


def _authors(store: Store, pids: Iterable[int]) -> dict[int, int]:
    """Uids of the authors, by post, without posts by people whom not everyone sees. At most two round trips."""
    pipe = store.pipeline()
    asked = ask_authors(pipe, [*pids])
    pipe.execute()
    seen = seen_by_all(store, {*asked.value.values()})
    return {pid: uid for pid, uid in asked.value.items() if uid in seen}
