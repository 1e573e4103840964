"""Statuses: what an app publishes, and how it is shown."""

import re
import time
from dataclasses import replace
from datetime import datetime

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.apps import App
from timeline.posts.entities import NoSuchPost
from timeline.posts.feature import POSTS
from timeline.posts.repository import Posts
from timeline.relations.muted_words import How, MutedWord, MutedWords, Where
from timeline.relations.relations import FOREVER, BlockedPeople, Follows, Likes, Mutes

TEXT = "Hello @bob #World\nhttps://example.com/a\n\nbye @nobody"
HTML = (
    '<p>Hello <span class="h-card" translate="no"><a href="http://testserver/@bob" class="u-url mention">@<span>bob'
    '</span></a></span> <a href="http://testserver/tags/world" class="mention hashtag" rel="tag">#<span>World</span>'
    '</a><br><a href="https://example.com/a" target="_blank" rel="nofollow noopener noreferrer" translate="no">'
    '<span class="invisible">https://</span><span class="">example.com/a</span><span class="invisible"></span></a></p>'
    "<p>bye @nobody</p>"
)


def publish(app, text, **others):
    return app.json("POST", "/api/v1/statuses", {"status": text, **others})


def test_a_status_is_the_same_in_every_answer(store, raw, app, bob):
    status = publish(app, TEXT, language="de")
    number = status["id"]
    assert app.json("GET", f"/api/v1/statuses/{number}") == status
    app.json("POST", f"/api/v1/statuses/{number}/pin")
    app.json("POST", f"/api/v1/statuses/{number}/mute")
    app.json("POST", f"/api/v1/statuses/{number}/favourite")
    status = app.json("POST", f"/api/v1/statuses/{number}/bookmark")
    reply = publish(App(bob), "a reply", in_reply_to_id=number)
    quote = publish(app, "a quote", quoted_status_id=number)
    assert App(bob).json("GET", "/api/v1/timelines/public")[-1]["replies_count"] == 1
    status |= {"replies_count": 1, "quotes_count": 1, "account": quote["account"]}
    assert [status[name] for name in ("pinned", "muted", "favourited", "bookmarked", "reblogged")] == [True] * 4 + [
        False
    ]
    assert quote["quote"] == {"state": "accepted", "quoted_status": status}
    for address in (
        f"/api/v1/statuses/{number}",
        f"/api/v1/statuses?id[]={number}",
        "/api/v1/timelines/home",
        "/api/v1/timelines/public",
        "/api/v1/timelines/tag/world",
        "/api/v1/accounts/1/statuses",
        "/api/v1/accounts/1/statuses?pinned=true",
        "/api/v1/favourites",
        "/api/v1/bookmarks",
        f"/api/v1/statuses/{reply['id']}/context",
    ):
        answer = app.json("GET", address)
        found = answer.get("ancestors", [answer]) if isinstance(answer, dict) else answer
        assert status in found, address
    assert status["content"] == HTML
    assert [(one["id"], one["acct"]) for one in status["mentions"]] == [("2", "bob")]
    assert status["tags"] == [{"name": "world", "url": "http://testserver/tags/world"}]
    assert (status["language"], raw.hget("post:1", "language")) == ("de", "de")
    assert status["url"] == "http://testserver/@Alice/1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z", status["created_at"])
    assert (reply["in_reply_to_id"], reply["in_reply_to_account_id"]) == (number, "1")


def test_each_answer_counts_what_the_app_has_just_sent_or_deleted(store, app, bob):
    publish(App(bob), "Hello")
    assert [publish(app, text)["account"]["statuses_count"] for text in ("First", "Second")] == [1, 2]
    assert app.json("POST", "/api/v1/statuses/1/reblog")["account"]["statuses_count"] == 3
    app.json("DELETE", "/api/v1/statuses/2")
    assert app.json("GET", "/api/v1/statuses/3")["account"]["statuses_count"] == 2


