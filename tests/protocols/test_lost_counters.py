"""A counter that steps back gives ids out again: after a failover of its server, or when its key was lost. Nothing is
written over what has the id. The next try takes the next id, and `doctor --fix` raises the counter."""

from contextlib import contextmanager, suppress

import pytest

from accounts.community.acts import Roles
from accounts.users.entities import Role
from retwis_site.exceptions import IdInUse
from retwis_site.store.ids import LARGEST_ID
from tests.support.command_output import doctor
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD, register, signed_in
from tests.support.stored_keys import everything
from tests.support.stores.seam import before_part, each_moment, killed_before_round_trip
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.post_ids import post_ids
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Likes

COUNTERS = {"next_user_id", "next_post_id"}


def all_but_counters(raw):
    return {key: value for key, value in everything(raw).items() if key not in COUNTERS}


@contextmanager
def id_in_use(raw):
    """The block is refused, and changes nothing but counters."""
    before = all_but_counters(raw)
    with pytest.raises(IdInUse):
        yield
    assert all_but_counters(raw) == before


def test_a_registration_takes_no_account_over(store, alice, bob, raw):
    raw.decr("next_user_id")
    with id_in_use(raw):
        register(store, "carol")
    assert signed_in(store, bob)
    assert register(store, "carol").user.uid == 3


def test_a_registration_over_http_keeps_what_was_typed(client, alice, bob, raw):
    raw.decr("next_user_id")
    form = {"username": "carol", "password1": PASSWORD, "password2": PASSWORD}
    assert "carol" in page_of(client.post("/register/", form), 503)
    assert client.post("/register/", form).status_code == 302
    assert raw.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}


@pytest.mark.parametrize("author", [1, 2])
def test_a_post_is_neither_lost_nor_another_s(store, alice, bob, raw, author):
    Posts(store).publish(1, NewPost("words of alice"), "t1")
    raw.decr("next_post_id")
    with id_in_use(raw):
        Posts(store).publish(author, NewPost("Indeed", reply_to=1), "t2")
    assert Posts(store).publish(author, NewPost("Indeed", reply_to=1), "t2").body == "Indeed"
    assert raw.hget("post:1", "body") == "words of alice"
    assert raw.hget("post:2", "user_id") == str(author)


def test_of_two_clicks_on_several_servers_both_get_the_post(store, alice, raw):
    """The second click reads the token and publishes while the look at the id is on its way to its server."""

    def click():
        return Posts(store).publish(1, NewPost("Hello"), "t")

    for _ in range(10):  # each takes the round trips apart in its own way
        for step in each_moment():
            raw.flushall()
            register(store, "alice")
            with before_part(step, click) as second:
                first = click()
            assert second in ([], [first]), step
            assert raw.zrange("updates:1", 0, -1) == [str(first.pid)], step


@pytest.mark.parametrize("field", ["time 1700000000", "user_id 2", "deleted 1700000000", "body Hi"])
def test_what_no_click_has_just_made_keeps_its_id(store, alice, bob, raw, field):
    Posts(store).publish(1, NewPost("Hello"), "t1")
    raw.hset("post:1", *field.split())
    raw.decr("next_post_id")
    with id_in_use(raw):
        Posts(store).publish(1, NewPost("Hello"), "t2")


def test_a_repost_takes_no_post_over(store, alice, bob, raw):
    for number in range(2):
        Posts(store).publish(1, NewPost("words of alice"), f"t{number}")
    Reposts(store).repost(1, 1, 1)
    for own in (2, 3):  # a post, and a repost
        raw.set("next_post_id", own - 1)
        with id_in_use(raw):
            Reposts(store).repost(2, 1, 1)
    Reposts(store).repost(2, 1, 1)
    assert raw.zscore("reposts:2", 1) == 4


@pytest.mark.parametrize("step", range(3))
def test_a_repost_that_dies_leaves_the_post_whose_id_it_got(store, alice, bob, raw, step):
    for number in range(2):
        Posts(store).publish(1, NewPost("words of alice"), f"t{number}")
    raw.decr("next_post_id")
    before = all_but_counters(raw)
    with suppress(IdInUse):
        killed_before_round_trip(step, lambda: Reposts(store).repost(2, 1, 1))
    assert all_but_counters(raw) == before


