"""`import_account` brings back replies, quotes, earlier texts, and what the person did with posts, people and tags."""

import time

import pytest
from django.core.management import call_command

from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.maintenance.doctor_report import doctor
from tests.support.people import LONG_AGO, PASSWORD, register
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.protocols.thoroughness import stride
from tests.support.stored_keys import everything
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import killed_before_round_trip
from timeline.account_data.export import export
from timeline.account_data.restoring import Named, named
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.block import BlockedPeople
from timeline.relations.bookmark import Bookmarks
from timeline.relations.like import Likes
from timeline.relations.mute import FOREVER, Mutes, in_days
from timeline.relations.muted_words import How, MutedWord, MutedWords, Where
from timeline.relations.tag_follow import TagFollows
from timeline.timelines.profile import Pins

ALICE, BOB, CAROL = 1, 2, 3
THERE = 4  # alice's uid on the other site


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """No post of another process is under way."""
    monkeypatch.setattr("timeline.account_data.restoring.time.sleep", lambda seconds: None)


@pytest.fixture
def path(store, raw, alice, bob, carol, tmp_path):
    """A download of alice's. Bob wrote 1 and 2, carol 3, and alice 4 to 8."""
    write_posts(raw, BOB, [1, 2])
    write_posts(raw, CAROL, [3])
    posts = Posts(store)
    posts.publish(ALICE, NewPost("well, @bob #redis", reply_to=1), "4")
    posts.publish(ALICE, NewPost("and more", reply_to=4), "5")
    posts.publish(ALICE, NewPost("look", quote=2), "6")
    posts.publish(ALICE, NewPost("no, @carol", reply_to=3), "7")
    posts.publish(ALICE, NewPost("see there", quote=3), "8")
    posts.edit(ALICE, 5, "and even more #Redis")
    for pid, author in ((1, BOB), (3, CAROL), (4, ALICE)):
        Likes(store).like(ALICE, pid, author)
        Bookmarks(store).add(ALICE, pid, author)
    register(store, "dave")
    BlockedPeople(store).block(ALICE, 4)
    Mutes(store).mute(ALICE, BOB)
    Mutes(store).mute_reposts(ALICE, BOB, in_days(7))
    MutedWords(store).mute(ALICE, MutedWord("the finale", Where.HOME, How.FOLD, FOREVER), ())
    TagFollows(store).follow(ALICE, "redis")
    TagFollows(store).follow(ALICE, "unheard")
    Pins(store).pin(ALICE, 6)
    found = tmp_path / "download.jsonl"
    address = "https://retwis.example/@{}/{}/"
    found.write_bytes(export(store, alice.user, lambda name, *of: address.format(*of, "")).read())
    return str(found)


def make_another_site(raw, store):
    """Bob and dave are there, with other uids, and bob's two posts. Post 3 is another's."""
    raw.flushall()
    Memory.clear_all()
    for name in ("erin", "Bob", "dave"):
        register(store, name)
    write_posts(raw, 2, [1, 2])
    write_posts(raw, 1, [3])
    raw.set("next_post_id", 50)


@pytest.fixture
def elsewhere(raw, store, path, typed):
    make_another_site(raw, store)
    typed(f"{PASSWORD}\n")


def import_account(path, *options):
    call_command("import_account", path, *options)


def links(raw, pid):
    return raw.hmget(f"post:{pid}", "reply_to", "root", "reply_to_user", "above", "quote", "mentions")


def test_replies_and_quotes_of_posts_that_are_there_keep_what_they_name(raw, elsewhere, path, capsys):
    import_account(path)
    assert links(raw, 4) == ["1", "1", "2", "1", None, "2"]
    assert links(raw, 5) == ["4", "1", str(THERE), "4 1", None, None]
    assert links(raw, 6) == [None, None, None, None, "2", None]
    assert raw.zrange("thread:1", 0, -1) == ["4", "5"]
    assert raw.hmget("post:1", "replies", "quotes") == ["1", None]
    assert raw.hget("post:2", "quotes") == "1"
    assert_conversations_agree(raw, "restored")
    assert doctor(capsys) == (0, {}, {})


