"""Imports, killed between any two commands."""

import pytest
from django.core.management import call_command

from tests.support.maintenance.downloads import download_file
from tests.support.maintenance.site_files import empty, export, import_
from tests.support.processes.scenes import kill_at_every_command
from tests.support.stored_keys import follower_counts, ranking

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

SOONER, LATER = "2023-11-14T22:13:21Z", "2023-11-14T22:13:22Z"


def test_an_import_of_a_whole_site(scene, capsys, tmp_path):
    """After a kill, the next run completes it."""
    path = tmp_path / "site.jsonl"

    def work(scene):
        export(path)
        empty(scene.raw)
        return {"command": ["import", str(path)]}

    def check(scene, where, through):
        if scene.raw.get("next_user_id") != "3":
            assert not through, where
            import_(path)
        assert scene.raw.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}, where
        assert ranking(scene.raw) == follower_counts(scene.raw) == {"1": 2}, where
        assert scene.everyone() == scene.home(scene.bob) == ["Before"], where
        assert scene.raw.mget("next_post_id", "schema") == ["1", "1"], where

    kill_at_every_command(scene, capsys, work, check)


def test_an_import_of_a_download(scene, capsys, tmp_path):
    """After a kill, a worker finishes the posts that were written, and the next run brings back the others."""
    path = tmp_path / "download.jsonl"

    def work(scene):
        path.write_bytes(download_file([(7, LATER, "later"), (6, SOONER, "sooner")]))
        return {"command": ["import_account", str(path), "--into-existing"]}

    def check(scene, where, through):
        bodies = [scene.raw.hget(f"post:{pid}", "body") for pid in scene.raw.zrange("updates:1", 0, -1)]
        assert set(bodies) <= {"Before", "sooner", "later"}, where
        assert len(bodies) == len(set(bodies)) == 3 or not through, where
        assert scene.home(scene.bob) == scene.everyone() == bodies[::-1], where
        call_command("import_account", str(path), "--into-existing", verbosity=0)
        assert sorted(scene.home(scene.bob)) == ["Before", "later", "sooner"], where
        assert sorted(scene.everyone()) == ["Before", "later", "sooner"], where
        call_command("cleanup", verbosity=0)

    kill_at_every_command(scene, capsys, work, check)
