"""What the viewer has done with the posts of a page: liked, reposted, bookmarked; and whom the viewer hides."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.posts.entities import Acted, Post
from timeline.posts.reading.hidden_people import MUTES_ASIDE, NO_HIDDEN_READ, LatestHidden, ask_latest_hidden
from timeline.posts.reading.muted_texts import NO_WORDS
from timeline.relations.words.muted_words import Where

LATEST = 50  # entries of each kind that `LatestActed` has at most
CLOCKS_DIFFER = 60  # seconds; the clocks of two servers never differ by so much


def ask_acted(pipe: Pipe, me: int, pids: Sequence[int]) -> Answer[dict[int, Acted]]:
    """By id, what `me` has done with those of these posts (at least one) on which they have acted. Three commands."""
    members = [str(pid) for pid in pids]
    asked = [pipe.zmscore(key(me), members) for key in (keys.likes, keys.reposts, keys.bookmarks)]

    def read() -> dict[int, Acted]:
        rows = zip(pids, *(scores.value for scores in asked), strict=True)
        return {pid: Acted(*(score is not None for score in scores)) for pid, *scores in rows if any(scores)}

    return Answer(read)


@dataclass(frozen=True, slots=True)
class LatestActed:
    """What the viewer has liked, reposted and bookmarked last.

    A page can ask it before it knows which posts it has. Nobody acts on a post before it is published, so for most
    pages it is all that the page must know."""

    liked: frozenset[str]  # ids as text
    reposted: frozenset[str]
    bookmarked: frozenset[str]
    since: float  # unix seconds: later likes and bookmarks are all known
    since_id: float  # reposts with higher ids are all known
    hidden: LatestHidden  # whom the viewer has blocked and muted last, and muted words

    def knows(self, post: Post | None) -> bool:
        """Whether all is known about this post; None: a post of which nothing is known yet."""
        return self.knows_all or (
            post is not None and post.time > self.since + CLOCKS_DIFFER and post.pid > self.since_id
        )

    @property
    def knows_all(self) -> bool:
        return self.since == self.since_id == -inf

    def asking_for(self, pid: int) -> "LatestActed":
        """The same for the page of a post: the viewer has asked for it, so no muted words hide it there."""
        words = self.hidden.words
        if words is NO_WORDS:
            return self
        return replace(self, hidden=self.hidden._replace(words=words._replace(besides=pid)))

    def on(self, pids: Iterable[int]) -> dict[int, Acted]:
        """By id, what the viewer has done with those of these posts on which they have acted."""
        each = self.liked, self.reposted, self.bookmarked
        every = frozenset().union(*each)
        return {pid: Acted(*(str(pid) in those for those in each)) for pid in pids if str(pid) in every}


NOTHING_READ = LatestActed(frozenset(), frozenset(), frozenset(), inf, inf, NO_HIDDEN_READ)
NOTHING_READ_MUTES_ASIDE = replace(NOTHING_READ, hidden=MUTES_ASIDE)


def ask_latest_acted(pipe: Pipe, me: int | None, where: Where = Where.EVERYWHERE) -> Answer[LatestActed]:
    """Eight commands; none for a visitor, None. `where`: as for `muted_texts`."""
    if me is None:
        return Answer(lambda: NOTHING_READ)
    of_each = (keys.likes, keys.reposts, keys.bookmarks)
    asked = [pipe.zrevrange_withscores(key(me), 0, LATEST - 1) for key in of_each]
    hidden = ask_latest_hidden(pipe, me, where)

    def read() -> LatestActed:
        rows = [reply.value for reply in asked]
        likes, reposts, bookmarks = (each[-1][1] if len(each) >= LATEST else -inf for each in rows)
        liked, reposted, bookmarked = (frozenset(member for member, _ in each) for each in rows)
        return LatestActed(liked, reposted, bookmarked, max(likes, bookmarks), reposts, hidden.value)

    return Answer(read)