def test_a_quote_links_to_what_it_quotes_for_apps_that_show_no_quotes(store, app, bob):
    """Those that do hide what is `quote-inline`."""
    publish(App(bob), "Hello")
    quote, linked = (publish(app, text, quoted_status_id="1") for text in ("Look", "See http://testserver/@bob/1"))
    address = "http://testserver/@bob/1"
    link, content = re.fullmatch('<p class="quote-inline">RE: (.*?)</p>(.*)', quote["content"]).groups()
    assert (re.search('href="([^"]*)"', link)[1], content) == (address, "<p>Look</p>")
    assert linked["content"].count(address) == 1
    longer = publish(app, f"See {address}0", quoted_status_id="1")
    assert longer["content"].startswith('<p class="quote-inline">')
    assert [one["content"] for one in app.json("GET", "/api/v1/timelines/public")[1:3]] == [
        linked["content"],
        quote["content"],
    ]
    assert app.json("GET", f"/api/v1/statuses/{quote['id']}/source")["text"] == "Look"
    App(bob).json("POST", "/api/v1/accounts/1/block")
    assert app.json("GET", f"/api/v1/statuses/{quote['id']}")["content"] == "<p>Look</p>"


def test_what_a_status_names_opens_at_its_address_without_a_last_slash(store, browser, alice):
    status = publish(App(alice), "post #word")
    for one, view in ((status, "post"), (status["account"], "profile"), (status["tags"][0], "tag")):
        assert not one["url"].endswith("/")
        page = browser().get(one["url"])
        assert (page.status_code, page.resolver_match.view_name) == (200, f"{view}_without_slash")


def test_the_link_of_a_mention_is_the_address_of_the_account_however_the_name_was_typed(app, bob):
    status = publish(app, "@BOB and @aLICE")
    assert re.findall('href="([^"]+)"', status["content"]) == [one["url"] for one in status["mentions"]]
    assert [one["acct"] for one in status["mentions"]] == ["bob", "Alice"]
    assert "@<span>BOB</span>" in status["content"]
    assert app.json("GET", f"/api/v1/statuses/{status['id']}/history")[0]["content"] == status["content"]


def test_a_repost_is_a_status_of_its_own_around_the_post(store, raw, app, bob):
    Follows(store).follow(1, 2)
    post = publish(App(bob), "by bob")
    repost = app.json("POST", f"/api/v1/statuses/{post['id']}/reblog")
    inner = repost["reblog"]
    assert (inner["id"], inner["account"]["acct"], inner["reblogs_count"], inner["reblogged"]) == ("1", "bob", 1, True)
    assert (repost["id"], repost["account"]["acct"], repost["reblogged"]) == ("2", "Alice", True)
    assert repost["url"] == "http://testserver/@Alice/2"
    assert raw.hmget("post:2", "user_id", "repost_of") == ["1", "1"]
    assert app.json("GET", "/api/v1/statuses/2") == repost == app.json("GET", "/api/v1/timelines/home")[0]
    assert app.json("POST", f"/api/v1/statuses/{repost['id']}/reblog") == repost  # a second one changes nothing
    undone = app.json("POST", f"/api/v1/statuses/{repost['id']}/unreblog")
    assert (undone["id"], undone["reblogs_count"], undone["reblogged"], undone["reblog"]) == ("1", 0, False, None)
    assert not raw.exists("post:2")


def test_the_texts_of_a_repost_are_those_of_the_author(app, bob):
    publish(App(bob), "by bob")
    repost = app.json("POST", "/api/v1/statuses/1/reblog")
    [version] = app.json("GET", f"/api/v1/statuses/{repost['id']}/history")
    assert (version["content"], version["account"]["acct"]) == ("<p>by bob</p>", "bob")


