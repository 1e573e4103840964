"""A post may answer another one, and quote one. The files of a whole site and of a person have replies, quotes and
earlier texts; an import makes threads of them."""

import pytest

from accounts.community.sanctions import Sanctions
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import State
from retwis_site.features import site_lines
from retwis_site.maintenance.filling import Filling
from tests.support.http.page_text import page_of
from tests.support.maintenance.site_files import person
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.stored_posts import write_posts
from timeline.posts.entities import NewPost, TargetBlocked, TargetDeleted, TargetMissing
from timeline.posts.repository import Posts
from timeline.posts.site_lines import account_lines, read_posts


def publish(store, uid, **new):
    text = f"by {uid}, {new}"
    return Posts(store).publish(uid, NewPost(text, **new), str(abs(hash(text)))).pid


def links(raw, pid):
    return {name: raw.hget(f"post:{pid}", name) for name in ("reply_to", "root", "reply_to_user", "above", "quote")}


def test_a_reply_names_the_post_its_author_and_the_thread(store, alice, bob, raw):
    first = publish(store, 1)
    second = publish(store, 2, reply_to=first)
    third = publish(store, 1, reply_to=second)
    assert links(raw, second) == {"reply_to": "1", "root": "1", "reply_to_user": "1", "above": "1", "quote": None}
    assert links(raw, third) == {"reply_to": "2", "root": "1", "reply_to_user": "2", "above": "2 1", "quote": None}


def test_a_reply_stands_in_the_thread_and_among_the_replies(store, alice, bob, raw):
    publish(store, 1)
    publish(store, 2, reply_to=1)
    publish(store, 1, reply_to=2)
    assert raw.zrange("thread:1", 0, -1, withscores=True) == [("2", 2), ("3", 3)]
    assert raw.zrange("replies_to:1", 0, -1, withscores=True) == [("2", 2)]
    assert raw.zrange("replies_to:2", 0, -1, withscores=True) == [("3", 3)]
    assert raw.hget("post:1", "replies") == raw.hget("post:2", "replies") == "1"
    assert raw.keys("outbox*") == raw.keys("thread:2") == []


def test_a_quote_stands_among_the_quotes(store, alice, bob, raw):
    publish(store, 1)
    publish(store, 2, quote=1)
    assert links(raw, 2)["quote"] == "1"
    assert raw.zrange("quotes_of:1", 0, -1, withscores=True) == [("2", 2)]
    assert raw.hget("post:1", "quotes") == "1"
    assert not raw.exists("thread:1", "replies_to:1")


def test_a_post_names_the_nearest_twenty_above_it(store, alice, raw):
    publish(store, 1)
    for above in range(1, 25):
        publish(store, 1, reply_to=above)
    assert raw.hget("post:25", "above").split() == [str(pid) for pid in range(24, 4, -1)]
    assert raw.hget("post:25", "root") == "1"


def test_a_repost_stands_for_its_original(store, alice, bob, raw):
    publish(store, 1)
    raw.hset("post:2", mapping={"user_id": "2", "time": "1", "repost_of": "1"})
    raw.set("next_post_id", 2)
    publish(store, 2, reply_to=2, quote=2)
    assert links(raw, 3) == {"reply_to": "1", "root": "1", "reply_to_user": "1", "above": "1", "quote": "1"}


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_missing_post_is_refused(store, alice, raw, kind):
    raw.hset("post:7", mapping={"user_id": "1", "time": "1", "body": "never published"})
    for pid in (5, 7):
        with pytest.raises(TargetMissing):
            publish(store, 1, **{kind: pid})
    assert raw.keys("post:*") == ["post:7"]
    assert raw.keys("idem:*") == raw.keys("outbox*") == []


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_deleted_post_and_one_of_a_deleted_account_are_refused(store, alice, bob, raw, kind):
    publish(store, 1)
    publish(store, 2)
    Posts(store).delete(1, 1)
    AccountDeletion(store).delete(bob.user, bob.secret)
    for pid in (1, 2):
        with pytest.raises(TargetDeleted):
            publish(store, 1, **{kind: pid})


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_post_of_a_suspended_person_is_refused_while_nobody_sees_it(store, alice, bob, raw, kind):
    publish(store, 2)
    Sanctions(store).impose(2, State.SUSPENDED, "reason")
    with pytest.raises(TargetDeleted):
        publish(store, 1, **{kind: 1})
    Sanctions(store).lift(2)
    assert publish(store, 1, **{kind: 1}) == 2


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_block_either_way_refuses(store, alice, bob, carol, raw, kind):
    publish(store, 1)
    raw.zadd("blocked:2", {"1": 1})
    raw.zadd("blocked_by:3", {"1": 1})
    for uid in (2, 3):
        with pytest.raises(TargetBlocked):
            publish(store, uid, **{kind: 1})
    publish(store, 1, **{kind: 1})


