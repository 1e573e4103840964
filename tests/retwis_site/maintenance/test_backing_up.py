"""`manage.py db backup` writes a folder with the snapshot and a manifest, while the site runs."""

import contextlib
import hashlib
import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from retwis_site.maintenance.backups import Snapshot, read_manifest
from tests.support.command_output import refuses, said
from tests.support.maintenance.backups import back_up, complete, restore
from tests.support.processes.processes import wait_until
from tests.support.stored_keys import everything

pytestmark = [pytest.mark.real_server, pytest.mark.usefixtures("may_sync")]


def test_a_backup_is_a_snapshot_and_a_manifest_that_only_its_user_can_read(site, tmp_path):
    made = back_up(tmp_path / "backups")
    snapshot = made / "store-1.rdb"
    manifest = json.loads((made / "manifest.json").read_text())
    assert snapshot.read_bytes()[:5] in {b"REDIS", b"VALKE"}
    assert {path.name: path.stat().st_mode & 0o777 for path in (made.parent, made, *made.iterdir())} == {
        "backups": 0o700,
        made.name: 0o700,
        "store-1.rdb": 0o600,
        "manifest.json": 0o600,
    }
    digest = hashlib.sha256(snapshot.read_bytes()).hexdigest()
    assert manifest["files"] == [{"name": "store-1.rdb", "bytes": snapshot.stat().st_size, "sha256": digest}]
    assert (manifest["users"], manifest["keys"]) == (3, site.dbsize())
    assert made.name == manifest["made_at"].replace(":", "-")
    assert manifest["errors"] is None


def test_a_backup_changes_nothing_in_the_store(site, tmp_path):
    before = everything(site)
    back_up(tmp_path, "--verify")
    assert everything(site) == before


def test_a_backup_is_of_one_moment_while_the_site_writes(site, tmp_path):
    """The counter and the mirror are written one after the other; no later moment is mixed in."""
    stop = threading.Event()
    written = []

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            site.hset("user:1", "bio", number)
            site.hset("user:2", "bio", number)
            written.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    wait_until(lambda: len(written) > 100, "writes")
    made = back_up(tmp_path)
    stop.set()
    writer.join()
    site.flushall()
    restore(made)
    first, second = (int(site.hget(f"user:{uid}", "bio")) for uid in (1, 2))
    assert first - second in {0, 1}
    assert 100 < first < len(written)


def test_verify_loads_the_backup_and_runs_the_checks_of_doctor(site, tmp_path, capsys):
    expected = "A server has loaded the backup: 3 users, 3 posts. `doctor` finds 0 errors in it."
    assert expected in said(capsys, "backup", str(tmp_path), "--verify")
    (made,) = complete(tmp_path)
    assert read_manifest(made).errors == 0


@pytest.mark.parametrize(("due_ago", "errors"), [(5, 0), (90, 1)])
def test_a_job_is_overdue_in_a_backup_by_the_time_at_which_it_was_made(site, tmp_path, monkeypatch, due_ago, errors):
    """The checks of a large site take minutes, and no worker is at work in its copy."""
    made_at = int(time.time()) - 300
    monkeypatch.setattr("retwis_site.maintenance.backups.time", SimpleNamespace(time=lambda: made_at))
    site.zadd("outbox", {"index:1:abc": made_at - due_ago})
    with contextlib.suppress(CommandError):
        back_up(tmp_path, "--verify")
    (made,) = complete(tmp_path)
    assert read_manifest(made).errors == errors


@pytest.mark.parametrize("verbosity", [0, 1])
def test_errors_in_the_backup_are_printed_and_the_last_line_at_any_verbosity(site, tmp_path, capsys, verbosity):
    """cron sends a mail only for a command that prints something."""
    site.zrem("followers:1", 2)
    with pytest.raises(CommandError) as ended:
        call_command("backup", str(tmp_path), "--verify", verbosity=verbosity)
    (made,) = complete(tmp_path)
    assert str(ended.value) == f"{made} is complete, but the store has errors: 2. Run `manage.py doctor --fix`."
    found = "error: entries of following: missing from followers:, or unknown: 1" in capsys.readouterr().out
    assert found is (verbosity == 1)
    assert read_manifest(made).errors == 2  # the follower is missing, and so is its count


