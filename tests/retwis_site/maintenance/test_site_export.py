"""`manage.py export FILE` writes the whole site as JSON lines."""

import fcntl
import gzip
import io
import os
import re
import stat
import sys

import pytest
import zstandard
from django.core.management import CommandError, call_command

from retwis_site.features import site_lines
from retwis_site.maintenance.site_files import Export, replacing
from retwis_site.store import chunks
from tests.support.command_output import refuses
from tests.support.maintenance.site_files import export, of_type, parsed
from tests.support.people import LONG_AGO
from tests.support.stores.seam import Killed, broken_store, killed_before_round_trip


def test_the_lines_come_in_order_between_a_head_and_an_end(full_site, tmp_path):
    lines = parsed(export(tmp_path / "site.jsonl"))
    types = [line["type"] for line in lines]
    assert [*dict.fromkeys(types)] == ["site", *site_lines(), "end"]
    assert {name: lines[0][name] for name in ("format", "version", "schema")} == {
        "format": "retwis-site",
        "version": 1,
        "schema": 1,
    }
    assert lines[-1]["counts"] == {type_: types.count(type_) for type_ in site_lines()}
    assert lines[-1]["largest"] == {"user": 4, "post": 7}


def test_a_site_without_counters_has_0_as_its_largest_ids(full_site, tmp_path):
    full_site.delete("next_post_id")
    full_site.set("next_user_id", "x")
    assert parsed(export(tmp_path / "site.jsonl", damaged=True))[-1]["largest"] == {"user": 0, "post": 0}


def test_a_user_has_the_password_hash_and_no_secret_of_a_session(full_site, tmp_path):
    full_site.zadd("users_by_time", {"carol": LONG_AGO})
    content = export(tmp_path / "site.jsonl")
    carol = of_type(content, "user")[2]
    assert carol == {
        "type": "user",
        "id": 3,
        "username": "carol",
        "password": full_site.hget("user:3", "password"),
        "name": "Carola",
        "bio": "I was here.",
        "language": "de",
        "registered": "2023-11-14T22:13:20Z",
    }
    assert [secret for secret in full_site.hkeys("auths") if secret.encode() in content] == []


def test_an_old_password_is_exported_and_a_newer_one_wins(full_site, tmp_path):
    full_site.hset("user:1", "old_password", "md5$salt$1")
    full_site.hset("user:2", "old_password", "md5$salt$2")
    full_site.hdel("user:2", "password")
    alice, bob, *_ = of_type(export(tmp_path / "site.jsonl"), "user")
    assert alice["password"] == full_site.hget("user:1", "password")
    assert bob["password"] == "md5$salt$2"


