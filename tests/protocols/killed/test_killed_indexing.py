"""The index of the search: a worker and `reindex`, killed between any two commands."""

import pytest
from django.core.management import call_command

from retwis_site.jobs.worker import drain
from retwis_site.store.client import connect
from tests.support.processes.scenes import CAROL, MOST, kill_at_every_command
from tests.support.stored_keys import publish
from tests.support.stores.indexed_posts import posts_under
from timeline.posts.repository import Posts
from timeline.search.index.postings import BUCKETS

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

REINDEX = {"command": ["reindex"]}


def publish_some(scene):
    scene.cats = publish(scene.raw, connect(), scene.carol, "Feeding the cats")
    scene.dogs = publish(scene.raw, connect(), scene.carol, "Walking the dogs")


def check_found(scene, where):
    for term, pids in {"from:1": {scene.pid}, "cat": {scene.cats}, "dog": {scene.dogs}}.items():
        assert posts_under(connect(), term) == pids, (where, term)


def test_a_worker_that_indexes(scene, capsys):
    def work(scene):
        publish_some(scene)
        return {"command": ["deliver", "--once"]}

    kill_at_every_command(scene, capsys, work, lambda scene, where, through: check_found(scene, where))


def test_a_worker_that_indexes_an_edit(scene, capsys):
    def work(scene):
        publish_some(scene)
        drain(connect(), "before")
        Posts(connect()).edit(CAROL, scene.cats, "Feeding the birds")
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        assert posts_under(connect(), "bird") == {scene.cats}, where
        check_found(scene, where)  # the index keeps the word that an edit took away

    kill_at_every_command(scene, capsys, work, check)


def check_reindexed(scene, where, through):
    """After a kill, the next run completes it."""
    if not through:
        call_command("reindex", verbosity=0)
    assert not scene.raw.exists("search_index", "lease:reindex"), where
    check_found(scene, where)


def test_the_first_reindex(scene, capsys):
    def work(scene):
        publish_some(scene)
        scene.raw.delete("outbox", *scene.raw.keys("postings:*"))
        return REINDEX

    kill_at_every_command(scene, capsys, work, check_reindexed)


def test_a_reindex_of_an_index(scene, capsys):
    """Between, it removes the key of each bucket."""

    def work(scene):
        publish_some(scene)
        drain(connect(), "before")
        return REINDEX

    kill_at_every_command(
        scene, capsys, work, check_reindexed, [*range(8), BUCKETS // 2, *range(BUCKETS, BUCKETS + MOST)]
    )