@pytest.mark.parametrize("hides", ["a mute", "a muted word", "staff"])
def test_a_repost_of_what_lists_hide_is_answered_as_its_post_is(store, raw, app, bob, hides):
    publish(App(bob), "by bob")
    if hides == "a mute":
        Mutes(store).mute(1, 2)
    elif hides == "a muted word":
        MutedWords(store).mute(1, MutedWord("bob", Where.EVERYWHERE, How.HIDE, FOREVER), ())
    else:
        raw.hset("user:2", "state", "hidden")
    Memory.clear_all()
    assert app.json("GET", "/api/v1/statuses/1")["reblogged"] is False
    repost = app.json("POST", "/api/v1/statuses/1/reblog")
    assert (repost["id"], repost["reblog"]["id"], repost["reblogged"]) == ("2", "1", True)
    assert app.json("GET", "/api/v1/statuses/2") == repost
    assert app.json("GET", "/api/v1/timelines/home") == []
    assert app.json("DELETE", "/api/v1/statuses/2")["id"] == "2"
    assert not raw.exists("reposts:1")


def test_a_name_with_the_host_of_this_site_is_a_mention(store, raw, app, bob, carol):
    status = publish(app, "@Bob@testserver: hi", spoiler_text="To @carol@TestServer.")
    assert raw.hget("post:1", "body") == "To @carol.\n\n@Bob: hi"
    assert [one["acct"] for one in status["mentions"]] == ["carol", "bob"]
    assert raw.zrange("notices:3", 0, -1) == ["mention:1:1"]
    for other in (
        "@bob@testserver.example",
        "@bob@testserver:80",
        "https://example.com/@bob@testserver",
        "https://example.com/?q=@bob@testserver",
        "https://example.com/?q=x&@bob@testserver",
        "https://example.com/#@bob@testserver, or",
        "é@bob@testserver",
        "x@bob@testserver",
    ):
        app.json("PUT", "/api/v1/statuses/1", {"status": other})
        assert raw.hget("post:1", "body") == other
    long = f"{'x' * 270} @bob@testserver"
    assert app.json("PUT", "/api/v1/statuses/1", {"status": long})["mentions"][0]["acct"] == "bob"


def test_a_call_that_is_repeated_publishes_once(store, raw, app):
    first, second = (
        app.json("POST", "/api/v1/statuses", {"status": text}, **{"Idempotency-Key": "a key: of any form"})
        for text in ("once", "twice")
    )
    assert first == second
    assert raw.zcard("updates:1") == 1


def test_a_repeated_call_counts_for_no_limit_and_needs_nothing_that_was_there(store, raw, app, settings, bob):
    settings.THROTTLE, settings.THROTTLES = True, {"post": 1}
    target = publish(App(bob), "hello")["id"]
    sent = {"status": "once", "in_reply_to_id": target}
    first = app.json("POST", "/api/v1/statuses", sent, **{"Idempotency-Key": "1"})
    assert app.ask("POST", "/api/v1/statuses", sent, **{"Idempotency-Key": "2"}).status_code == 429
    App(bob).json("DELETE", f"/api/v1/statuses/{target}")
    assert app.json("POST", "/api/v1/statuses", sent, **{"Idempotency-Key": "1"}) == first
    assert (raw.zcard("updates:1"), raw.zcard("throttle:post:1")) == (1, 1)
    app.json("DELETE", f"/api/v1/statuses/{first['id']}")
    assert app.ask("POST", "/api/v1/statuses", sent, **{"Idempotency-Key": "1"}).status_code == 404


@pytest.mark.parametrize("known", [True, False])
def test_who_posts_too_often_reads_when_that_ends(store, app, settings, known):
    settings.THROTTLE, settings.THROTTLES = True, {"post": 1}
    publish(app, "one")
    if not known:
        Memory.clear_all()  # another process, which has not seen the token
    refused = app.ask("POST", "/api/v1/statuses", {"status": "two"})
    wait = datetime.fromisoformat(refused["X-RateLimit-Reset"]).timestamp() - time.time()
    assert (refused.status_code, refused["X-RateLimit-Remaining"]) == (429, "0")
    assert wait == pytest.approx(int(refused["Retry-After"]), abs=5)
    assert wait > 300


