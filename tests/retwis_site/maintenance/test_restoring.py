"""`manage.py db restore` fills an empty store with a backup."""

import errno
import json
import os
import shutil

import pytest
from django.core.management import call_command

from retwis_site.maintenance.backups import newest
from retwis_site.store import schema
from tests.support.command_output import refuses, said
from tests.support.maintenance.backups import back_up, restore, saved
from tests.support.maintenance.copied_sites import keys_to_copy, make_site_with_every_key, ttls
from tests.support.stored_keys import everything
from tests.support.stores.seam import each_moment, killed_before_write

pytestmark = [pytest.mark.real_server, pytest.mark.usefixtures("may_sync")]


@pytest.fixture
def backup(raw, store, tmp_path):
    """A backup of a site with every kind of key. The store is empty again."""
    make_site_with_every_key(raw, store)
    made = back_up(tmp_path / "backups")
    raw.flushall()
    return made


@pytest.fixture
def keys_before(raw, store, backup):
    """What the store had when the backup was made."""
    restore(backup)
    before = keys_to_copy(raw)
    raw.flushall()
    return before


def change_manifest(backup, **changes):
    manifest = json.loads((backup / "manifest.json").read_text())
    (backup / "manifest.json").write_text(json.dumps(manifest | changes))


def test_every_key_comes_back_unchanged_with_its_expiry(raw, store, tmp_path):
    make_site_with_every_key(raw, store)
    before, expiries = keys_to_copy(raw), ttls(raw)
    made = back_up(tmp_path)
    raw.flushall()
    restore(made)
    assert everything(raw) == before
    assert ttls(raw) == expiries
    assert {"auths", "outbox", "set_aside", "throttle:99:99"} <= set(before)


def test_the_newest_complete_backup_of_a_folder_is_restored(site, tmp_path, monkeypatch):
    monkeypatch.setattr("retwis_site.maintenance.backups.iso", lambda seconds: "2026-01-01T00:00:00Z")
    back_up(tmp_path)
    site.hset("user:1", "bio", "newer")
    monkeypatch.undo()
    back_up(tmp_path)
    (tmp_path / ".unfinished-x").mkdir()
    site.flushall()
    restore(tmp_path)
    assert site.hget("user:1", "bio") == "newer"


def test_a_backup_that_somebody_has_renamed_is_no_newer_than_one_with_a_time(backup, raw):
    shutil.copytree(backup, backup.with_name("before-the-move"))
    change_manifest(backup.with_name("before-the-move"), users=99)
    assert newest(backup.parent) == backup


def test_a_newest_backup_with_errors_is_restored_only_by_its_own_name(backup, raw, capsys):
    folder, sound, bad = backup.parent, *(backup.with_name(f"{year}-01-01T00-00-00Z") for year in (2998, 2999))
    shutil.copytree(backup, sound)
    shutil.copytree(backup, bad)
    change_manifest(bad, errors=3)
    refuses(rf"{bad}, the newest backup, has errors: 3\. Name the one to restore\.", "restore", str(folder))
    change_manifest(sound, errors=0)
    refuses(rf"errors: 3\. The newest one without errors is {sound}\. Name", "restore", str(folder))
    assert everything(raw) == {}
    assert "The backup has errors: 3. Run `manage.py doctor --fix` now." in said(capsys, "restore", str(bad))


def test_a_newest_backup_that_cannot_be_read_is_named_and_no_older_one_is_taken(backup, raw, monkeypatch):
    unreadable = backup.with_name("2999-01-01T00-00-00Z")
    unreadable.mkdir()
    scandir = os.scandir

    def of_another_user(path):
        if path == unreadable:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", of_another_user)
    refuses(rf"{unreadable} cannot be read: Permission denied\. .*chown -R", "restore", str(backup.parent))
    assert everything(raw) == {}


def test_a_store_with_users_is_refused_and_stays_as_it_is(backup, alice, raw):
    before = everything(raw)
    refuses(r"has users, and `restore` fills only an empty one\. Name an empty one", "restore", str(backup))
    assert everything(raw) == before


def test_the_embedded_store_with_users_is_refused_and_the_way_out_works(backup, embedded_site, capsys):
    call_command("seed", "--users=3", "--posts=5", "--follows=1", "--noinput", verbosity=0)
    store = embedded_site / "store"
    refuses(rf"Stop the site, and move {store} away\.", "restore", str(backup))
    store.rename(embedded_site / "old")
    restore(backup)
    assert not (store / "dump.rdb").exists()


