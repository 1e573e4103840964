"""`manage.py seed`: its arguments, a store that is not empty, and the question of `--flush`."""

from contextlib import nullcontext as nothing

import pytest
from django.core.management import CommandError, call_command

from retwis_site.maintenance.filling import Filling
from retwis_site.store import kinds
from retwis_site.store.client import connect, without_gate
from retwis_site.store.connection import topology
from retwis_site.store.schema import NotFilled
from tests.support.command_output import doctor, refuses
from tests.support.demo_community import DEMO_LOGIN, members, seed
from tests.support.stored_keys import everything, follower_counts, publish, ranking
from timeline.demo import seeding
from timeline.demo.feature import FEATURE
from timeline.search.rebuilding import Rebuilding

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


def test_zero_users_are_refused(raw):
    refuses("--users: '0' is not a whole number from 1", "seed", "--users=0")


# ---- a store that is not empty


def test_a_store_with_users_is_refused(raw, alice):
    before = everything(raw)
    with pytest.raises(CommandError, match="--flush"):
        seed()
    assert everything(raw) == before


def test_of_two_seedings_at_once_one_writes_and_the_other_is_refused(raw, monkeypatch):
    begin = seeding.begin

    def other_seeds_first(store):
        monkeypatch.setattr(seeding, "begin", begin)
        seed("--seed=2", users=5, posts=9, follows=1)
        written.update(everything(raw))
        return begin(store)

    written = {}
    monkeypatch.setattr(seeding, "begin", other_seeds_first)
    with pytest.raises(CommandError, match="holds users"):
        seed(users=3, posts=2, follows=1)
    assert raw.hlen("users") == 5
    assert everything(raw) == written


def in_the_middle(monkeypatch, happens):
    """`happens` comes once, before the third batch of the next seeding."""
    write, batches = seeding.write, []

    def disturbed(store, run, batch):
        batches.append(batch)
        if len(batches) == 3:
            monkeypatch.setattr(seeding, "write", write)
            happens()
        write(store, run, batch)

    monkeypatch.setattr(seeding, "BATCH", 20)
    monkeypatch.setattr(seeding, "write", disturbed)


@pytest.mark.parametrize("options", [(), ("--flush", "--noinput")])
def test_a_seeding_ends_when_another_one_has_begun(raw, monkeypatch, capsys, options):
    """Both ended with success, and the store had people of one with names and posts of the other."""
    in_the_middle(monkeypatch, lambda: seed(*options, "--seed=2", users=5, posts=9, follows=1))
    with pytest.raises(CommandError, match="another `seed`"):
        seed()
    assert (raw.hlen("users"), len(raw.keys("user:*")), len(raw.keys("post:*"))) == (5, 5, 9)
    assert doctor(capsys) == (0, {}, {})


def test_a_seeding_fails_when_the_store_has_lost_its_beginning(raw, monkeypatch):
    """Such as a server without an append-only file that has restarted: the command ended with success."""
    in_the_middle(monkeypatch, raw.flushdb)
    with pytest.raises(CommandError, match="it has lost its keys"):
        seed()
    assert raw.dbsize() == 0


@pytest.mark.parametrize("command", [("doctor", "--fix"), ("cleanup",)], ids=" ".join)
def test_no_other_command_works_on_a_store_that_is_being_seeded(raw, monkeypatch, command):
    def from_another_process():
        connect.cache_clear()  # with its gate
        refuses("a seeding has not ended", *command)

    in_the_middle(monkeypatch, from_another_process)
    seed()
    assert raw.hlen("users") == 60


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


def test_after_a_flush_an_old_cookie_is_signed_out(raw, member):
    assert 'action="/logout/"' in member.get("/").content.decode()
    seed("--flush", "--noinput")
    assert 'action="/logout/"' not in member.get("/").content.decode()


@pytest.mark.parametrize("prefix", ["retwis:", "a*b:", "[ab]?:", "back\\slash:"])
def test_flush_with_a_prefix_deletes_only_keys_with_the_prefix(raw, rights, monkeypatch, prefix):
    foreign = ["users", "user:1", "post:1", "other:users", "aXb:user:1", "aX:user:1", "bX:user:1", "backslash:user:1"]
    for key in foreign:
        raw.hset(key, "name", "foreign")
    monkeypatch.setattr(kinds, "PREFIX", prefix)
    rights("resetkeys", *(f"~{kinds.matching(kind.pattern)}" for kind in kinds.KINDS.values()))
    raw.hset(f"{prefix}user:999", "username", "own")
    raw.set(f"{prefix}celery", "foreign")
    seed("--flush", "--noinput", users=3, posts=2, follows=1)
    assert raw.exists(f"{prefix}user:999") == 0
    assert raw.get(f"{prefix}celery") == "foreign"
    assert [raw.hgetall(key) for key in foreign] == [{"name": "foreign"}] * len(foreign)
    assert raw.hlen(f"{prefix}users") == 3
    assert all(key.startswith(prefix) for key in set(raw.keys()) - set(foreign))


