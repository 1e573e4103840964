"""`manage.py import FILE` makes a site of the file that `export` wrote."""

import calendar
import io
import itertools
import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.community.log import Act, Log
from accounts.community.sanctions import Sanctions
from accounts.joining.joining import Invitations
from accounts.signing_in.sessions.repository import ask_stored_password
from accounts.users.entities import State
from retwis_site.jobs.outbox import Outbox
from retwis_site.jobs.worker import drain
from retwis_site.store.client import answer
from retwis_site.store.snowflake import SMALLEST
from tests.support.command_output import doctor, refuses
from tests.support.maintenance.site_files import (
    RED,
    RID,
    export,
    import_,
    like,
    of_type,
    parsed,
    person,
    site_file,
)
from tests.support.people import LONG_AGO, PASSWORD, register
from tests.support.stored_keys import empty, everything, expected_name_entries, name_entries
from tests.support.stores.seam import before_each_round_trip, undisturbed
from timeline.moderation.reports import NewReport, Reports
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

pytestmark = pytest.mark.usefixtures("no_waiting")

CACHES = ("posts:", "timeline")


def truth(raw):
    """All keys but caches and what an import does not bring back: deleted posts without replies, tokens of
    forms, secrets, the index."""
    kept = {
        key: content
        for key, content in everything(raw).items()
        if not key.startswith((*CACHES, "idem:", "auths", "attempts", "schema", "postings:", "posting_bits:"))
    }
    return {
        key: {field: text for field, text in content.items() if field != "auth"} if key.startswith("user:") else content
        for key, content in kept.items()
        if not (key.startswith("post:") and "deleted" in content and not raw.exists(f"replies_to:{key[5:]}"))
    }


@pytest.fixture
def imported(full_site, tmp_path):
    """The full site after an export, and an import into the empty store."""
    export(tmp_path / "site.jsonl")
    empty(full_site)
    import_(tmp_path / "site.jsonl")
    return full_site


@pytest.mark.parametrize("name", ["site.jsonl", "site.jsonl.gz", "site.jsonl.zst"])
def test_an_import_brings_back_all_of_the_truth(full_site, tmp_path, name):
    """Also a post as long as other Retwises take them."""
    full_site.hset("post:1", "body", "a word " * 400_000)
    before = truth(full_site)
    export(tmp_path / name)
    empty(full_site)
    import_(tmp_path / name)
    assert truth(full_site) == before
    assert full_site.get("schema") == "1"
    assert name_entries(full_site) == expected_name_entries(full_site)


def test_a_long_post_of_control_characters_is_imported(full_site, tmp_path):
    """Each is six bytes of JSON. Other Retwises take 8 MB of them."""
    body = "\1" * (8 << 20)
    full_site.hset("post:1", "body", body)
    export(tmp_path / "site.jsonl.zst")
    empty(full_site)
    import_(tmp_path / "site.jsonl.zst")
    assert full_site.hget("post:1", "body") == body


@pytest.mark.parametrize("name", ["site.jsonl.gz", "site.jsonl.zst"])
def test_a_compressed_file_is_imported_from_a_pipe_and_under_any_name(full_site, tmp_path, monkeypatch, name):
    before = truth(full_site)
    export(tmp_path / name)
    (tmp_path / name).rename(tmp_path / "site.jsonl (1)")
    if name.endswith(".zst"):  # `pzstd` puts such a frame before each of its own
        file = tmp_path / "site.jsonl (1)"
        file.write_bytes(bytes.fromhex("502a4d18 04000000 00000000") + file.read_bytes())
    empty(full_site)
    import_(tmp_path / "site.jsonl (1)")
    assert truth(full_site) == before
    empty(full_site)
    with (tmp_path / "site.jsonl (1)").open() as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        import_("-")
    assert truth(full_site) == before


def test_a_file_with_a_bom_is_imported_like_one_without(full_site, tmp_path):
    before, file = truth(full_site), tmp_path / "site.jsonl"
    export(file)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    empty(full_site)
    import_(file)
    assert truth(full_site) == before


