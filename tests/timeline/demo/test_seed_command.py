"""`manage.py seed`: its arguments, and a store that is not empty."""

import pytest
from django.core.management import CommandError, call_command

from retwis_site.store import kinds
from tests.support.demo_community import DEMO_LOGIN, members, seed
from tests.support.stored_keys import everything, follower_counts, ranking
from timeline.demo import seeding

# ---- arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ("--users", "0"),
        ("--users=-3",),
        ("--users", "-3"),
        ("--users", ""),
        ("--users", "1.5"),
        ("--users", "٣"),
        ("--users", "1000000000000"),
        ("--posts", "x"),
        ("--posts", "-1"),
        ("--follows", "many"),
        ("--seed", "one"),
        ("--people", "3"),
    ],
)
def test_a_bad_argument_is_refused_and_nothing_is_written(raw, arguments):
    with pytest.raises(CommandError):
        call_command("seed", *arguments)
    assert raw.dbsize() == 0


def test_zero_users_are_refused_with_advice(raw):
    with pytest.raises(CommandError, match="--users 1"):
        call_command("seed", "--users=0")


# ---- a store that is not empty


def test_a_store_with_users_is_refused(raw, alice):
    before = everything(raw)
    with pytest.raises(CommandError, match="--flush"):
        seed()
    assert everything(raw) == before


def test_flush_deletes_all_keys_of_the_site_and_no_others(raw, store, alice):
    sets = ("following:999", "followers:999", "updates:999", "outbox")
    lists = ("posts:999", "timeline")
    strings = ("lease:post:1:abc", "idem:999:token", "health")
    for key in sets:
        raw.zadd(key, {"1": 1})
    for key in lists:
        raw.rpush(key, "1")
    for key in strings:
        raw.set(key, "1")
    raw.hset("post:999", mapping={"user_id": "1", "time": "1", "body": "gone in a moment"})
    foreign = ["celery", "session:1", "posts_of_another_site", "users2", "my:user:1", "outbox:old", "timeline:old"]
    for key in foreign:
        raw.set(key, "foreign")
    seed("--flush", "--noinput", users=3, posts=2, follows=1)
    assert [raw.get(key) for key in foreign] == ["foreign"] * len(foreign)
    assert raw.hlen("users") == 3
    assert "alice" not in raw.hgetall("users")
    assert raw.exists(*sets, *lists, *strings, "post:999") == 0
    assert not raw.hexists("auths", alice.secret)


def test_after_a_flush_an_old_cookie_is_signed_out(raw, alice, browser):
    client = browser(alice)
    assert 'action="/logout/"' in client.get("/").content.decode()
    seed("--flush", "--noinput")
    assert 'action="/logout/"' not in client.get("/").content.decode()


@pytest.mark.parametrize("prefix", ["retwis:", "a*b:", "[ab]?:", "back\\slash:"])
def test_flush_with_a_prefix_deletes_only_keys_with_the_prefix(raw, rights, monkeypatch, prefix):
    foreign = ["users", "user:1", "post:1", "other:users", "aXb:user:1", "aX:user:1", "bX:user:1", "backslash:user:1"]
    for key in foreign:
        raw.hset(key, "name", "foreign")
    monkeypatch.setattr(kinds, "PREFIX", prefix)
    rights("resetkeys", *(f"~{kinds.matching(pattern)}" for pattern in kinds.KINDS))
    raw.hset(f"{prefix}user:999", "username", "own")
    raw.set(f"{prefix}celery", "foreign")
    seed("--flush", "--noinput", users=3, posts=2, follows=1)
    assert raw.exists(f"{prefix}user:999") == 0
    assert raw.get(f"{prefix}celery") == "foreign"
    assert [raw.hgetall(key) for key in foreign] == [{"name": "foreign"}] * len(foreign)
    assert raw.hlen(f"{prefix}users") == 3
    assert all(key.startswith(prefix) for key in set(raw.keys()) - set(foreign))


def test_after_a_killed_seeding_the_store_has_no_users(raw, monkeypatch):
    write = seeding.write

    def killed(store, batch):
        if any(step.key == "users" for step in batch):
            raise KeyboardInterrupt
        write(store, batch)

    monkeypatch.setattr(seeding, "BATCH", 20)
    monkeypatch.setattr(seeding, "write", killed)
    with pytest.raises(SystemExit):
        seed()
    assert raw.exists("users") == 0
    assert len(raw.keys("post:*")) > 100
    monkeypatch.setattr(seeding, "write", write)
    seed("--flush", "--noinput")
    assert raw.hlen("users") == 60
    assert len(raw.keys("post:*")) == 300


def test_a_smaller_seeding_does_not_mix_with_a_killed_one(raw, browser):
    """Keys of the killed seeding would become part of new posts with the same ids."""
    seed()
    raw.delete("users")
    try:
        seed(users=5, posts=3, follows=1)
    except CommandError:
        seed("--flush", "--noinput", users=5, posts=3, follows=1)
    assert raw.hlen("users") == raw.hlen("auths") == raw.zcard("users_by_time") == len(raw.keys("user:*")) == 5
    assert len(members(raw, "following:")) == 5
    assert ranking(raw) == follower_counts(raw)
    client = browser()
    client.post("/login/", DEMO_LOGIN)
    client.post("/post/", {"body": "Mine, and new"})
    assert raw.hget("post:4", "body") == "Mine, and new"
    assert raw.hget("post:4", "user_id") == "1"


def test_it_prints_the_numbers_and_how_to_log_in(raw, capsys):
    seed(users=3, posts=2, follows=1, verbosity=1)
    assert capsys.readouterr().out == "3 users and 2 posts. Log in as demo with the password retwis-demo\n"
