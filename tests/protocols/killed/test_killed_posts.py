"""A post, its delivery and its deletion, killed between any two commands."""

import pytest

from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from tests.support.processes.scenes import ALICE, NO_KILL, kill_at_every_command
from tests.support.stored_keys import publish

pytestmark = [pytest.mark.real_server, pytest.mark.faults]


def check_post(scene, where, through):
    """Every home has the new post once, or no home has it. After the form is sent again, every home has it once."""
    seen = scene.home(scene.alice)
    assert seen in (["Before"], ["Hello", "Before"]), where
    assert len(seen) == 2 or not through, where
    for _ in range(2):
        assert scene.home(scene.bob) == scene.home(scene.carol) == scene.everyone() == seen, where
    scene.cut.after(NO_KILL)
    scene.victims.run(path="/post/", form={"body": "Hello", "token": "t"}, secret=scene.secret(scene.alice))
    Memory.clear_all()
    for login in (scene.alice, scene.bob, scene.carol):
        assert scene.home(login) == ["Hello", "Before"], where


def test_a_post(scene, capsys):
    def work(scene):
        return {"path": "/post/", "form": {"body": "Hello", "token": "t"}, "secret": scene.secret(scene.alice)}

    kill_at_every_command(scene, capsys, work, check_post)


def test_a_post_that_a_worker_delivers(scene, capsys):
    def work(scene):
        form = {"body": "Hello", "token": "t"}
        return {"path": "/post/", "form": form, "secret": scene.secret(scene.alice), "inline_limit": 1}

    kill_at_every_command(scene, capsys, work, check_post)


@pytest.mark.parametrize("left", ["whole", "its followers"])
def test_a_delivery_by_a_worker(scene, capsys, left):
    """A killed request has left the whole delivery, or a request has left the delivery to the followers."""

    def work(scene):
        pid = scene.raw.incr("next_post_id")
        scene.raw.hset(f"post:{pid}", mapping={"user_id": ALICE, "time": 1, "body": "Hello"})
        scene.raw.set(f"idem:{ALICE}:t", pid, ex=600)
        if left == "its followers":
            scene.raw.zadd(f"updates:{ALICE}", {pid: pid})
            scene.raw.lpushx(f"posts:{ALICE}", pid)
            scene.raw.lpush("timeline", pid)
        scene.raw.zadd("outbox", {f"{'post' if left == 'whole' else 'fan'}:{pid}:x": 1})
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        assert scene.home(scene.alice) == ["Hello", "Before"], where
        check_post(scene, where, through=True)

    kill_at_every_command(scene, capsys, work, check)


def test_a_deletion(scene, capsys):
    def work(scene):
        return {"path": f"/@alice/{scene.pid}/delete/", "form": {}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        deleted = scene.raw.hexists(f"post:{scene.pid}", "deleted")
        assert deleted or not through, where
        assert scene.raw.zcard("updates:1") == (0 if deleted else 1), where
        assert (scene.raw.ttl(f"post:{scene.pid}") > 0) == deleted, where
        for login in (scene.alice, scene.bob, scene.carol):
            assert scene.home(login) == ([] if deleted else ["Before"]), where

    kill_at_every_command(scene, capsys, work, check)


def test_a_rebuild(scene, capsys):
    def work(scene):
        return {"path": "/", "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        publish(scene.raw, connect(), scene.alice, "After")
        assert scene.home(scene.carol) == ["After", "Before"], where
        assert scene.home(scene.carol) == ["After", "Before"], where

    kill_at_every_command(scene, capsys, work, check)
