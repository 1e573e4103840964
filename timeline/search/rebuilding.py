"""The whole index is written anew, by `reindex` and after posts were written by other ways than publishing.

First the run says that it is at work; then it looks for the posts. The newest range comes first: its keys are removed,
then its posts are read and written, each key with one command. A post that came after the look is noted by the worker
that indexes it (`Indexing`), and written again at the end. A store without an index, as after an import, has nothing to
remove. A run that was killed goes on below the range that it has written last.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise

from retwis_site.exceptions import NotDone
from retwis_site.jobs.outbox import LEASE, LongLease
from retwis_site.maintenance import checks
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store import keys, kinds
from retwis_site.store.chunks import AT_ONCE, batches, in_order
from retwis_site.store.client import Store, answer, answers, for_each, handles
from retwis_site.store.ids import LARGEST_ID, parse_id, parse_number
from retwis_site.store.snowflake import SMALLEST
from timeline.posts.checks import at_work_on
from timeline.posts.evidence import Evidence
from timeline.search import index

LEASE_OF = "reindex"  # one process at a time writes the index anew
BITS_AT_ONCE = 2000  # terms; a range has some 20,000, more than a proxy passes on before its timeout


class AlreadyReindexing(NotDone):
    """Another process writes the index anew, or was killed less than LEASE seconds ago."""

    def __str__(self) -> str:
        return f"Another process writes the index. If it was killed, run `manage.py reindex` in {LEASE} seconds."


class Rebuilding:
    """Writes the index anew: `begin`, then iterate to write a range a step. `posts`: how many were found."""

    def __init__(self, store: Store) -> None:
        self._lease = LongLease(store, LEASE_OF, AlreadyReindexing)
        self._store = self._lease.store
        self._indexing = index.Indexing(self._store)
        self._pids: Sequence[int] = ()
        self._left: list[index.Range] = []
        self._has_index = True

    @property
    def posts(self) -> int:
        return len(self._pids)

    def steps(self) -> int:
        return len(self._left)

    def begin(self) -> None:
        """Find all posts, and divide those with ids from the time into ranges. Raises AlreadyReindexing.

        Two round trips for each 500 keys of the store; one more for each in a store with ids from the time."""
        self._lease.begin()
        last = parse_number(self._store.hget(keys.search_index(), index.LAST) or "")
        if last is None:
            forget_progress(self._store)
            last = LARGEST_ID
        self._has_index = any(self._store.scan_keys(kinds.matching("postings:*"), AT_ONCE))
        self._pids = self._all_posts()
        if last == LARGEST_ID:
            self._divide()
        ranges = answer(self._store, index.ask_ranges)
        self._left = [within for within in self._ranges(ranges) if within.first < last]

    def _ranges(self, ranges: index.Ranges) -> list[index.Range]:
        """The ranges that have posts, the highest ids first."""
        found: list[index.Range] = []
        place = 0
        while place < len(self._pids):
            found.append(ranges.of(self._pids[place]))
            place = bisect_left(self._pids, found[-1].after)
        return found[::-1]

    def __iter__(self) -> Iterator[None]:
        """Raises AlreadyReindexing or LeaseEnded when this process was so slow that another one may have taken over."""
        try:
            for within in self._left:
                self._write(within)
                self._store.hset(keys.search_index(), {index.LAST: str(within.first)})
                yield
            self._remove_strays()
            self._write_late()
            self._lease.renew()
            self._store.hdel(keys.search_index(), index.LAST)
        finally:
            self._lease.end()

    def _all_posts(self) -> Sequence[int]:
        """The ids of all posts, reposts and deleted ones included, in their order. 24 bytes each meanwhile, then 8."""
        found = array("Q")
        for pids in checks.ids_of(self._store, keys.post):
            found.extend(pids)
            self._lease.renew()
        return array("Q", (pid for pid, _ in groupby(in_order(found))))

    def _divide(self) -> None:
        """Say where the ranges of ids from the time begin. The posts are looked for again: a worker may have written
        one of them in between, into a range that is no longer one."""
        timed = self._pids[bisect_left(self._pids, SMALLEST) :]
        if not timed:
            return
        starts = _starts(timed)
        stored = {int(start) for start in self._store.zrange(keys.posting_ranges(), 0, -1) if parse_number(start)}
        with self._store.pipeline() as pipe:
            pipe.zadd(keys.posting_ranges(), {str(start): start for start in starts})
            for start in stored:
                if start not in starts and start <= timed[-1]:
                    pipe.zrem(keys.posting_ranges(), str(start))
            places = [0, *(bisect_left(timed, start) for start in starts[1:]), len(timed)]
            posts = (str(after - first) for first, after in pairwise(places))
            pipe.hset(keys.search_index(), dict(zip((f"posts:{start}" for start in starts), posts, strict=True)))
        self._pids = self._all_posts()

    def _write(self, within: index.Range) -> None:
        """Write a range. A round trip for each 500 posts, one for each BITS_AT_ONCE terms, and two more."""
        self._lease.renew()
        stale = [keys.postings(within.first, bucket) for bucket in range(index.BUCKETS)] if self._has_index else []
        for_each(self._store, lambda pipe, key: pipe.unlink(key), stale)
        terms: index.Terms = {}
        start, end = (bisect_left(self._pids, pid) for pid in (within.first, within.after))
        for pids in batches(self._pids[start:end], AT_ONCE):
            terms |= self._indexing.terms(pids)
            self._lease.renew()
        posts = index.by_term(terms)
        for some in batches(posts, BITS_AT_ONCE):
            with self._store.pipeline() as pipe:
                index.queue_bits(pipe, within, some)
            self._lease.renew()
        with self._store.pipeline() as pipe:
            index.queue_records(pipe, within, posts)

    def _remove_strays(self) -> None:
        for _, all_names in checks.keys_of(self._store, [keys.postings]):
            names = stray_postings(self._store, all_names)
            self._lease.renew()
            for_each(self._store, lambda pipe, name: pipe.unlink(name), names)

    def _write_late(self) -> None:
        """Write the posts that workers have written since the run began. No key is removed any more, so what comes
        from here on is not lost. Four round trips for each 500 of them."""
        for chunk in self._store.hash_fields(keys.search_index(), AT_ONCE):
            self._lease.renew()
            late = [field for field, _ in chunk if field.startswith(index.LATE)]
            self._indexing.index([pid for field in late if (pid := parse_id(field.removeprefix(index.LATE)))])
            for_each(self._store, lambda pipe, field: pipe.hdel(keys.search_index(), field), late)


def forget_progress(store: Store) -> None:
    """Let the next run write the whole index, and not only what a killed run has left. Until it has ended, workers note
    what they write. One round trip."""
    store.hset(keys.search_index(), {index.LAST: str(LARGEST_ID)})


def _starts(timed: Sequence[int]) -> list[int]:
    """Where ranges begin, for posts with these ids from the time."""
    starts, posts = [SMALLEST], 0
    for pid in timed:
        if posts >= index.MOST_POSTS or pid - starts[-1] > index.LONGEST:
            starts.append(pid)
            posts = 0
        posts += 1
    return starts


def stray_postings(store: Store, names: Sequence[str]) -> list[str]:
    """Those of these keys whose ranges are none any more. One round trip."""
    ranges = answer(store, index.ask_ranges)
    known = [(name, int(name.split(":")[-2])) for name in names]
    return [name for name, first in known if ranges.of(first).first != first]


# ---- Checks: the search must find the posts. Only a sample is looked up: to look up all takes as long as `reindex`.


SAMPLE = 500  # posts; each has some 20 terms
LOOKED_UP_AT_ONCE = 50  # posts


def advice(store: Store) -> list[Advice]:
    """What a search needs that only `reindex` does. Four round trips; a scan of all keys without an index."""
    if _is_unfinished(store):
        is_leased = store.get(keys.lease(LEASE_OF)) is not None  # for a while also after the process was killed
        text = "A `reindex` has not ended: searches miss some posts."
        again = "Run `manage.py reindex` again: it goes on where it stopped."
        return [Advice("retwis.W017", text, str(AlreadyReindexing()) if is_leased else again)]
    if any(checks.ids_of(store, keys.post)) and not _has_index(store):
        text = "There is no index of the search: searches find no post."
        return [Advice("retwis.W017", text, "Run `manage.py reindex`, also while the site runs.")]
    return []


def _is_unfinished(store: Store) -> bool:
    return store.hget(keys.search_index(), index.LAST) is not None


def _has_index(store: Store) -> bool:
    return any(store.scan_keys(kinds.matching("posting_bits:*"), AT_ONCE))


class IndexChecks(checks.Searcher):
    """Searches the index. A repair relies on the checks of posts, which run before."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._indexing = index.Indexing(store)
        self._found = array("Q")

    def inconsistencies(self) -> list[checks.Check]:
        """Posts that do not stand under all of their terms. None in a store without a whole index: `advice` tells."""
        label = f"posts that a search misses, in a sample of {SAMPLE}"
        return [checks.Check(label, (keys.post,), self.note, self.missed)]

    def orphans(self) -> list[checks.Check]:
        label, look = "parts of the search's index that are no longer used", partial(stray_postings, self._store)
        return [self._check_of(label, keys.postings, look, read=checks.names_alone, jobs=lambda _: set())]

    def note(self, names: list[str]) -> checks.Chunks:
        for pids in checks.ids(self._store, names):
            self._found.extend(pids)
            yield []

    def missed(self) -> checks.Chunks:
        """The same store has the same sample. The repair writes these posts, and leaves the others to `reindex`."""
        if _is_unfinished(self._store) or not _has_index(self._store):
            return
        sample = sorted(self._found)[:: -(-len(self._found) // SAMPLE) or 1]
        missed = [pid for pids in batches(sample, LOOKED_UP_AT_ONCE) for pid in self._missed(pids)]
        wrong = checks.confirmed(self._store, missed, self._missed, lambda pid: at_work_on(pid) | {f"index:{pid}"})
        if wrong and len(sample) < len(self._found):  # a repair of the sample alone would hide that others are missed
            what = "a search may miss others, too: run `manage.py reindex`"
            yield [checks.Finding(what, partial(forget_progress, self._store), number=0)]
        yield [checks.Finding(f"a search misses {keys.post(pid)}", partial(self._write, pid)) for pid in wrong]

    def _write(self, pid: int) -> None:
        """Write a post again. A record that was cut would shift those behind it, so its rest is filled with zeros."""
        within = answer(self._store, index.ask_ranges).of(pid)
        buckets = {index.place(term)[0] for of_post in self._indexing.terms([pid]).values() for term in of_post}
        names = [keys.postings(within.first, bucket) for bucket in buckets]
        size = within.width + index.FINGERPRINT
        stored = answers(self._store, lambda pipe, name: pipe.get_bytes(name), names)
        missing = {name: -len(part or b"") % size for name, part in stored.items()}
        for_each(self._store, lambda pipe, name: pipe.append(name, bytes(missing[name])), filter(missing.get, missing))
        self._indexing.index([pid])

    def _missed(self, pids: Sequence[int]) -> list[int]:
        """Two round trips, and two where something is missed."""
        terms, ranges = self._indexing.terms(pids), answer(self._store, index.ask_ranges)
        asked = handles(
            self._store,
            lambda pipe, place: (index.ask_posts(pipe, *place), index.ask_ranges_with(pipe, [place[0]], [place[1]])),
            {(ranges.of(pid), term) for pid, of_post in terms.items() for term in of_post},
        )
        found = {place: posts.value if has_term.value else set() for place, (posts, has_term) in asked.items()}
        missed = [
            pid for pid, of_post in terms.items() if any(pid not in found[ranges.of(pid), term] for term in of_post)
        ]
        on_their_way = {pid for pid, _ in Evidence(self._store).unlisted(missed)}  # or they never come
        return [pid for pid in missed if pid not in on_their_way]