def test_what_is_not_meant_for_everyone_is_not_published(store, raw, app):
    for sent in (
        {"visibility": "private"},
        {"visibility": "direct"},
        {"scheduled_at": "2030-01-01T00:00:00.000Z"},
        {"poll[options][]": ["one", "two"]},
        {"media_ids[]": ["1"]},
        {"status": ""},
        {"status": "x" * 281},
        {"in_reply_to_id": "99"},
    ):
        answer = app.ask("POST", "/api/v1/statuses", {"status": "text", **sent})
        assert (answer.status_code, answer.json()["error"][:19]) == (422, "Validation failed: "), sent
    assert not raw.exists("updates:1")
    assert (
        publish(app, "text", visibility="unlisted", spoiler_text="A warning")["content"]
        == "<p>A warning</p><p>text</p>"
    )


def test_an_author_edits_and_deletes(store, raw, alice, bob):
    app, other = App(alice), App(bob)
    publish(app, "first")
    for method in ("PUT", "DELETE"):
        assert other.ask(method, "/api/v1/statuses/1", {"status": "mine"}).status_code == 404
    edited = app.json("PUT", "/api/v1/statuses/1", {"status": "second", "language": "fr"})
    assert edited["language"] == raw.hget("post:1", "language") == "fr"
    assert (edited["content"], edited["edited_at"] is not None) == ("<p>second</p>", True)
    assert [text["content"] for text in app.json("GET", "/api/v1/statuses/1/history")] == [
        "<p>first</p>",
        "<p>second</p>",
    ]
    assert app.json("GET", "/api/v1/statuses/1/source") == {"id": "1", "text": "second", "spoiler_text": ""}
    deleted = app.json("DELETE", "/api/v1/statuses/1")
    assert deleted == {**edited, "text": "second"}
    assert raw.hget("post:1", "deleted")
    assert app.ask("GET", "/api/v1/statuses/1").json() == {"error": "Record not found"}


@pytest.mark.parametrize("sent", [{}, {"language": "fr"}, {"language": "fr", "sensitive": "1"}, {"status": "mine"}])
@pytest.mark.parametrize("what", ["another's", "a repost", "deleted"])
def test_only_its_author_edits_a_status_whatever_is_sent(store, raw, alice, bob, sent, what):
    app, other = App(alice), App(bob)
    publish(app, "first", language="de")
    number = app.json("POST", "/api/v1/statuses/1/reblog")["id"] if what == "a repost" else "1"
    if what == "deleted":
        publish(other, "a reply", in_reply_to_id="1")
        app.json("DELETE", "/api/v1/statuses/1")
    before = {key: raw.hgetall(key) for key in raw.keys("post:*")}
    answer = (other if what == "another's" else app).ask("PUT", f"/api/v1/statuses/{number}", sent)
    assert (answer.status_code, answer.json()) == (404, {"error": "Record not found"})
    assert {key: raw.hgetall(key) for key in raw.keys("post:*")} == before


def test_a_language_is_said_of_ones_own_posts_alone(store, raw, alice, bob):
    publish(App(alice), "first", language="de")
    with pytest.raises(NoSuchPost):
        Posts(store).say_language(bob.user.uid, 1, "fr")
    assert raw.hget("post:1", "language") == "de"


def test_a_thread_has_its_posts_in_order(store, alice, bob):
    app, other = App(alice), App(bob)
    for text, answered in (("1", None), ("2", "1"), ("3", "2"), ("4", "2"), ("5", "3"), ("6", "1")):
        publish(app if int(text) % 2 else other, text, **({"in_reply_to_id": answered} if answered else {}))
    around = App().json("GET", "/api/v1/statuses/2/context")
    assert {side: [one["id"] for one in some] for side, some in around.items()} == {
        "ancestors": ["1"],
        "descendants": ["3", "5", "4"],
    }
    below = App().json("GET", "/api/v1/statuses/1/context")["descendants"]
    assert [one["id"] for one in below] == ["2", "3", "5", "4", "6"]