def test_a_second_click_gives_the_same_reply_though_the_post_is_deleted_by_now(store, alice, bob, raw):
    publish(store, 1)
    reply = publish(store, 2, reply_to=1)
    Posts(store).delete(1, 1)
    assert publish(store, 2, reply_to=1) == reply


def test_the_round_trips(store, alice, bob, raw, round_trips):
    """Three of them are for the notice, four for that of a quote."""
    write_posts(raw, 2, [1])
    raw.hset("post:2", mapping={"user_id": "2", "time": "1", "repost_of": "1"})
    raw.set("next_post_id", 2)
    plain, answer, quote, both, of_repost = (
        len(round_trips(lambda new=new: publish(store, 1, **new)).round_trips)
        for new in ({}, {"reply_to": 1}, {"quote": 1}, {"reply_to": 1, "quote": 1}, {"reply_to": 2})
    )
    assert (answer - plain, quote - plain, both - plain, of_repost - plain) == (7, 8, 10, 8)


# ---- the form


@pytest.mark.parametrize("field", ["reply_to", "quote"])
@pytest.mark.parametrize(
    ("pid", "why"), [("1", "was deleted"), *((pid, "does not exist") for pid in ("99", "x", "-1", "0"))]
)
def test_a_refused_answer_keeps_the_text_and_says_why(browser, alice, bob, store, raw, field, pid, why):
    publish(store, 1)
    Posts(store).delete(1, 1)
    page = page_of(browser(bob).post("/post/", {"body": "My long thought", field: pid, "token": "t"}), 422)
    assert "My long thought" in page
    assert why in page
    assert f'name="{field}" value="{pid}"' in page
    assert raw.keys("post:*") == ["post:1"]


@pytest.mark.parametrize("field", ["reply_to", "quote"])
@pytest.mark.parametrize("pid", ["1", "99", "x"])
def test_a_refused_answer_can_be_posted_without_what_it_answers(browser, alice, bob, store, raw, field, pid):
    publish(store, 1)
    Posts(store).delete(1, 1)
    client, form = browser(bob), {"body": "My long thought", field: pid, "token": "t"}
    assert 'name="alone"' in page_of(client.post("/post/", form), 422)
    answer = client.post("/post/", {**form, "alone": "1"}, headers={"referer": "http://testserver/@alice/1/"})
    assert answer["Location"] == "/@bob/2/"  # the page that had the form has gone
    assert raw.hget("post:2", "body") == "My long thought"
    assert not any(links(raw, 2).values())


def test_a_form_that_nothing_refuses_offers_no_post_without_what_it_answers(browser, alice, bob, store, raw):
    publish(store, 1)
    client = browser(bob)
    assert 'name="alone"' not in page_of(client.post("/post/", {"body": "", "reply_to": "1", "token": "t"}), 422)
    assert 'name="alone"' not in page_of(client.get("/compose/?reply_to=1"))


@pytest.mark.parametrize("field", ["reply_to", "quote"])
def test_the_draft_of_an_answer_goes_when_it_is_posted_alone(browser, client, alice, bob, store, raw, field):
    """The login expired, the text waited in a draft, and what it answers was deleted meanwhile."""
    publish(store, 1)
    form = {"body": "My long thought", field: "1", "token": "t", "as": "2"}
    client.post("/post/", form)
    Posts(store).delete(1, 1)
    client.cookies.update(browser(bob).cookies)
    assert "My long thought" in page_of(client.get(f"/compose/?{field}=1"))
    client.post("/post/", {**form, "alone": "1"})
    assert client.get(f"/compose/?{field}=1").status_code == 404


# ---- in files


WHEN = "2023-11-14T22:13:20Z"


def fill(store, posts):
    filling = Filling(store)
    filling.begin()
    filling.write([person(1, "alice")])
    filling.write([{"type": "post", "user": 1, "time": WHEN, "text": f"post {post['id']}", **post} for post in posts])
    for _ in filling.finish({}):
        pass


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
    second = {"time": "2023-11-14T22:13:21Z", "text": "b"}
    assert accepts([{"time": WHEN, "text": "a"}, second])
    for bad in ([], "first", ["first"], [{"time": WHEN}, second], [second, {"time": WHEN, "text": "a"}], [second] * 2):
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