def test_people_log_in_with_their_passwords_and_no_old_session_is_open(full_site, tmp_path, browser):
    old = full_site.hget("user:1", "auth")
    export(tmp_path / "site.jsonl")
    empty(full_site)
    import_(tmp_path / "site.jsonl")
    new = full_site.hget("user:1", "auth")
    assert new != old
    assert full_site.hgetall("auths") == {full_site.hget(f"user:{uid}", "auth"): str(uid) for uid in (1, 2, 3)}
    client = browser()
    assert client.post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert "Grüße, 世界" in client.get("/").content.decode()
    assert "from bob" in client.get("/timeline/").content.decode()


def test_new_people_and_posts_get_new_ids(imported, store):
    assert register(store, "erin").user.uid == 5
    assert Posts(store).publish(5, NewPost("hello"), "token").pid == 8  # 5 was a deleted account's, 6 is a repost


def test_tags_are_spelled_as_they_were_first_used(full_site, store, tmp_path, capsys):
    """The file has the posts by author, the newest first; and of a tag no post may be left."""
    Posts(store).publish(3, NewPost("first #Straße #Gone"), "first")
    Posts(store).publish(1, NewPost("then #STRASSE"), "then")
    full_site.hset("post:8", "body", "without")
    full_site.zrem("tag:strasse", "8")
    full_site.delete("tag:gone")
    before = full_site.hgetall("tags")
    assert before == {"now": "now", "strasse": "Straße", "gone": "Gone"}
    export(tmp_path / "site.jsonl")
    empty(full_site)
    import_(tmp_path / "site.jsonl")
    assert full_site.hgetall("tags") == before
    assert doctor(capsys)[:2] == (0, {})  # a cleanup forgets how #Gone is found


def test_the_name_of_a_deleted_account_stays_taken(imported, store, browser):
    assert imported.hget("users", "dave") == "4"
    assert answer(store, ask_stored_password, 4) is None
    assert browser().get("/@Dave/").status_code == 410


def test_an_act_about_a_deleted_account_comes_back_in_the_log_alone(full_site, tmp_path, capsys):
    act = Act(what="suspended", by=1, whom=4, reason="spam", at=LONG_AGO * 1000)
    full_site.zadd("log:2026", {act.line(): act.at})
    export(tmp_path / "site.jsonl")
    empty(full_site)
    import_(tmp_path / "site.jsonl")
    assert full_site.zscore("log:2026", act.line()) == act.at
    assert full_site.keys("acts:*") == ["acts:3"]
    assert doctor(capsys) == (0, {}, {})


def test_an_act_of_a_clock_that_was_ahead_stands_in_the_log_and_comes_back(full_site, store, tmp_path):
    next_year = time.gmtime().tm_year + 1
    act = Act(what="role:moderator", by=1, whom=3, at=calendar.timegm((next_year, 1, 31, 0, 0, 0)) * 1000)
    Log(store).write(act)
    assert Log(store).page()[0][0] == act
    export(tmp_path / "site.jsonl")
    empty(full_site)
    import_(tmp_path / "site.jsonl")
    assert full_site.zscore(f"log:{next_year}", act.line()) == act.at


def test_an_appeal_waits_no_longer_than_its_sanction_after_an_import_too(full_site, store, tmp_path):
    Sanctions(store).impose(2, State.FROZEN, "insults", until=int(time.time()) + 3600)
    Sanctions(store).appeal(2, "I am sorry.")
    export(tmp_path / "site.jsonl")
    empty(full_site)
    import_(tmp_path / "site.jsonl")
    drain(store, "a worker")
    assert full_site.zcard("appeals") == 1
    full_site.hset("user:2", "state_until", int(time.time()) - 1)  # two hours later
    full_site.zadd("outbox", dict.fromkeys(full_site.zrange("outbox", 0, -1), LONG_AGO))
    drain(store, "a worker")
    assert full_site.zcard("appeals") == 0


