"""Checks of the index: the search must find the posts. Only a sample is looked up: to look up all takes as long as
`reindex`."""

from array import array
from collections.abc import Sequence
from functools import partial

from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids, ids_of
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store import keys, kinds
from retwis_site.store.chunks import batches
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id
from timeline.posts.checks import at_work_on
from timeline.search.index.postings import ask_posts, ask_ranges, ask_ranges_with
from timeline.search.index.rebuilding import LEASE_OF, stray_postings
from timeline.search.index.writing import LAST, Indexing

SAMPLE = 500  # posts; each has some 20 terms
LOOKED_UP_AT_ONCE = 50  # posts


def advice(store: Store) -> list[Advice]:
    """What a search needs that only `reindex` does. Four round trips; a scan of all keys without an index."""
    if store.get(keys.lease(LEASE_OF)) is not None:
        return []
    if _is_unfinished(store):
        text = "A `reindex` has not ended: searches miss some posts."
        return [Advice("retwis.W017", text, "Run `manage.py reindex` again: it goes on where it stopped.")]
    if any(ids_of(store, "post:*")) and not _has_index(store):
        text = "There is no index of the search: searches find no post."
        return [Advice("retwis.W017", text, "Run `manage.py reindex`, also while the site runs.")]
    return []


def _is_unfinished(store: Store) -> bool:
    return store.hget(keys.search_index(), LAST) is not None


def _has_index(store: Store) -> bool:
    return any(store.scan_keys(kinds.matching("posting_bits:*"), AT_ONCE))


class IndexChecks:
    """Searches the index. A repair relies on the checks of posts, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._indexing = Indexing(store)
        self._found = array("Q")

    def inconsistencies(self) -> list[Check]:
        """Posts that do not stand under all of their terms. None in a store without a whole index: `advice` tells."""
        label = f"posts that a search misses, in a sample of {SAMPLE}"
        return [Check(label, (keys.post,), self.note, self.missed)]

    def orphans(self) -> list[Check]:
        return [Check("parts of the search's index that are no longer used", at_end=self.strays)]

    def note(self, names: list[str]) -> Chunks:
        for pids in ids(self._store, names):
            self._found.extend(pids)
            yield []

    def missed(self) -> Chunks:
        """The same store has the same sample."""
        if _is_unfinished(self._store) or not _has_index(self._store):
            return
        sample = sorted(self._found)[:: -(-len(self._found) // SAMPLE) or 1]
        missed = [pid for pids in batches(sample, LOOKED_UP_AT_ONCE) for pid in self._missed(pids)]
        wrong = confirmed(self._store, missed, self._missed, lambda pid: at_work_on(pid) | {f"index:{pid}"})
        yield [Finding(f"a search misses {keys.post(pid)}", partial(self._indexing.index, [pid])) for pid in wrong]

    def _missed(self, pids: Sequence[int]) -> list[int]:
        """Two round trips, and two where something is missed."""
        pipe = self._store.pipeline()
        ranges = ask_ranges(pipe)
        terms = self._indexing.terms(pids)
        pipe.execute()
        places = {(ranges.value.of(pid), term) for pid, of_post in terms.items() for term in of_post}
        asked = {place: (ask_posts(pipe, *place), ask_ranges_with(pipe, [place[0]], [place[1]])) for place in places}
        pipe.execute()
        found = {place: posts.value if has_term.value else set() for place, (posts, has_term) in asked.items()}
        return self._published(
            [
                pid
                for pid, of_post in terms.items()
                if any(pid not in found[ranges.value.of(pid), term] for term in of_post)
            ]
        )

    def _published(self, pids: Sequence[int]) -> list[int]:
        """Those that stand among the posts of their authors. The others may be on their way, or never come."""
        pipe = self._store.pipeline()
        authors = [(pid, pipe.hget(keys.post(pid), "user_id")) for pid in pids]
        pipe.execute()
        uids = [(pid, stored_id(keys.post(pid), author.value)) for pid, author in authors]
        listed = [(pid, pipe.zscore(keys.updates(uid or 0), str(pid))) for pid, uid in uids]
        pipe.execute()
        return [pid for pid, score in listed if score.value is not None]

    def strays(self) -> Chunks:
        """The keys of ranges that are none any more."""
        for names in stray_postings(self._store):
            yield [Finding(name, partial(self._store.unlink, name)) for name in names]
