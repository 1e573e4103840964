"""Posts, workers and a reindex interleaved, with and without killed processes: a search finds every post by its text.

Each scenario runs in random interleavings.
"""

import contextlib
from collections import deque
from functools import partial

import pytest

from retwis_site.jobs.worker import drain
from retwis_site.store import snowflake
from retwis_site.store.local_cache import Memory
from tests.support.protocols.interleaving import interleave
from tests.support.protocols.small_site import BOB, CAROL, finish_jobs, make_small_site
from tests.support.stored_posts import write_posts
from tests.support.stores.indexed_posts import posts_under
from tests.support.stores.seam import before_part, each_moment, examples
from timeline.posts.entities import NO_LINKS
from timeline.search import index
from timeline.search.index import Indexing, terms_of
from timeline.search.rebuilding import AlreadyReindexing, Rebuilding

pytestmark = pytest.mark.indexed

RUNS = 25  # seeds for each scenario
ROUNDS = 5  # each takes the round trips apart in its own way


@pytest.fixture(params=["counted", "timed"])
def first(raw, store, request, settings, monkeypatch):
    """Begins each run anew: two posts of carol are in the index, with ids from the counter, or from the time in ranges
    of two posts. Returns the id of the first."""

    def begin():
        make_small_site(raw)
        pids = [3, 4] if request.param == "counted" else [snowflake.make(), snowflake.make()]
        write_posts(raw, CAROL, pids)
        raw.set("next_post_id", "4")
        Indexing(store).index([1, 2, *pids])
        return pids[0]

    if request.param == "timed":
        settings.POST_IDS = "snowflake"
        monkeypatch.setattr(index, "MOST_POSTS", 2)
    return begin


def reindex(store):
    with contextlib.suppress(AlreadyReindexing):
        running = Rebuilding(store)
        running.begin()
        for _ in running:
            pass


SCENARIOS = {
    "two posts, two workers": lambda s, pid: [s.post(BOB), s.post(CAROL), s.worker("one"), s.worker("two")],
    "two edits of a post, two workers": lambda s, pid: [
        s.edit(CAROL, pid, "cats"),
        s.edit(CAROL, pid, "dogs"),
        s.worker("one"),
        s.worker("two"),
    ],
    "an edit and the deletion of a post, a worker": lambda s, pid: [
        s.edit(CAROL, pid, "cats"),
        s.delete(CAROL, pid),
        s.worker("one"),
    ],
    "a post, a worker, a reindex": lambda s, pid: [s.post(BOB), s.worker("one"), partial(reindex, s.store)],
    "a post, an edit, two workers, a reindex": lambda s, pid: [
        s.post(BOB),
        s.edit(CAROL, pid, "cats"),
        s.worker("one"),
        s.worker("two"),
        partial(reindex, s.store),
    ],
    "a post, a worker, two reindexes": lambda s, pid: [
        s.post(BOB),
        s.worker("one"),
        partial(reindex, s.store),
        partial(reindex, s.store),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_post_is_found_by_its_text(acts, store, raw, first, scenario, kills):
    for seed in range(examples(RUNS)):
        interleave(seed, kills, SCENARIOS[scenario](acts, first()))
        finish_jobs(store, raw)
        if raw.hexists("search_index", "reindexed"):
            assert kills, seed
            reindex(store)
        assert_all_are_found(store, raw, seed)


def assert_all_are_found(store, raw, where):
    Memory.clear_all()
    for uid in (BOB, CAROL):
        for pid in map(int, raw.zrange(f"updates:{uid}", 0, -1)):
            for term in terms_of(uid, raw.hget(f"post:{pid}", "body"), NO_LINKS):
                assert pid in posts_under(store, term), (where, pid, term)


def test_a_post_that_is_written_and_indexed_between_two_parts_of_a_reindex_is_found(acts, store, raw, first):
    def write():
        acts.post(BOB)()
        drain(store, "worker")

    for step in each_moment():
        first()
        with before_part(step, write):
            reindex(store)
        finish_jobs(store, raw)
        assert_all_are_found(store, raw, step)


def test_an_edit_between_two_parts_of_a_workers_job_is_found(acts, store, raw, first):
    for step in each_moment():
        pid = first()
        acts.edit(CAROL, pid, "cats")()
        with before_part(step, acts.edit(CAROL, pid, "dogs")):
            drain(store, "worker")
        finish_jobs(store, raw)
        assert_all_are_found(store, raw, step)


def test_a_post_that_a_worker_indexes_while_a_reindex_goes_on_that_has_not_seen_it_is_found(acts, store, raw, first):
    for step in each_moment(rounds=ROUNDS):
        first()
        running = Rebuilding(store)
        running.begin()
        acts.post(BOB)()
        with before_part(step, lambda running=running: deque(running)):
            drain(store, "worker")
        assert_all_are_found(store, raw, step)