def test_a_password_in_clear_text_is_never_written(full_site, tmp_path):
    full_site.hset("user:2", "password", "as typed")
    with pytest.raises(CommandError, match=r"^The password of bob is in clear text\. .*`manage\.py user password bob`"):
        export(tmp_path / "site.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_what_no_line_can_hold_is_replaced(full_site, tmp_path):
    full_site.hset("user:2", "bio", b"caf\xe9")
    full_site.hset("post:1", "time", 2**50)
    content = export(tmp_path / "site.jsonl", damaged=True)
    assert of_type(content, "user")[1]["bio"] == "caf\ufffd"
    assert of_type(content, "post")[0]["time"] == "9999-12-31T23:59:59Z"


def test_a_deleted_account_keeps_its_name_and_nothing_else(full_site, tmp_path):
    full_site.hset("user:4", "deleted", LONG_AGO)
    dave = of_type(export(tmp_path / "site.jsonl"), "user")[3]
    assert dave == {"type": "user", "id": 4, "username": "Dave", "deleted": "2023-11-14T22:13:20Z"}


def test_posts_come_by_author_newest_first_without_deleted_ones(full_site, tmp_path):
    full_site.zadd("updates:2", {"4": 4})  # by mistake: the post is carol's
    posts = of_type(export(tmp_path / "site.jsonl", damaged=True), "post")
    assert [(post["user"], post["id"]) for post in posts] == [(1, 1), (2, 7), (2, 3), (3, 4)]
    assert posts[0]["text"] == "Grüße, 世界\nand a second line"
    assert {name: posts[3][name] for name in ("reply_to", "root", "reply_to_user")} == {
        "reply_to": 1,
        "root": 1,
        "reply_to_user": 1,
    }
    assert "reply_to" not in posts[0]


def test_a_user_with_more_rows_than_a_chunk_loses_none(full_site, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "AT_ONCE", 3)
    for pid in range(10, 21):
        full_site.hset(f"post:{pid}", mapping={"user_id": 2, "time": LONG_AGO, "body": f"post {pid}"})
        full_site.zadd("updates:2", {pid: pid})
    full_site.set("next_post_id", 20)
    posts = of_type(export(tmp_path / "site.jsonl"), "post")
    assert [post["id"] for post in posts if post["user"] == 2] == [*range(20, 9, -1), 7, 3]


def test_round_trips_do_not_grow_with_the_users_of_a_chunk(full_site, store, sent):
    def made():
        sent.round_trips.clear()
        for _ in Export(store, io.BytesIO()):
            pass
        return len(sent.round_trips)

    before = made()
    for uid in range(5, 45):
        full_site.hset("users", f"user{uid}", uid)
        full_site.hset(f"user:{uid}", "username", f"user{uid}")
        full_site.zadd(f"following:{uid}", {"1": LONG_AGO})
    assert made() == before


def test_it_tells_what_it_works_on_also_where_nobody_has_a_line(raw, alice, tmp_path, monkeypatch, capsys):
    """For each type all users are asked."""
    monkeypatch.setattr("retwis_site.management.base.TOLD_EACH", 0)
    call_command("export", str(tmp_path / "site.jsonl"))
    assert capsys.readouterr().err.count("Working on: Exporting\n") >= len(site_lines())


def test_two_names_that_lead_to_one_user_give_one_line(full_site, tmp_path):
    full_site.hset("users", "another", 1)
    full_site.hset("users", "nobody", 77)
    assert [line["id"] for line in of_type(export(tmp_path / "site.jsonl", damaged=True), "user")] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "open_"), [("site.jsonl.gz", gzip.decompress), ("site.zst", zstandard.ZstdDecompressor().stream_reader)]
)
def test_the_ending_compresses_the_file(full_site, tmp_path, name, open_):
    packed = export(tmp_path / name)
    content = open_(packed)
    content = content if isinstance(content, bytes) else content.read()
    first, *_, last = parsed(content)
    assert [first["type"], last["type"]] == ["site", "end"]


def test_a_pipe_gets_the_file_and_nothing_else(full_site, tmp_path, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    call_command("export", "-")
    lines = parsed(out.buffer.getvalue())
    assert (lines[0]["type"], lines[-1]["type"], len(lines)) == ("site", "end", 60)


def test_only_its_owner_can_read_the_file_and_is_told_about_the_passwords(full_site, tmp_path, capsys):
    call_command("export", str(tmp_path / "site.jsonl"))
    assert stat.S_IMODE((tmp_path / "site.jsonl").stat().st_mode) == 0o600
    assert "password hashes" in capsys.readouterr().err


def test_an_export_that_fails_leaves_the_file_before_it_and_no_other(full_site, tmp_path):
    path = tmp_path / "site.jsonl"
    path.write_text("the last export")

    assert killed_before_round_trip(8, lambda: export(path))
    with broken_store(Killed()), pytest.raises(Killed):
        export(path)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("site.jsonl", "the last export")]


def test_the_next_export_removes_what_a_killed_one_has_left_and_nothing_else(full_site, tmp_path):
    """It has the password hashes of all people."""
    path, left = tmp_path / "site.jsonl", tmp_path / ".site.jsonl.0123456789ab"
    with replacing(path):  # another export, which is under way
        others = {tmp_path / ".site.jsonl.swp", tmp_path / ".site2.jsonl.0123456789ab"} | {*tmp_path.iterdir()}
        for file in others:
            file.touch()
        left.write_text("half")
        export(path)
        assert {*tmp_path.iterdir()} == {path, *others}
    assert path.read_bytes() == b""