def test_a_post_that_was_deleted_during_the_export_stands(full_site, tmp_path, capsys):
    """Its line was written before. It has a reply, so it has a line among the deleted posts, too."""
    lines = parsed(export(tmp_path / "site.jsonl"))[1:-1]
    when = "2026-01-02T03:04:05Z"
    lines.insert(
        [line["type"] for line in lines].index("deleted_post"),
        {"type": "deleted_post", "id": 1, "user": 1, "time": when, "deleted": when},
    )
    empty(full_site)
    (tmp_path / "site.jsonl").write_bytes(site_file(lines))
    import_(tmp_path / "site.jsonl")
    assert full_site.hmget("post:1", "body", "deleted") == ["Grüße, 世界\nand a second line", None]
    assert full_site.hexists("post:2", "deleted")
    assert doctor(capsys) == (0, {}, {})


@pytest.mark.parametrize("above", ["post", "deleted post"])
def test_a_deleted_post_whose_last_reply_is_left_out_goes_from_its_thread(full_site, tmp_path, capsys, above):
    """The export came between the deletion of bob's account and its removal: his reply is by nobody."""
    lines = parsed(export(tmp_path / "site.jsonl"))[1:-1]
    when = "2026-01-02T03:04:05Z"
    if above == "deleted post":  # alice has deleted post 1 too
        lines = [line for line in lines if line.get("id") != 1 or line["type"] != "post"]
        of_one = {"type": "deleted_post", "id": 1, "user": 1, "time": when, "deleted": when}
        lines.insert([line["type"] for line in lines].index("deleted_post"), of_one)
    bob = next(line for line in lines if (line["type"], line.get("id")) == ("user", 2))
    lines[lines.index(bob)] = {"type": "user", "id": 2, "username": "bob", "deleted": when}
    empty(full_site)
    (tmp_path / "site.jsonl").write_bytes(site_file(lines))
    import_(tmp_path / "site.jsonl")
    listed = [full_site.zrange(key, 0, -1) for key in ("thread:1", "replies_to:1", "replies_to:2")]
    assert not {"2", "7"} & {pid for pids in listed for pid in pids}
    assert full_site.ttl("post:2") > 0
    assert doctor(capsys)[:2] == (0, {})


def test_a_picture_that_was_uploaded_during_the_export_is_left_out(full_site, tmp_path, capsys):
    """Its file has no line: it came when the files had been read."""
    full_site.hset("post:1", "media", json.dumps({"pictures": [[RED, 90, 60, "Red"]]}))
    full_site.hset("post:4", mapping={"media": full_site.hget("post:1", "media"), "body": ""})
    lines = parsed(export(tmp_path / "site.jsonl", damaged=True))[1:-1]
    empty(full_site)
    (tmp_path / "site.jsonl").write_bytes(site_file([line for line in lines if line["type"] != "picture_file"]))
    import_(tmp_path / "site.jsonl")
    assert full_site.hmget("post:1", "body", "media") == ["Grüße, 世界\nand a second line", None]
    assert not full_site.exists("post:4")  # it had a picture alone
    assert full_site.hmget("user:2", "picture", "header") == [None, None]
    assert not full_site.hexists(f"report:{RID}", "media")
    assert full_site.keys("media*") == []
    assert doctor(capsys)[:2] == (0, {})


def test_a_hash_of_another_hasher_becomes_the_old_password(raw, tmp_path):
    unusable = make_password(None)
    people = [
        person(1, "alice", password="md5$salt$81dc9bdb"),
        person(2, "bob", password="argon2$argon2id$v=19$m=8$x"),
        person(3, "carol", password=unusable),
        person(4, "dave"),
        person(5, "erin", password="argon2trimmed$argon2id$v=19$m=8$x"),
    ]
    (tmp_path / "site.jsonl").write_bytes(site_file(people))
    import_(tmp_path / "site.jsonl")
    stored = [raw.hmget(f"user:{uid}", "password", "old_password") for uid in range(1, 6)]
    assert stored[:3] == [[None, "md5$salt$81dc9bdb"], ["argon2$argon2id$v=19$m=8$x", None], [unusable, None]]
    assert stored[3][0].startswith("!")
    assert stored[4] == ["argon2trimmed$argon2id$v=19$m=8$x", None]


