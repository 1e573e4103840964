"""Checks of the index: the search must find the posts. Only a sample is looked up: to look up all takes as long as
`reindex`."""

from array import array
from collections.abc import Sequence
from functools import partial
from secrets import SystemRandom

from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import key_kinds, keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number, stored_id
from timeline.posts.checks.post_checks import at_work_on
from timeline.search.index.postings import ask_posts
from timeline.search.index.ranges import ask_ranges
from timeline.search.index.rebuilding import stray_postings
from timeline.search.index.writing import LAST, Indexing

SAMPLE = 500  # posts; each has some 20 terms
LOOKED_UP_AT_ONCE = 50  # posts


class IndexChecks:
    """Searches the index. A repair relies on the checks of posts, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._indexing = Indexing(store)

    def inconsistencies(self) -> list[Check]:
        return [Check(f"posts that a search misses, in a sample of {SAMPLE}", self.missed, self._store.dbsize)]

    def orphans(self) -> list[Check]:
        return [Check("parts of the search's index that are no longer used", self.strays, self._store.dbsize)]

    def missed(self) -> Chunks:
        """Posts that do not stand under all of their terms. None in a store without an index, of an older version of
        the site, and none that an unfinished `reindex` has still to write."""
        if not any(self._store.scan_keys(key_kinds.matching("postings:*"), AT_ONCE)):
            return
        written_down_to = parse_number(self._store.hget(keys.search_index(), LAST) or "") or 0
        found = array("Q")
        for pids in ids_of(self._store, "post:*"):
            found.extend(pid for pid in pids if pid >= written_down_to)
            yield []
        sample = SystemRandom().sample(found, min(SAMPLE, len(found)))
        missed = [pid for pids in batches(sample, LOOKED_UP_AT_ONCE) for pid in self._missed(pids)]
        wrong = confirmed(self._store, missed, lambda pid: at_work_on(str(pid)) | {f"index:{pid}"}, self._missed)
        yield [Finding(f"a search misses {keys.post(pid)}", partial(self._indexing.index, [pid])) for pid in wrong]

    def _missed(self, pids: Sequence[int]) -> list[int]:
        """Two round trips, and two where something is missed."""
        pipe = self._store.pipeline()
        ranges = ask_ranges(pipe)
        terms = self._indexing.terms(pids)
        pipe.execute()
        places = {(ranges.value.of(pid), term) for pid, of_post in terms.items() for term in of_post}
        asked = {place: ask_posts(pipe, *place) for place in places}
        pipe.execute()
        found = {place: posts.value for place, posts in asked.items()}
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
