"""What tells posts that were published from those whose requests died before the commit, where their author's
`updates:` lacks them: the first are lost, the others are orphans, which no page shows."""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from django.utils.functional import cached_property

from retwis_site.maintenance.checks import ask_damaged, confirmed
from retwis_site.store import keys
from retwis_site.store.cached_list import parse_whole
from retwis_site.store.client import Pipe, Reply, Result, Store, answers, handles
from retwis_site.store.ids import stored_id
from timeline.posts import settling


class Written(NamedTuple):
    """A post, perhaps one that was never published."""

    pid: int
    author: int  # uid; 0: it has none


def jobs_on_own(one: Written) -> set[str]:
    return keys.updates.explained_by(one.author, str(one.pid))


class Traces(NamedTuple):
    """What a published post leaves behind, but its listings."""

    author_exists: Reply[bool]
    in_lists: list[Reply[int | None]]
    bad_entries: Reply[int]
    damaged: Result[bool]
    reactions: list[Reply[int]]
    look: Result[settling.PostLook]  # it leads to the listings

    @property
    def prove(self) -> bool:
        """Whether they prove that the post was published."""
        in_list = any(place.value is not None for place in self.in_lists)
        return in_list or self.damaged.value or any(one.value for one in (self.bad_entries, *self.reactions))


def _ask_traces(pipe: Pipe, one: Written) -> Traces:
    pid, author = one
    return Traces(
        pipe.hexists(keys.user(author), "username"),
        [pipe.lpos(key, str(pid)) for key in (keys.timeline(pid), keys.home(author))],
        pipe.zcount(keys.updates(author), str(pid), str(pid)),
        ask_damaged(pipe, keys.updates(author)),
        # Not replies and quotes: these outlive a deletion, which a server may have lost.
        [pipe.zcard(key) for key in (keys.liked_by(pid), keys.reposted_by(pid))],
        settling.ask_look(pipe, settling.written_by(author, [pid])),
    )


class Evidence:
    """Tells which of the posts that `updates:` lacks were published, by what comes after the commit alone: timelines,
    listings, likes and reposts, and what `doctor` has noted of losses. An author of whom one such post was published
    has lost entries, so all missing posts of that author are lost. It only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told_of: set[int] = set()  # the authors of whom other things than the global timeline tell losses

    def split(self, pids: Sequence[int]) -> tuple[list[Written], list[Written]]:
        """The posts that their author's `updates:` lacks: those that were published, and those of which nothing tells
        it. Round trips as for `unlisted` and `published`."""
        unlisted = self.unlisted(pids)
        published = self.published(unlisted)
        return [one for one in unlisted if one in published], [one for one in unlisted if one not in published]

    def unlisted(self, pids: Sequence[int]) -> list[Written]:
        """The posts that are not deleted and are missing from their author's `updates:`. Two round trips."""
        stored = answers(self._store, lambda pipe, pid: pipe.hmget(keys.post(pid), ["user_id", "deleted"]), pids)
        written = [
            Written(pid, stored_id(keys.post(pid), author) or 0)
            for pid, (author, deleted) in stored.items()
            if deleted is None
        ]
        scores = answers(self._store, lambda pipe, one: pipe.zscore(keys.updates(one.author), str(one.pid)), written)
        return [one for one, score in scores.items() if score is None]

    def published(self, missing: Sequence[Written]) -> set[Written]:
        """Those of these missing posts that are in a timeline or in a listing, that somebody likes or reposts, for
        which `updates:` has a bad entry, or had any, or of whose author another post is known to be lost. None of an
        author who does not exist: it could not be put back. Two round trips, and once those that find the authors with
        losses in the global timeline; where others are found, those of `_authors_of_missing`: once for all, because it
        reads the whole outbox."""
        asked = handles(self._store, _ask_traces, missing)
        asked = {one: traces for one, traces in asked.items() if traces.author_exists.value}
        with self._store.pipeline() as pipe:
            in_listings = {
                one: [pipe.zscore(key, str(one.pid)) for key in traces.look.value.seen[one.pid].stands_in]
                for one, traces in asked.items()
            }
        proven = {
            one
            for one, traces in asked.items()
            if traces.prove or any(score.value is not None for score in in_listings[one])
        }
        known = self.authors_with_losses if asked else set()
        self._told_of |= self._authors_of_missing([one.pid for one in proven if one.author not in known])
        losses = known | self._told_of
        return proven | {one for one in asked if one.author in losses}

    @property
    def authors_with_losses(self) -> set[int]:
        """Those that were found by now. A repair removes what tells of them, so they must be found before the first."""
        return self._in_timeline | self._told_of

    @cached_property
    def _in_timeline(self) -> set[int]:
        """The authors with a post that is in the global timeline and missing from their `updates:`."""
        timelines = answers(self._store, lambda pipe, key: pipe.lrange(key, 0, -1), keys.timeline.all())
        listed = [pid for key, entries in timelines.items() for pid in parse_whole(key, entries).ids]
        return self._authors_of_missing(listed)

    def _authors_of_missing(self, pids: Sequence[int]) -> set[int]:
        """The authors of those of these posts that are missing from their `updates:`, and on which no job is at work. A
        post may have been published or deleted since it was looked at."""
        missing = confirmed(self._store, self.unlisted(pids), self.unlisted, jobs_on_own, itemgetter(0))
        return {one.author for one in missing}
