"""What a viewer has done with the posts of a page: liked, reposted, bookmarked; and whom the viewer hides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from retwis_site.store.client import Pipe
from retwis_site.store.replies import Question, Reply, Result
from timeline.posts.entities import Acted, Post
from timeline.posts.reading.visibility import (
    LATEST_HIDDEN,
    MUTES_ASIDE,
    NO_HIDDEN_READ,
    NO_WORDS,
    LatestHidden,
    latest_hidden,
)
from timeline.relations.muted_words import Where
from timeline.relations.relations import ACTED_ON

LATEST = 50  # entries of each kind that `LatestActed` has at most
CLOCKS_DIFFER = 60  # seconds; the clocks of two servers never differ by so much


def ask_acted(pipe: Pipe, me: int, pids: Sequence[int]) -> Result[dict[int, Acted]]:
    """By id, what `me` has done with those of these posts (at least one) on which they have acted. Three commands."""
    members = [str(pid) for pid in pids]
    asked = [pipe.zmscore(relation.truth(me), members) for relation in ACTED_ON]

    def read() -> dict[int, Acted]:
        liked, reposted, bookmarked = [scores.value for scores in asked]
        return {
            pid: Acted(like is not None, repost is not None, bookmark is not None)
            for pid, like, repost, bookmark in zip(pids, liked, reposted, bookmarked, strict=True)
            if like is not None or repost is not None or bookmark is not None
        }

    return Result(read)


@dataclass(frozen=True, slots=True)
class LatestActed:
    """What the viewer has liked, reposted and bookmarked last.

    A page can ask it before it knows which posts it has. Nobody acts on a post before it is published, so for most
    pages it is all that the page must know."""

    liked: frozenset[str]  # ids as text
    reposted: frozenset[str]
    bookmarked: frozenset[str]
    since: float  # unix seconds: all that the viewer has liked and bookmarked later is known
    since_id: float  # reposts with higher ids are all known
    hidden: LatestHidden  # whom the viewer has blocked and muted last, and muted words

    @property
    def are_all(self) -> bool:
        """The viewer has acted on nothing else."""
        return self.since == self.since_id == -inf

    def unknown(self, pids: Iterable[int], posts: Mapping[int, Post]) -> list[int]:
        """The ids of these posts of which not all is known. `posts`: those of which this process knows the time."""
        since, since_id = self.since + CLOCKS_DIFFER, self.since_id
        return [pid for pid in pids if pid <= since_id or pid not in posts or posts[pid].time <= since]

    def asking_for(self, pid: int) -> "LatestActed":
        """The same for the page of a post: the viewer has asked for it, so no muted words hide it there."""
        words = self.hidden.words
        if words is NO_WORDS:
            return self
        return replace(self, hidden=self.hidden._replace(words=words._replace(besides=pid)))

    def on(self, pids: Iterable[int]) -> dict[int, Acted]:
        """By id, what the viewer has done with those of these posts on which they have acted."""
        texts = {str(pid): pid for pid in pids}
        liked, reposted, bookmarked = [
            those.intersection(texts) for those in (self.liked, self.reposted, self.bookmarked)
        ]
        if not (liked or reposted or bookmarked):
            return {}
        return {
            texts[text]: Acted(text in liked, text in reposted, text in bookmarked)
            for text in liked | reposted | bookmarked
        }


NOTHING_READ = LatestActed(frozenset(), frozenset(), frozenset(), inf, inf, NO_HIDDEN_READ)
NOTHING_READ_MUTES_ASIDE = replace(NOTHING_READ, hidden=MUTES_ASIDE)


def _latest_acted(where: Where, me: int, replies: Sequence[list[str]]) -> LatestActed:
    """`where`: as for `muted_texts`."""
    rows, hidden = replies[: len(ACTED_ON)], replies[len(ACTED_ON) :]
    oldest_like, oldest_repost, oldest_bookmark = [float(row[-1]) if len(row) >= 2 * LATEST else -inf for row in rows]
    liked, reposted, bookmarked = [frozenset(row[::2]) for row in rows]
    since = max(oldest_like, oldest_bookmark)
    return LatestActed(liked, reposted, bookmarked, since, oldest_repost, latest_hidden(me, hidden, where))


# One for each place where muted words count (`muted_texts`). Eight commands.
LATEST_ACTED = {
    where: Question(
        *(("ZREVRANGE", relation.truth, 0, LATEST - 1, "WITHSCORES") for relation in ACTED_ON),
        *LATEST_HIDDEN,
        read=partial(_latest_acted, where),
    )
    for where in Where
}


def ask_latest_acted(pipe: Pipe, me: int | None) -> Reply[LatestActed] | Result[LatestActed]:
    """For pages other than home. Eight commands; none for a visitor, None."""
    return Result(lambda: NOTHING_READ) if me is None else pipe.ask(LATEST_ACTED[Where.EVERYWHERE], me)


_HIDDEN = Question(
    *LATEST_HIDDEN,
    read=lambda me, replies: replace(NOTHING_READ, hidden=latest_hidden(me, replies, Where.EVERYWHERE)),
)


def ask_hidden(pipe: Pipe, me: int) -> Reply[LatestActed]:
    """Whom and what the viewer hides, for a page that asks what the viewer has done with each of its posts. Five
    commands."""
    return pipe.ask(_HIDDEN, me)