def test_blocks_hide_statuses_and_refuse_acts(store, raw, alice, bob, carol):
    publish(App(bob), "by bob")
    Likes(store).like(3, 1, 2)
    raw.zadd("liked_by:1", {"3": 10})
    liked_by = App(alice).ask("GET", "/api/v1/statuses/1/favourited_by")
    assert [one["acct"] for one in liked_by.json()] == ["carol"]
    up = liked_by["Link"].removesuffix('; rel="prev"').strip("<>")
    assert App(alice).client.get(up).json() == []
    App(alice).json("POST", "/api/v1/statuses/1/favourite")
    assert [one["acct"] for one in App(alice).client.get(up).json()] == ["Alice"]
    BlockedPeople(store).block(2, 1)
    for method, address in (
        ("GET", "/api/v1/statuses/1"),
        ("GET", "/api/v1/statuses/1/context"),
        ("GET", "/api/v1/statuses/1/favourited_by"),
        ("POST", "/api/v1/statuses/1/bookmark"),
        ("GET", "/api/v1/accounts/2/statuses"),
    ):
        assert App(alice).ask(method, address).status_code == 404, address
    assert App(alice).json("GET", "/api/v1/timelines/public") == App(alice).json("GET", "/api/v1/favourites") == []
    undone = App(alice).ask("POST", "/api/v1/statuses/1/unfavourite")  # done, and there is no status to show
    assert (undone.status_code, undone.json()) == (404, {"error": "Record not found"})
    assert raw.zrange("liked_by:1", 0, -1) == ["3"]


def test_apps_fold_muted_words_in_each_list_in_which_the_pages_do(store, raw, app, bob):
    Follows(store).follow(1, 2)
    publish(app, "first")
    publish(App(bob), "@Alice the finale", in_reply_to_id="1")
    raw.zadd("muted_words:1", {"everywhere fold the finale": "+inf"})
    for address, context in (
        ("accounts/2/statuses", "account"),
        ("statuses/1/context", "thread"),
        ("notifications", "notifications"),
        ("timelines/home", "home"),
        ("timelines/public", "public"),
    ):
        answer = app.json("GET", f"/api/v1/{address}")
        one = (answer["descendants"] if context == "thread" else answer)[0]
        [result] = one.get("status", one)["filtered"]
        assert context in result["filter"]["context"], address


def test_the_rules_of_pages_hold_for_apps(store, raw, app, bob, monkeypatch):
    publish(App(bob), "about the finale")
    Follows(store).follow(1, 2)
    raw.zadd("muted_words:1", {"everywhere fold the finale": "+inf"})
    [found] = app.json("GET", "/api/v1/timelines/home")
    assert found["filtered"][0]["keyword_matches"] == ["the finale"]
    assert found["filtered"][0]["filter"]["filter_action"] == "warn"
    assert app.json("GET", "/api/v1/statuses/1")["filtered"] == []  # the viewer has asked for it
    raw.hset("user:1", mapping={"state": "frozen", "state_until": "0"})
    for method, address in (("POST", "/api/v1/statuses"), ("POST", "/api/v1/statuses/1/favourite")):
        assert app.ask(method, address, {"status": "text"}).status_code == 403
    assert len(app.json("GET", "/api/v1/timelines/home")) == 1
    raw.hdel("user:1", "state")
    monkeypatch.setattr("timeline.api.statuses.POSTS", replace(POSTS, times=1))
    publish(app, "first")
    refused = app.ask("POST", "/api/v1/statuses", {"status": "second"})
    assert (refused.status_code, refused["Content-Type"]) == (429, "application/json; charset=utf-8")
    assert raw.zcard("updates:1") == 1
    assert not raw.exists("likes:1")