def test_a_date_of_registration_that_is_not_known_is_that_of_the_user_before(raw, tmp_path, capsys):
    people = [person(1, "alice"), person(2, "bob", registered=None), person(SMALLEST - 1, "carol")]
    (tmp_path / "site.jsonl").write_bytes(site_file(people))
    import_(tmp_path / "site.jsonl")
    assert raw.zscore("users_by_time", "bob") == raw.zscore("users_by_time", "alice")
    assert doctor(capsys) == (0, {}, {})


def test_lines_about_unknown_or_deleted_users_and_posts_are_left_out_and_counted(raw, tmp_path, capsys):
    when = "2026-01-02T03:04:05Z"
    lines = [
        person(1, "alice"),
        {"type": "user", "id": 2, "username": "bob", "deleted": when},
        {"type": "follow", "follower": 1, "followed": 2, "since": when},
        {"type": "follow", "follower": 9, "followed": 1, "since": when},
        {"type": "post", "id": 1, "user": 1, "time": when, "text": "kept", "reply_to": 77, "extra": [1]},
        {"type": "post", "id": 2, "user": 2, "time": when, "text": "of a deleted account"},
        {"type": "like", "user": 1, "post": 1, "time": when},
        {"type": "like", "user": 1, "post": 2, "time": when},
    ]
    (tmp_path / "site.jsonl").write_bytes(site_file(lines))
    call_command("import", str(tmp_path / "site.jsonl"))
    said = capsys.readouterr().out
    assert "4 lines left out" in said
    assert "post: 1 imported" in said
    assert sorted(raw.keys("post:*")) == ["post:1"]
    assert raw.keys("follow*") == []
    assert raw.zrange("likes:1", 0, -1) == ["1"]
    assert doctor(capsys) == (0, {}, {})
    assert raw.get("next_post_id") == "2"


def test_ids_from_the_time_are_kept_where_the_site_makes_such_ids(raw, store, tmp_path, settings, browser, capsys):
    settings.POST_IDS = "snowflake"
    when = "2026-01-02T03:04:05Z"
    texts = {7: "counted", SMALLEST + 5: "from the time"}
    posts = [{"type": "post", "id": pid, "user": 1, "time": when, "text": text} for pid, text in texts.items()]
    (tmp_path / "site.jsonl").write_bytes(site_file([person(1, "alice"), *posts]))
    import_(tmp_path / "site.jsonl")
    assert raw.zrange("recent", 0, -1) == [str(SMALLEST + 5)]
    assert raw.get("next_post_id") == "7"
    page = browser().get("/timeline/").content.decode()
    assert [text in page for text in texts.values()] == [True, True]
    assert doctor(capsys) == (0, {}, {})


def test_ids_from_the_time_are_refused_where_ids_are_counted(raw, tmp_path):
    (tmp_path / "site.jsonl").write_bytes(site_file([person(SMALLEST, "alice")]))
    refuses(r"Line 2: the id was made from the time\. Set POST_IDS=snowflake", "import", str(tmp_path / "site.jsonl"))
    assert raw.dbsize() == 0


def test_a_pipe_is_read_too(full_site, tmp_path, monkeypatch, var):
    content = export(tmp_path / "site.jsonl")
    empty(full_site)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    call_command("import", "-", verbosity=0)
    assert full_site.get("next_user_id") == "4"
    assert [path for path in var.iterdir() if path.is_file()] == []


def test_a_pipe_with_a_name_is_read_like_standard_input(raw, tmp_path, settings):
    """Such as in `import <(ssh old.example retwis export -)`: it ended with "File or stream is not seekable"."""
    settings.VAR_DIR = tmp_path / "var"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(site_file([person(1, "alice")]),), daemon=True)
    writer.start()
    import_(pipe)
    writer.join()
    assert raw.hgetall("users") == {"alice": "1"}