def test_an_export_leaves_the_file_that_another_one_has_made_and_not_locked_yet(full_site, tmp_path, monkeypatch):
    path, lock = tmp_path / "site.jsonl", fcntl.flock

    def lock_after_another_export(file, how):
        monkeypatch.setattr(fcntl, "flock", lock)
        export(path)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", lock_after_another_export)
    assert of_type(export(path), "user")
    assert [*tmp_path.iterdir()] == [path]


def test_the_error_of_a_key_of_the_wrong_type_names_the_command_that_helps(full_site, tmp_path):
    full_site.delete("likes:1")
    full_site.set("likes:1", "no sorted set")
    path = tmp_path / "site.jsonl"
    refuses(r"WRONGTYPE .*\. A key has the wrong type: `manage\.py doctor --fix` moves it away\.$", "export", str(path))
    assert not path.exists()
    call_command("doctor", "--fix", verbosity=0)
    export(path)
    assert path.exists()


@pytest.mark.parametrize(
    ("lost", "error"),
    [
        ("users", "users that no name leads to: 4"),
        ("updates:2", "posts missing from their author's updates:: 3"),
        ("likes:3", "entries of liked_by: missing from likes:, or unknown: 2"),
        ("reports_about:2", "decided reports that a set lacks: 1"),
        ("media_of:2", "pictures that media_sizes or media_of: lacks: 1"),
    ],
)
def test_an_export_of_a_store_that_has_lost_a_key_says_so_and_fails(full_site, tmp_path, lost, error):
    """Else the next site would lack people and their posts, and nobody would know."""
    path = tmp_path / "site.jsonl"
    whole = export(path).splitlines()[1:-1]
    full_site.delete(lost)
    says = rf"(?s)The file is written, but .*\nerror: {re.escape(error)}\n.*Run `manage\.py doctor --fix`, and then"
    refuses(says, "export", str(path))
    assert not set(path.read_bytes().splitlines()).issuperset(whole)
    call_command("doctor", "--fix", verbosity=0)
    assert set(export(path).splitlines()).issuperset(whole)


def test_the_files_of_pictures_are_found_without_the_sizes_of_all(full_site, tmp_path):
    whole = of_type(export(tmp_path / "site.jsonl"), "picture_file")
    full_site.delete("media_sizes")
    assert of_type(export(tmp_path / "site.jsonl", damaged=True), "picture_file") == whole != []


def test_a_folder_that_does_not_exist_is_named(full_site, tmp_path):
    refuses(r"could not be written: .*missing", "export", str(tmp_path / "missing" / "site.jsonl"))


@pytest.mark.parametrize("name", ["", ".", "/", "/usr", ".."])
def test_a_folder_is_refused_before_anything_is_read(full_site, sent, name):
    sent.round_trips.clear()
    refuses(r"is a folder\. Name a file in it, such as .*site\.jsonl\.zst\.$", "export", name)
    assert len(sent.round_trips) <= 3


def test_what_is_no_regular_file_is_refused_and_stays(full_site, tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        refuses(r"is no regular file\. For a pipe or standard output, use `-`\.$", "export", str(path))
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_symbolic_link_stays_and_its_file_is_replaced(full_site, tmp_path):
    folder = tmp_path / "another"
    folder.mkdir()
    (tmp_path / "site.jsonl").symlink_to(folder / "site-1.jsonl")
    content = export(tmp_path / "site.jsonl")
    assert (tmp_path / "site.jsonl").is_symlink()
    assert [(one.name, one.read_bytes()) for one in folder.iterdir()] == [("site-1.jsonl", content)]


def test_a_store_without_users_is_refused(raw, tmp_path):
    refuses(r"No user is registered in this store\. Set REDIS_URL", "export", str(tmp_path / "site.jsonl"))
    assert list(tmp_path.iterdir()) == []


def test_an_official_database_is_refused_before_it_is_adopted(raw, tmp_path):
    raw.hset("users", "alice", 1)
    raw.hset("user:1", mapping={"username": "alice", "password": "readable", "auth": "x"})
    raw.set("next_user_id", 1)
    refuses(r"manage\.py adopt", "export", str(tmp_path / "site.jsonl"))


def test_an_unfinished_copy_is_refused(full_site, tmp_path):
    full_site.set("next_user_id", "copying")
    refuses("an unfinished copy or import", "export", str(tmp_path / "site.jsonl"))
