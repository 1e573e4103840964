"""Edges, killed between any two commands."""

import pytest

from retwis_site.store.client import connect
from tests.support.processes.scenes import ALICE, BOB, CAROL, kill_at_every_command
from tests.support.protocols.relations import CASES
from tests.support.stored_keys import follower_counts, publish, ranking
from tests.support.stores.key_layouts import make_due
from timeline.relations.follow import Follows

pytestmark = [pytest.mark.real_server, pytest.mark.faults]


@pytest.mark.parametrize("verb", ["follow", "unfollow"])
def test_a_follow_or_unfollow(scene, capsys, verb):
    def work(scene):
        publish(scene.raw, connect(), scene.carol, "By carol")
        if verb == "unfollow":
            Follows(connect()).follow(BOB, CAROL)
        scene.home(scene.bob)
        return {"path": f"/@carol/{verb}/", "form": {}, "secret": scene.secret(scene.bob)}

    def check(scene, where, through):
        since = scene.raw.zscore("following:2", CAROL)
        assert scene.raw.zscore("followers:3", BOB) == since, where
        assert ranking(scene.raw) == follower_counts(scene.raw), where
        assert scene.home(scene.bob) == (["By carol", "Before"] if since else ["Before"]), where
        assert not through or (since is not None) == (verb == "follow"), where

    kill_at_every_command(scene, capsys, work, check)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_edges_that_a_worker_finishes(scene, capsys, case):
    """Two requests have died: alice's after it has set her edge, carol's after it has removed hers."""

    def work(scene):
        case.set(connect(), CAROL)()
        case.die_after_commit(connect(), "set", ALICE)
        case.die_after_commit(connect(), "unset", CAROL)
        make_due(scene.raw)
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        assert None not in case.scores(scene.raw, ALICE), where
        assert case.scores(scene.raw, CAROL) == (None, None), where

    kill_at_every_command(scene, capsys, work, check)