def test_a_pipe_that_the_disk_has_no_room_for_is_refused_and_the_message_names_the_folder(raw, monkeypatch, var):
    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: Path("/dev/full").open("wb"))  # noqa: SIM115
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(site_file([person(1, "alice")]))))
    refuses(rf"cannot be kept in {var}: No space left on device\. Set VAR_DIR", "import", "-")
    assert raw.dbsize() == 0


def test_a_store_with_people_is_refused_and_stays_as_it_is(full_site, tmp_path):
    export(tmp_path / "site.jsonl")
    before = everything(full_site)
    refuses(r"holds users or posts, or remains of them\. Name an empty one", "import", str(tmp_path / "site.jsonl"))
    assert everything(full_site) == before


def test_a_file_that_does_not_exist_is_named(raw, tmp_path):
    refuses(r"could not be read: .*missing\.jsonl", "import", str(tmp_path / "missing.jsonl"))


def test_more_lines_than_a_chunk_are_written_in_chunks(raw, tmp_path, sent):
    people = [person(uid, f"user{uid}") for uid in range(1, 1202)]
    (tmp_path / "site.jsonl").write_bytes(site_file(people))
    import_(tmp_path / "site.jsonl")
    assert raw.hlen("users") == raw.zcard("users_by_time") == 1201
    assert max(len(command) for command in sent.commands) < 2500


def test_it_tells_what_it_works_on_also_while_it_counts_at_its_end(full_site, tmp_path, monkeypatch, capsys):
    """Of many posts that takes minutes."""
    export(tmp_path / "site.jsonl")
    empty(full_site)
    monkeypatch.setattr("retwis_site.management.base.TOLD_EACH", 0)
    call_command("import", str(tmp_path / "site.jsonl"))
    assert capsys.readouterr().err.count("Working on: Importing\n") > 1  # all lines are one chunk


def people_who_write(raw, store):
    """Returns what happens between the chunks of an export: people join, follow, post, like, report, invite, and
    delete, and staff acts."""
    moves = itertools.cycle(
        ["register", "follow", "post", "like", "report", "invite", "sanction", "delete post", "delete account"]
    )
    numbers = itertools.count(10)

    def move():
        with undisturbed():
            number, kind = next(numbers), next(moves)
            newest = int(raw.get("next_user_id"))
            if kind == "register":
                login = register(store, f"new{number}")
                Posts(store).publish(login.user.uid, NewPost(f"hello {number}"), f"t{number}")
            elif kind == "follow":
                Follows(store).follow(1, newest)
                Follows(store).follow(newest, 1)
            elif kind == "post":
                Posts(store).publish(1, NewPost(f"post {number}"), f"t{number}")
            elif kind == "like":
                like(raw, 1, int(raw.get("next_post_id")), LONG_AGO)
            elif kind == "report":
                Reports(store).make(newest, NewReport(2, None, "spam"))
            elif kind == "invite":
                Invitations(store).make(newest)
            elif kind == "sanction":
                Sanctions(store).impose(newest, State.FROZEN, "spam")
            elif kind == "delete post":
                with_posts = raw.zrange("updates:1", 0, 0)
                try:
                    Posts(store).delete(1, int(with_posts[0]) if with_posts else 0)
                except (NoSuchPost, PostDeleted):
                    return
            else:
                Outbox(store).add(f"gone:{newest - 1}:a")
                raw.hset(f"user:{newest - 1}", "deleted", LONG_AGO)

    return move


def test_doctor_finds_nothing_after_an_export_from_a_site_in_use(full_site, store, tmp_path, capsys):
    with before_each_round_trip(people_who_write(full_site, store)):
        content = export(tmp_path / "site.jsonl")
    assert of_type(content, "post")
    empty(full_site)
    import_(tmp_path / "site.jsonl")
    drain(store, "a worker")
    assert doctor(capsys) == (0, {}, {})