def test_what_is_not_there_is_said(raw, elsewhere, path, capsys):
    import_account(path)
    said = capsys.readouterr().out
    assert links(raw, 7) == [None, None, None, None, None, ""]  # nobody has the name carol
    assert links(raw, 8) == [None] * 6
    assert "1 replies are plain posts now: what they reply to is not here." in said
    assert "1 posts quote nothing any more: what they quote is not here." in said
    assert "2 likes and bookmarks are of posts that are not here." in said
    assert "1 followed tags are used by nobody here." in said


def test_earlier_texts_and_tags_come_back(raw, elsewhere, path):
    import_account(path)
    assert list(raw.hgetall("edits:5").values()) == ["and more", "and even more #Redis"]
    assert raw.hget("post:5", "body") == "and even more #Redis"
    assert raw.hget("post:5", "edited") == max(raw.hkeys("edits:5"))
    assert raw.zrange("tag:redis", 0, -1) == ["4", "5"]


def test_what_the_person_did_comes_back_with_its_dates(raw, elsewhere, path):
    import_account(path)
    assert raw.zrange(f"likes:{THERE}", 0, -1) == ["1", "4"]
    assert raw.zrange(f"bookmarks:{THERE}", 0, -1) == ["1", "4"]
    assert raw.zrange("liked_by:1", 0, -1) == [str(THERE)]
    assert raw.hget("post:1", "likes") == "1"
    assert raw.zrange(f"blocked:{THERE}", 0, -1) == ["3"]
    assert raw.zrange("blocked_by:3", 0, -1) == [str(THERE)]
    assert raw.zscore(f"muted:{THERE}", "2") == float("inf")
    assert raw.zscore(f"muted_reposts:{THERE}", "2") > time.time()
    assert raw.zrange(f"muted_words:{THERE}", 0, -1) == ["home fold the finale"]
    assert raw.zrange(f"tags_of:{THERE}", 0, -1) == ["redis"]
    assert raw.hget(f"user:{THERE}", "pinned") == "6"
    assert raw.zcard("outbox") == 0


def test_an_action_before_the_post_was_written_was_on_another_post(raw, elsewhere, path):
    raw.hset("post:1", "time", int(time.time()) + 60)
    import_account(path)
    assert raw.hget("post:4", "reply_to") is None
    assert raw.zrange(f"likes:{THERE}", 0, -1) == ["4"]


def test_threads_of_one_s_own_are_kept_under_new_ids(raw, elsewhere, path, capsys):
    write_posts(raw, 1, [4, 5])
    import_account(path)
    assert links(raw, 51)[:4] == ["1", "1", "2", "1"]
    assert links(raw, 52)[:4] == ["51", "1", str(THERE), "51 1"]
    assert raw.zrange(f"likes:{THERE}", 0, -1) == ["1", "51"]
    assert doctor(capsys) == (0, {}, {})


def test_a_second_import_changes_nothing(raw, elsewhere, path, capsys):
    import_account(path)
    raw.hset(f"user:{THERE}", "pinned", 4)
    before = everything(raw)
    import_account(path, "--into-existing")
    assert everything(raw) == before


def test_a_killed_run_is_completed_by_a_worker_and_by_the_next_run(raw, store, elsewhere, path, capsys):
    register(store, "Alice")
    number = 0
    while killed_before_round_trip(number, lambda: import_account(path, "--into-existing")):
        for job in raw.zrange("outbox", 0, -1):
            raw.zadd("outbox", {job: LONG_AGO})
        drain(store, "a worker")
        assert doctor(capsys)[:2] == (0, {}), number
        import_account(path, "--into-existing")
        assert doctor(capsys)[:2] == (0, {}), number
        assert_conversations_agree(raw, number)
        assert raw.zcard("thread:1") == 2, number
        number += 3 * stride()
        make_another_site(raw, store)
        register(store, "Alice")
    assert number > 50


@pytest.mark.parametrize(
    ("address", "author"),
    [("https://a.example/@Bob/7/", "bob"), ("/@Bob/8/", ""), ("", ""), ("https://a.example/@B%C3%B6b/7/", "böb")],
)
def test_the_author_of_a_named_post_is_in_its_address(address, author):
    assert named(7, address) == Named(7, author)
