"""The files of a whole site and of a person have replies, quotes and earlier texts; an import makes threads of them."""

from retwis_site.features import site_lines
from retwis_site.maintenance.filling import Filling
from tests.support.maintenance.site_files import person
from tests.support.protocols.conversations import assert_conversations_agree
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.posts.site_lines import account_lines, read_posts

WHEN = "2023-11-14T22:13:20Z"


def fill(store, posts):
    filling = Filling(store)
    filling.begin()
    filling.write([person(1, "alice")])
    filling.write([{"type": "post", "user": 1, "time": WHEN, "text": f"post {post['id']}", **post} for post in posts])
    filling.finish({})


def lines(store):
    return {line["id"]: line for line in read_posts(store)}


def test_the_lines_of_a_post_say_what_it_answers_quotes_and_mentions(store, alice, bob, raw):
    Posts(store).publish(1, NewPost("first"), "1")
    Posts(store).publish(2, NewPost("well, @alice", reply_to=1, quote=1), "2")
    Posts(store).edit(1, 1, "second")
    found = lines(store)
    assert [text["text"] for text in found[1]["texts"]] == ["first", "second"]
    assert {"reply_to", "root", "reply_to_user", "above", "quote", "mentions"} <= found[2].keys()
    assert (found[2]["above"], found[2]["mentions"]) == ([1], [1])
    assert "texts" not in found[2]


def test_a_repost_has_no_line_as_a_post(store, alice, raw):
    Posts(store).publish(1, NewPost("first"), "1")
    raw.hset("post:2", mapping={"user_id": "1", "time": "1", "repost_of": "1"})
    raw.zadd("updates:1", {"2": 2})
    assert lines(store).keys() == {1}


def test_replies_of_a_foreign_database_get_a_thread(store, raw):
    """It knows what a post answers, and not what stands above that."""
    replies = [{"id": pid, "reply_to": pid - 1, "root": 1, "reply_to_user": 1} for pid in range(2, 25)]
    fill(store, [{"id": 1}, *replies])
    assert raw.zcard("thread:1") == 23
    assert raw.hget("post:3", "above") == "2 1"
    assert raw.hget("post:24", "above").split() == [str(pid) for pid in range(23, 3, -1)]
    assert raw.hget("post:1", "replies") == "1"
    assert_conversations_agree(raw, "imported")


def test_a_reply_without_a_root_belongs_to_the_thread_of_the_post_answered(store, raw):
    fill(store, [{"id": 1}, {"id": 2, "reply_to": 1}])
    assert raw.hget("post:2", "root") == "1"
    assert_conversations_agree(raw, "imported")


def test_an_edited_post_comes_with_its_texts(store, raw):
    texts = [{"time": WHEN, "text": "first"}, {"time": "2023-11-14T22:13:25Z", "text": "second"}]
    fill(store, [{"id": 1, "text": "second", "texts": texts}])
    assert raw.hgetall("edits:1") == {"1700000000": "first", "1700000005": "second"}
    assert raw.hmget("post:1", "body", "edited") == ["second", "1700000005"]
    assert lines(store)[1]["texts"] == texts


def test_texts_must_have_times_and_the_newest_last():
    accepts = site_lines()["post"].fields({})["texts"].accepts
    assert accepts([{"time": WHEN, "text": "first"}])
    for bad in ([], "first", ["first"], [{"time": WHEN}], [{"time": WHEN, "text": "a"}, {"time": WHEN, "text": "b"}]):
        assert not accepts(bad)


def test_the_personal_download_says_what_a_post_answers_and_which_texts_it_had(store, alice, bob, raw):
    Posts(store).publish(2, NewPost("first"), "1")
    Posts(store).publish(1, NewPost("well", reply_to=1, quote=1), "2")
    Posts(store).edit(1, 2, "well, well")
    raw.hset("post:3", mapping={"user_id": "1", "time": "1", "repost_of": "1"})
    raw.zadd("updates:1", {"3": 3})
    [line] = [line for chunk in account_lines(store, alice.user, lambda *arguments: "there") for line in chunk]
    assert (line["text"], line["reply_to"], line["quote"]) == ("well, well", 1, 1)
    assert (line["reply_to_address"], line["quote_address"]) == ("there", "there")
    assert [text["text"] for text in line["texts"]] == ["well", "well, well"]