@pytest.mark.parametrize("value", [-5, -1, LARGEST_ID])
def test_a_counter_gives_out_nothing_that_is_no_id(store, alice, bob, raw, value, capsys):
    Posts(store).publish(1, NewPost("words of alice"), "t1")
    before = all_but_counters(raw)
    for counter, act in (
        ("next_user_id", lambda: register(store, "carol")),
        ("next_post_id", lambda: Posts(store).publish(2, NewPost("Indeed"), "t2")),
        ("next_post_id", lambda: Reposts(store).repost(2, 1, 1)),
        ("next_post_id", lambda: post_ids(store).some(3)),
    ):
        raw.set(counter, value)
        with pytest.raises(IdInUse):
            act()
    assert all_but_counters(raw) == before
    assert doctor(capsys, "--fix")[0] == 0
    assert register(store, "carol").user.uid == 3
    assert Posts(store).publish(2, NewPost("Indeed"), "t2").pid in {2, 3}


# ---- A server has lost the counter and what had the id, and other servers have what belonged to it.


def lose_an_account(raw, uid, name):
    """What one of several servers had of it: its hash, its name and the counter."""
    raw.delete("next_user_id", f"user:{uid}", f"credentials:{uid}")
    raw.hdel("users", name)
    raw.zrem("users_by_time", name)
    for secret, owner in raw.hgetall("auths").items():
        if owner == str(uid):
            raw.hdel("auths", secret)


@pytest.mark.parametrize(
    "left",
    [
        lambda store, raw: Posts(store).publish(1, NewPost("words of alice"), "t"),
        lambda store, raw: Follows(store).follow(1, 2),
        lambda store, raw: Follows(store).follow(2, 1),
        lambda store, raw: raw.hset("staff", "1", "admin"),
        lambda store, raw: raw.hset("user:1", "bio", "written by what saw the account a moment ago"),
        lambda store, raw: raw.zadd("muted_words:1", {"home fold the finale": 7}),
    ],
    ids=["post", "follow", "follower", "role", "field", "muted words"],
)
def test_a_newcomer_gets_no_uid_that_something_is_left_of(store, alice, bob, raw, left):
    lose_an_account(raw, 1, "alice")
    left(store, raw)
    with id_in_use(raw):
        register(store, "carol")
    raw.set("next_user_id", "2")
    assert register(store, "carol").user.uid == 3


@pytest.mark.parametrize("is_any_left", [True, False])
def test_a_newcomer_gets_no_role_and_no_post_of_a_lost_account(store, alice, bob, raw, capsys, is_any_left):
    """Also where all accounts are gone, and the repairs remove what tells of them."""
    Roles(store).give(2, Role.ADMIN)
    Posts(store).publish(2, NewPost("words of bob"), "t")
    lose_an_account(raw, 2, "bob")
    if not is_any_left:
        lose_an_account(raw, 1, "alice")
    assert doctor(capsys, "--fix")[0] == 0
    carol = register(store, "carol").user
    assert carol.uid == 3
    doctor(capsys, "--fix")
    assert raw.hget("user:3", "role") is None
    assert raw.zrange("updates:3", 0, -1) == []


@pytest.mark.parametrize(
    "left",
    [
        lambda store: Likes(store).like(2, 1, 1),
        lambda store: Reposts(store).repost(2, 1, 1),
        lambda store: Posts(store).publish(2, NewPost("Indeed", reply_to=1), "t2"),
        lambda store: Posts(store).publish(2, NewPost("Look", quote=1), "t2"),
        lambda store: Posts(store).edit(1, 1, "other words of alice"),
    ],
    ids=["like", "repost", "reply", "quote", "edit"],
)
def test_a_new_post_gets_no_id_that_something_is_left_of(store, alice, bob, raw, left):
    """Its likes and answers would be those of a lost post."""
    Posts(store).publish(1, NewPost("words of alice"), "t1")
    left(store)
    raw.delete("post:1")
    for act in (
        lambda: Posts(store).publish(2, NewPost("Hello"), "t3"),
        lambda: Reposts(store).repost(1, 2, 2),
    ):
        raw.set("next_post_id", 0)
        with id_in_use(raw):
            act()