@pytest.mark.parametrize("position", [0, 200, -1])
def test_a_damaged_backup_is_refused_before_anything_is_written(backup, raw, position):
    snapshot = bytearray((backup / "store-1.rdb").read_bytes())
    snapshot[position] ^= 1
    (backup / "store-1.rdb").write_bytes(snapshot)
    refuses(r"store-1\.rdb is not as it was written\. Use another backup\.", "restore", str(backup))
    assert everything(raw) == {}


def test_a_manifest_without_files_is_refused(backup, raw):
    change_manifest(backup, files=[])
    refuses(r"manifest\.json cannot be read: it names no file\. Take another backup\.", "restore", str(backup))
    assert everything(raw) == {}


def test_a_backup_without_one_of_its_files_is_refused(backup, raw):
    (backup / "store-1.rdb").unlink()
    refuses(r"store-1\.rdb: No such file.*Use another backup\.", "restore", str(backup))
    assert everything(raw) == {}


@pytest.mark.parametrize("content", ["", "[" * 200_000, "null", "[]", "{}", '{"format": "retwis-site", "version": 1}'])
def test_a_damaged_manifest_is_refused(backup, content):
    (backup / "manifest.json").write_text(content)
    refuses(r"manifest\.json cannot be read: ", "restore", str(backup))


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({"version": 2}, "Install that version"),
        ({"key_prefix": "blog:"}, r"REDIS_KEY_PREFIX='blog:', and now it is ''\. Set it as it was"),
        ({"post_ids": "snowflake"}, "POST_IDS=snowflake, which cannot be changed back"),
        ({"database": 3}, r"has no users in database 3 with REDIS_KEY_PREFIX=''"),
    ],
)
def test_a_backup_of_another_site_is_refused_and_the_message_names_the_fix(backup, raw, changes, fix):
    change_manifest(backup, **changes)
    refuses(fix, "restore", str(backup))
    assert everything(raw) == {}


def test_a_backup_of_a_newer_site_is_refused(raw, store, tmp_path, monkeypatch):
    make_site_with_every_key(raw, store)
    raw.set("schema", "99")
    with monkeypatch.context() as newer_site:
        newer_site.setattr(schema, "VERSION", 99)
        made = back_up(tmp_path)
    raw.flushall()
    refuses(r"A newer version of the site made this backup\. Install that version\.", "restore", str(made))
    assert everything(raw) == {}


def test_a_folder_without_backups_is_refused(raw, tmp_path):
    for place in (tmp_path, tmp_path / "missing"):
        refuses("has no complete backup", "restore", str(place))


@pytest.mark.parametrize("content", [b"", b"REDIS0011", b"hello, this is no RDB file"])
def test_a_file_that_is_no_snapshot_is_refused(raw, tmp_path, content):
    (tmp_path / "dump.rdb").write_bytes(content)
    refuses(r"(cannot load .*dump.rdb|dump.rdb has no users)", "restore", str(tmp_path / "dump.rdb"))


def test_a_restore_killed_before_any_write_is_complete_after_a_second_run(raw, backup, keys_before):
    for writes in each_moment():
        raw.flushall()
        killed_before_write(writes, lambda: restore(backup))
        raw.delete("lease:filling")  # some seconds later
        if raw.get("next_user_id") == "3":
            assert everything(raw) == keys_before
        else:
            assert raw.get("next_user_id") in {None, schema.UNFINISHED}
            restore(backup)
            assert everything(raw) == keys_before
    assert writes > 3


def test_a_dump_of_the_official_retwis_is_restored_and_adopt_is_named(raw, tmp_path, capsys):
    raw.hset("users", "alice", 1)
    raw.hset("user:1", mapping={"username": "alice", "password": "as typed", "auth": "secret"})
    raw.set("next_user_id", 1)
    raw.hset("post:1", mapping={"user_id": 1, "time": 1, "body": "old"})
    raw.set("next_post_id", 1)
    raw.rpush("posts:1", 1)
    before = keys_to_copy(raw)
    dump = saved(raw, tmp_path)
    raw.flushall()
    assert "Next: `manage.py adopt`" in said(capsys, "restore", str(dump))
    assert everything(raw) == before