@pytest.mark.parametrize("again", [seed, lambda: seed("--flush", "--noinput")])
def test_after_a_killed_seeding_the_store_has_no_users(raw, monkeypatch, again):
    write = seeding.write

    def killed(store, run, batch):
        if any(key == "users" for key, _ in batch):
            raise KeyboardInterrupt
        write(store, run, batch)

    monkeypatch.setattr(seeding, "BATCH", 20)
    monkeypatch.setattr(seeding, "write", killed)
    with pytest.raises(SystemExit):
        seed()
    assert raw.exists("users") == 0
    assert len(raw.keys("post:*")) > 100
    monkeypatch.setattr(seeding, "write", write)
    again()
    assert raw.hlen("users") == 60
    assert len(raw.keys("post:*")) == 300


def test_a_seeding_that_was_killed_while_it_wrote_the_index_of_the_search_has_no_users_either(raw, store, monkeypatch):
    """`serve` makes the demo community again: it did not, and its search found no post."""

    def killed(rebuilding):
        raise KeyboardInterrupt

    monkeypatch.setattr(Rebuilding, "begin", killed)
    with pytest.raises(SystemExit):
        seed()
    assert (raw.exists("users"), raw.exists("post:300")) == (0, 1)
    monkeypatch.undo()
    assert "Log in as demo" in FEATURE.before_serving(store, print)
    assert raw.hlen("users") == 200


def test_serve_makes_no_demo_of_an_unfinished_import(raw):
    Filling(without_gate()).begin()
    before = everything(raw)
    connect.cache_clear()  # with its gate
    with pytest.raises(NotFilled):
        FEATURE.before_serving(connect(), print)
    assert everything(raw) == before


def test_serve_makes_no_demo_of_a_site_that_has_lost_its_names(raw, store, alice):
    """It deleted all of the site."""
    raw.delete("users")
    before = everything(raw)
    assert "manage.py doctor --fix" in FEATURE.before_serving(store, print)
    assert everything(raw) == before
    call_command("doctor", "--fix", verbosity=0)
    assert raw.hgetall("users") == {"alice": "1"}


def test_a_smaller_seeding_does_not_mix_with_a_killed_one(raw, client):
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
    client.post("/login/", DEMO_LOGIN)
    client.post("/post/", {"body": "Mine, and new"})
    assert raw.hget("post:4", "body") == "Mine, and new"
    assert raw.hget("post:4", "user_id") == "1"


def test_it_prints_the_numbers_and_how_to_log_in(raw, capsys):
    seed(users=3, posts=2, follows=1, verbosity=1)
    assert capsys.readouterr().out == "3 users and 2 posts. Log in as demo with the password retwis-demo\n"


# ---- `seed --flush` asks before it deletes, whatever its standard input is.


@pytest.fixture
def site(raw, store, alice, bob):
    """A site with two users and one post."""
    publish(raw, store, alice, "Hello")
    return raw


@pytest.fixture
def embedded(settings, monkeypatch):
    """The store counts as the embedded one."""
    free = without_gate()
    monkeypatch.setattr("timeline.management.commands.seed.without_gate", lambda: free)
    settings.REDIS_URL, settings.REDIS_TOPOLOGY = "", "server"


@pytest.mark.parametrize("answer", ["", "\n", "y\n", "yes\n", "3\n", "no\n2\n"])
def test_only_the_number_of_users_deletes_a_store_at_redis_url(site, typed, answer):
    before = everything(site)
    typed(answer)
    with pytest.raises(CommandError, match="Nothing was deleted"):
        seed("--flush")
    assert everything(site) == before


@pytest.mark.parametrize("answer", ["2\n", "2", " 2 \n"])
def test_the_number_of_users_deletes_it(site, typed, answer):
    typed(answer)
    seed("--flush")
    assert site.hlen("users") == 60
    assert "alice" not in site.hgetall("users")


@pytest.mark.parametrize(("answer", "deletes"), [("yes\n", True), ("2\n", False), ("y\n", False), ("", False)])
def test_yes_deletes_the_embedded_store(site, embedded, monkeypatch, typed, answer, deletes):
    """The command stays on the store of the test: without REDIS_URL it would start a server."""
    monkeypatch.setattr("retwis_site.store.embedded.running", nothing)
    typed(answer)
    if deletes:
        seed("--flush")
    else:
        with pytest.raises(CommandError, match="Nothing was deleted"):
            seed("--flush")
    assert ("alice" not in site.hgetall("users")) is deletes


def test_the_question_names_the_store_and_the_numbers(site, typed, capsys):
    typed("2\n")
    seed("--flush")
    question = capsys.readouterr().out
    assert f"This deletes the whole site ({topology.described()}; users: 2, posts: 1)." in question
    assert "Type the number of users to continue: " in question


def test_the_end_of_input_names_the_option(site, typed):
    typed("")
    with pytest.raises(CommandError, match="--noinput"):
        seed("--flush")


def test_noinput_asks_nothing(site, typed, capsys):
    typed("")
    seed("--flush", "--noinput")
    assert capsys.readouterr().out == ""
    assert site.hlen("users") == 60


def test_an_empty_store_asks_nothing(raw, typed):
    typed("")
    seed("--flush")
    assert raw.hlen("users") == 60