def test_a_store_without_users_is_refused_and_leaves_nothing(raw, tmp_path):
    """A server that has restarted empty must not push good backups out."""
    refuses(r"^No user is registered in this store\. Set REDIS_URL", "backup", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_backup_that_no_server_can_load_is_not_kept(site, tmp_path, monkeypatch):
    monkeypatch.setattr(Snapshot, "__iter__", lambda snapshot: iter([b"REDIS9999"]))
    refuses(r"store-1\.rdb, which begins with 'REDIS9999': .*install that one", "backup", str(tmp_path), "--verify")
    assert list(tmp_path.iterdir()) == []


def test_without_the_rights_it_fails_names_them_and_leaves_nothing(site, rights, tmp_path):
    rights("-sync")
    refuses(r"Give its user \+sync \+replconf\. .*manage.py export", "backup", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(site, tmp_path):
    (tmp_path / "file").write_text("")
    refuses(r"file: .*Name a folder on a disk with room\.", "backup", str(tmp_path / "file"))


def test_another_backup_that_is_completed_meanwhile_does_not_end_this_one(site, tmp_path, monkeypatch):
    other, named, glob = tmp_path / ".unfinished-other", tmp_path / "2026-01-01T00-00-00Z", Path.glob
    other.mkdir()

    def then_completed(folder, pattern):
        found = [*glob(folder, pattern)]
        if pattern != "*" and other in found:
            other.rename(named)
        return found

    monkeypatch.setattr(Path, "glob", then_completed)
    call_command("backup", str(tmp_path), verbosity=0)
    assert named in complete(tmp_path)
    assert len(complete(tmp_path)) == 2


def test_what_a_backup_cannot_remove_stays_and_does_not_end_it(site, tmp_path):
    """Such as the folder of a killed backup of another user."""
    (tmp_path / ".unfinished-x").write_text("")
    back_up(tmp_path)
    assert (tmp_path / ".unfinished-x").exists()


def test_a_backup_needs_no_file_at_the_server(site, settings, tmp_path):
    """A dump.rdb that was left there would hold everyone's sessions."""
    before = {path.name for path in Path(settings.STORE_DIR).iterdir()}
    back_up(tmp_path)
    assert {path.name for path in Path(settings.STORE_DIR).iterdir()} == before


def test_the_embedded_store_is_backed_up_while_the_site_does_not_run(embedded_site, tmp_path):
    call_command("seed", "--users=3", "--posts=5", "--follows=1", "--noinput", verbosity=0)
    assert read_manifest(back_up(tmp_path / "backups", "--verify")).users == 3


def test_the_backup_of_an_official_database_is_loaded_and_counted(raw, tmp_path, capsys):
    raw.hset("users", "alice", 1)
    raw.hset("user:1", mapping={"username": "alice", "password": "as typed"})
    raw.set("next_user_id", 1)
    raw.hset("post:1", mapping={"user_id": 1, "time": 1, "body": "old"})
    raw.set("next_post_id", 1)
    printed = said(capsys, "backup", str(tmp_path), "--verify")
    assert "1 users, 1 posts. The official Retwis has written them: `doctor` can check them after `adopt`." in printed
    assert len(complete(tmp_path)) == 1


def test_the_verification_of_a_backup_counts_bad_values(site, tmp_path):
    site.zadd("following:1", {b"\xff": 5, "9" * 5000: 6})
    refuses("the store has errors: 2", "backup", str(tmp_path), "--verify")


def test_the_verification_of_a_backup_says_which_checks_could_not_run_and_why(site, tmp_path, capsys):
    site.delete("liked_by:1")
    site.set("liked_by:1", "no sorted set")
    refuses("the store has errors: ", "backup", str(tmp_path), "--verify")
    told = capsys.readouterr().out
    assert "error: keys of the wrong type: 1\n" in told
    assert "could not run: wrong numbers in post:: the store refused ZCARD: WRONGTYPE" in told
    assert "error: wrong numbers in post:" not in told
