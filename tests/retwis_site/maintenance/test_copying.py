"""`manage.py copy`: a whole site goes from one store to another, and nothing is lost on the way."""

import contextlib
import json
from dataclasses import dataclass

import pytest
import redis
from django.core.management import CommandError, call_command

from retwis_site.maintenance import site_copy
from retwis_site.store.client import connect
from tests.support.command_output import said
from tests.support.people import LONG_AGO, PASSWORD, register
from tests.support.processes.processes import environment, manage, run_server
from tests.support.stored_keys import add_overdue_job, everything, publish
from tests.support.stores import acl_users
from tests.support.stores.seam import Killed, killed_before_round_trip
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows

NOT_COPIED = ("posts:", "timeline", "lease:", "damaged:", "health", "somebody")
FOREIGN = b"caf\xe9 \xff\xfe\x00\r\n \xed\xa0\x80"  # what official databases hold, and no UTF-8


@dataclass
class Place:
    """A store of its own beside the site's."""

    url: str
    raw: redis.Redis


@pytest.fixture
def there(raw, settings, tmp_path):
    """A second store, which is one server in every run."""
    if not settings.REAL_SERVER:
        url = f"{settings.REDIS_URL}/1"
        yield Place(url, _client(url, settings))
        return
    with (
        run_server(str(tmp_path)),
        redis.Redis.from_url(acl_users.url(tmp_path, acl_users.ADMIN), decode_responses=True) as admin,
    ):
        yield Place(acl_users.url(tmp_path), admin)


def _client(url, settings, **changes):
    options = settings.CACHES["store"]["OPTIONS"]["CONNECTION_POOL_KWARGS"]
    pool = redis.ConnectionPool.from_url(url, **{**options, "decode_responses": True, **changes})
    return redis.Redis(connection_pool=pool)


@pytest.fixture
def at(settings, moved):
    """`with at(place):` the site is there."""

    @contextlib.contextmanager
    def stay(place):
        home = settings.REDIS_TOPOLOGY, settings.REDIS_URL
        settings.REDIS_TOPOLOGY = "server"
        moved(place.url)
        try:
            yield connect()
        finally:
            settings.REDIS_TOPOLOGY = home[0]
            moved(home[1])

    return stay


@pytest.fixture
def old(there, at):
    """A second store with a site in it of which every kind of key is there."""
    with at(there) as store:
        make_site(there.raw, store)
    return there


def make_site(raw, store):
    alice, bob, carol = (register(store, name) for name in ("Alice", "bob", "carol"))
    for me, them in ((alice, bob), (bob, alice), (carol, alice), (carol, bob)):
        Follows(store).follow(me.user.uid, them.user.uid)
    Follows(store).unfollow(carol.user.uid, bob.user.uid)
    for author, body in ((alice, "Grüße, 世界"), (bob, "two"), (alice, "three"), (alice, "deleted")):
        pid = publish(raw, store, author, body)
    Posts(store).delete(alice.user.uid, pid)
    add_overdue_job(raw, "post:3:abc")
    raw.hset("attempts", "post:3:abc", 2)
    raw.set("lease:post:3:abc", "a worker", ex=60)
    raw.zadd("outbox:1", {"post:2:abc": LONG_AGO})
    raw.zadd("recent", {"1": 1})
    raw.zadd("recent:3", {"2": 2})
    raw.rpush("timeline:2", "-0")
    raw.zadd("set_aside", {"follow:9:9:abc": LONG_AGO})
    raw.zadd("throttle:post:1", {"n": 1.5e9 + 0.1})
    raw.expire("throttle:post:1", 900)
    raw.rpush("posts:1", "b0", "3", "1")
    raw.rpush("timeline", "3", "2", "1")
    raw.set("damaged:user:7", "x", ex=900)
    raw.set("health", "1", ex=900)
    raw.set("somebody-elses", "x")


def to_copy(raw):
    """What the copy has to have, as it is."""
    return {key: held for key, held in everything(raw).items() if not key.startswith(NOT_COPIED)}


def lives(raw):
    """How long each key has left, to some seconds."""
    return {key: round(raw.pttl(key) / 10_000) for key in to_copy(raw)}


def copy(place, **options):
    call_command("copy", f"--from={place.url}", **{"verbosity": 0, **options})


# ---- everything arrives


def test_every_key_of_the_key_table_arrives_as_it_is(raw, old):
    before = everything(old.raw)
    copy(old)
    assert everything(raw) == to_copy(old.raw)
    assert everything(old.raw) == before
    kinds = {key.partition(":")[0] for key in to_copy(old.raw)}
    expected = {kind.partition(":")[0] for kind in site_copy.COPIED}
    assert kinds == expected
    assert {"outbox", "outbox:1", "recent", "recent:3"} <= set(everything(raw))


def test_every_key_keeps_the_life_that_it_has_left(raw, old):
    copy(old)
    assert lives(raw) == lives(old.raw)
    assert {key for key, left in lives(raw).items() if left > 0} == set(raw.keys("idem:*")) | {
        "post:4",
        "throttle:post:1",
    }


def test_caches_and_leases_stay_where_they_are_and_foreign_keys_too(raw, old):
    copy(old)
    assert [key for key in raw.keys() if key.startswith(NOT_COPIED)] == []  # noqa: SIM118  a client, not a dict


def test_afterwards_everybody_is_signed_in_and_reads_what_they_read(old, browser):
    copy(old)
    client = browser()
    client.cookies["auth"] = old.raw.hget("user:3", "auth")
    page = client.get("/").content.decode()
    assert 'action="/logout/"' in page
    assert "Grüße, 世界" in page
    assert "two" not in page
    assert client.post("/post/", {"body": "from here", "token": "new"}).status_code == 302
    assert "from here" in client.get("/timeline/").content.decode()
    assert client.get("/@carol/5/").status_code == 200
    assert browser().post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 302


def test_a_form_that_was_sent_before_makes_no_second_post_after(raw, old, browser):
    copy(old)
    client = browser()
    client.cookies["auth"] = old.raw.hget("user:2", "auth")
    assert client.post("/post/", {"body": "two", "token": "two"}).status_code == 302
    assert raw.zrange("updates:2", 0, -1) == ["2"]


def test_doctor_finds_nothing_in_the_copy_of_a_community(there, at, capsys):
    with at(there):
        call_command("seed", "--users=120", "--posts=900", "--follows=12", verbosity=0)
    copy(there)
    found = json.loads(said(capsys, "doctor", "--json"))
    assert (found["ok"], found["errors"], found["debris"]) == (True, [], [])


def test_what_it_says(raw, old, capsys):
    lines = said(capsys, "copy", f"--from={old.url}").splitlines()
    assert "user:*: 3 keys, 9 entries; 3 keys arrived" in lines
    assert "following:*: 3 keys, 3 entries; 3 keys arrived" in lines
    assert "idem:*: 4 keys, 4 entries; 4 keys arrived" in lines
    assert lines[-1] == f"{len(to_copy(old.raw))} keys copied."
    assert len(lines) == len(site_copy.COPIED) + 1


def test_where_from_can_be_said_on_standard_input(raw, old, typed, capsys):
    typed(f"{old.url}\n")
    assert said(capsys, "copy", "--from=-", verbosity=0) == ""
    assert raw.get("next_user_id") == "3"


def test_what_is_large_goes_in_chunks(raw, old, sent):
    names = {f"name{number}": str(number) for number in range(4, 10_504)}
    scores = {str(number): number / 7 for number in range(12_000)}
    old.raw.hset("users", mapping=names)
    old.raw.zadd("followers:1", scores)
    old.raw.expire("followers:1", 900)
    sent.round_trips.clear()
    copy(old)
    assert max(len(command) for command in sent.commands) < 4 * site_copy.AT_ONCE
    assert raw.hgetall("users") == old.raw.hgetall("users")
    assert raw.zrange("followers:1", 0, -1, withscores=True) == old.raw.zrange("followers:1", 0, -1, withscores=True)
    assert raw.ttl("followers:1") > 800


def test_scores_arrive_to_the_last_digit(raw, old):
    values = (0.1 + 0.2, 2**53 - 1, 1e300 / 3, float("inf"), -1.5, 1_700_000_000.123_456_7)
    scores = {str(number): value for number, value in enumerate(values, 1)}
    old.raw.zadd("following:2", scores)
    copy(old)
    assert dict(raw.zrange("following:2", 0, -1, withscores=True)) == scores


@pytest.mark.one_server
def test_bytes_that_are_no_text_arrive_as_they_are(raw, old, settings):
    source, target = (
        redis.Redis(
            connection_pool=redis.ConnectionPool(
                client.connection_pool.connection_class,
                **{**client.connection_pool.connection_kwargs, "decode_responses": False},
            )
        )
        for client in (old.raw, raw)
    )
    source.hset("post:1", "body", FOREIGN)
    source.hset("users", FOREIGN, "7")
    source.zadd("users_by_time", {FOREIGN: 5})
    source.set(b"idem:1:" + FOREIGN, FOREIGN, ex=900)
    copy(old)
    assert target.hgetall("post:1") == source.hgetall("post:1")
    assert target.hget("post:1", "body") == FOREIGN
    assert target.hget("users", FOREIGN) == b"7"
    assert target.zscore("users_by_time", FOREIGN) == 5
    assert target.get(b"idem:1:" + FOREIGN) == FOREIGN
    assert target.ttl(b"idem:1:" + FOREIGN) > 800


def test_what_has_the_wrong_type_for_its_place_is_passed_over(raw, old):
    old.raw.rpush("user:9", "a", "list")
    old.raw.set("user:settings", "a neighbour's")
    copy(old)
    assert not raw.exists("user:9")
    assert not raw.exists("user:settings")
    assert raw.get("next_user_id") == "3"


def test_only_what_stands_under_the_prefix_is_copied(raw, old, monkeypatch, settings, rights):
    rights("~*")
    if settings.REAL_SERVER:
        old.raw.execute_command("ACL", "SETUSER", acl_users.SITE, "~*")
    monkeypatch.setattr("retwis_site.store.keys.PREFIX", "blog[1]:")
    monkeypatch.setattr(site_copy, "COUNTERS", ("blog[1]:next_post_id", "blog[1]:next_user_id"))
    for key in ("next_user_id", "next_post_id"):
        old.raw.set(f"blog[1]:{key}", 8)
    old.raw.hset("blog[1]:users", "dora", 8)
    copy(old)
    assert everything(raw) == {
        "blog[1]:next_user_id": "8",
        "blog[1]:next_post_id": "8",
        "blog[1]:users": {"dora": "8"},
    }


# ---- killed, and run again


def test_killed_after_any_round_trip_it_ends_the_same_when_it_is_run_again(raw, old, monkeypatch):
    monkeypatch.setattr(site_copy, "AT_ONCE", 10)
    complete = to_copy(old.raw)
    round_trips = 0
    killed = True
    while killed:
        for key in raw.keys():  # noqa: SIM118  a client, not a dict
            raw.delete(key)
        killed = killed_before_round_trip(round_trips, lambda: copy(old))
        if raw.get("next_user_id") == "3":
            assert everything(raw) == complete
        else:
            assert raw.get("next_user_id") in {None, site_copy.UNFINISHED}
            copy(old)
            assert everything(raw) == complete
        round_trips += 1
    assert round_trips > 20


def test_a_copy_that_was_not_finished_is_begun_anew(raw, old, monkeypatch):
    """The site went on where it was, after the first try: what was undone there must not come back."""

    def die(copy):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(site_copy.Copy, "comparison", die)
        with pytest.raises(Killed):
            copy(old)
    assert raw.exists("following:3")
    assert raw.get("next_user_id") == site_copy.UNFINISHED
    raw.rpush("timeline", "-0")
    old.raw.delete("following:3", "followers:1")
    copy(old)
    assert everything(raw) == to_copy(old.raw)


def test_in_a_copy_that_is_not_finished_nobody_registers_or_posts(raw, old, browser, monkeypatch):
    monkeypatch.setattr(site_copy.Copy, "finish", lambda copy: None)
    copy(old)
    before = not_made_by_looking(raw)
    form = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}
    assert browser().post("/register/", form).status_code == 503
    client = browser()
    client.cookies["auth"] = old.raw.hget("user:1", "auth")
    assert client.post("/post/", {"body": "too early", "token": "t"}).status_code == 503
    assert not_made_by_looking(raw) == before


def not_made_by_looking(raw):
    return {key: held for key, held in to_copy(raw).items() if not key.startswith("throttle:")}


# ---- refused


def test_a_store_in_which_somebody_is_registered_is_refused(raw, old, alice):
    before = everything(raw)
    with pytest.raises(CommandError, match=r"holds users.*Name an empty one"):
        copy(old)
    assert everything(raw) == before


def test_a_second_copy_over_the_first_is_refused(raw, old):
    copy(old)
    before = everything(raw)
    with pytest.raises(CommandError, match="Name an empty one"):
        copy(old)
    assert everything(raw) == before


def test_a_site_without_counters_is_copied_too_and_has_none_afterwards(raw, old):
    """One with POST_IDS=snowflake."""
    for counter in site_copy.COUNTERS:
        old.raw.delete(counter)
    copy(old)
    assert everything(raw) == to_copy(old.raw)
    with pytest.raises(CommandError, match="Name an empty one"):
        copy(old)


def test_a_store_in_which_nobody_is_registered_is_no_source(raw, there):
    there.raw.set("next_user_id", 3)
    with pytest.raises(CommandError, match=r"No user is registered at --from.*REDIS_KEY_PREFIX"):
        copy(there)
    assert everything(raw) == {}


def test_a_copy_that_is_not_finished_is_no_source(raw, old):
    old.raw.set("next_user_id", site_copy.UNFINISHED)
    with pytest.raises(CommandError, match="unfinished copy"):
        copy(old)
    assert everything(raw) == {}


def test_what_did_not_arrive_is_an_error_and_the_copy_not_finished(raw, old, monkeypatch):
    compare = site_copy.Copy.comparison

    def lose(copy):
        raw.hdel("post:1", "body")
        raw.delete("updates:2")
        return compare(copy)

    with monkeypatch.context() as patched:
        patched.setattr(site_copy.Copy, "comparison", lose)
        with pytest.raises(CommandError, match="The copy is incomplete"):
            copy(old)
    assert raw.get("next_user_id") == site_copy.UNFINISHED
    copy(old)
    assert everything(raw) == to_copy(old.raw)


@pytest.mark.parametrize("counter", ["next_user_id", "next_post_id"])
def test_a_site_that_is_at_work_meanwhile_is_an_error_and_the_copy_not_finished(raw, old, monkeypatch, counter):
    compare = site_copy.Copy.comparison

    def go_on(copy):
        old.raw.incr(counter)
        return compare(copy)

    monkeypatch.setattr(site_copy.Copy, "comparison", go_on)
    with pytest.raises(CommandError, match="Stop the site, and run this again"):
        copy(old)
    assert raw.get("next_user_id") == site_copy.UNFINISHED


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("", "names no server"),
        (" , ", "names no server"),
        ("old.example", "--from is not the address of a Redis server. Write redis://"),
        ("http://me:secret@old.example", "--from is not the address of a Redis server. Write redis://"),
    ],
)
def test_a_wrong_address_is_an_error_that_says_how_it_is_written(raw, wrong, says):
    with pytest.raises(CommandError, match=says) as caught:
        call_command("copy", f"--from={wrong}")
    assert "secret" not in str(caught.value)


def test_a_source_that_does_not_answer_is_one_line_that_names_it(tmp_path):
    env = environment(tmp_path, REDIS_URL="redis://127.0.0.1:2")
    ended = manage("copy", "--from=redis://me:secret@127.0.0.1:1", env=env)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("CommandError: --from does not answer: ")
    assert line.endswith("Name a running server, with a user and password that it accepts.")
    assert "secret" not in line


@pytest.mark.real_server
def test_a_target_that_does_not_answer_is_said_to_be_the_target(old, moved):
    moved("redis://127.0.0.1:1")
    with pytest.raises(CommandError, match="the store at REDIS_URL does not answer"):
        copy(old)


@pytest.mark.real_server
def test_a_wrong_password_for_the_source_is_one_line_that_does_not_repeat_it(there):
    with pytest.raises(CommandError, match=r"--from does not answer: .*password") as caught:
        call_command("copy", f"--from={there.url.replace('site', 'nobody')}")
    assert "nobody" not in str(caught.value)


@pytest.mark.real_server
def test_a_replica_is_no_source(raw, old):
    """It may lag behind; its primary is the one to name."""
    old.raw.replicaof("127.0.0.1", 1)
    with pytest.raises(CommandError, match="--from names a replica"):
        copy(old)
    assert everything(raw) == {}


@pytest.mark.real_server
def test_a_right_that_is_missing_at_the_source_is_said_of_the_source(old):
    old.raw.execute_command("ACL", "SETUSER", acl_users.SITE, "-hscan")
    with pytest.raises(CommandError, match=r"at --from, the store refused HSCAN: .*permission"):
        copy(old)


@pytest.mark.real_server
def test_a_source_that_dies_meanwhile_is_said_to_be_the_source(raw, old, monkeypatch):
    compare = site_copy.Copy.comparison

    def die(copy):
        with contextlib.suppress(redis.ConnectionError):
            old.raw.shutdown(nosave=True)
        return compare(copy)

    monkeypatch.setattr(site_copy.Copy, "comparison", die)
    with pytest.raises(CommandError, match="--from does not answer"):
        copy(old)
    assert raw.get("next_user_id") == site_copy.UNFINISHED


# ---- several servers


@pytest.mark.cluster
def test_what_lay_on_one_server_lies_on_all_of_a_cluster(raw, there, at):
    with at(there):
        call_command("seed", "--users=200", "--posts=1000", "--follows=10", verbosity=0)
    copy(there)
    assert everything(raw) == to_copy(there.raw)
    sizes = [raw.get_redis_connection(node).dbsize() for node in raw.get_primaries()]
    assert min(sizes) > sum(sizes) / 4
    call_command("doctor", verbosity=0)


def servers(settings):
    """What --from has to name when the site is in the store of this run."""
    if settings.REDIS_TOPOLOGY == "twemproxy":
        return ",".join(settings.REDIS_NODES)
    if settings.REDIS_TOPOLOGY == "sentinel":
        return f"redis://{acl_users.credentials()}127.0.0.1:{settings.SERVERS[0].port}"
    return settings.REDIS_URL.partition(",")[0]  # any of a cluster will do


def test_from_servers_of_any_kind_into_one(raw, store, there, at, settings):
    make_site(raw, store)
    named = servers(settings)
    with at(there):
        copy(Place(named, raw))
    assert everything(there.raw) == to_copy(raw)
    assert lives(there.raw) == lives(raw)


# ---- the embedded server


@pytest.mark.real_server
def test_from_the_embedded_server_and_into_another_one(raw, settings, tmp_path):
    """Neither runs before, and neither runs after."""
    first, second = (environment(tmp_path / name) for name in ("first", "second"))
    at_a_server = {**first}
    del first["REDIS_URL"], second["REDIS_URL"]
    for command, env, says in [
        (("seed", "--users=20", "--posts=90", "--follows=3"), first, "20 users"),
        (("copy", "--from=embedded"), at_a_server, "keys copied"),
        (("copy", f"--from={settings.REDIS_URL}"), second, "keys copied"),
        (("doctor",), second, "No errors"),
    ]:
        ended = manage(*command, env=env)
        assert (ended.returncode, ended.stderr) == (0, ""), command
        assert says in ended.stdout
    assert raw.hlen("users") == 20
    for name in ("first", "second"):
        assert not (tmp_path / name / "store" / "server.pid").exists()


@pytest.mark.one_server
def test_from_the_embedded_server_into_itself_is_an_error(tmp_path):
    env = environment(tmp_path / "var")
    del env["REDIS_URL"]
    ended = manage("copy", "--from=embedded", env=env)
    assert (
        ended.stderr
        == "CommandError: Source and target are both the embedded server. Set REDIS_URL to the store to copy into.\n"
    )
    assert ended.returncode == 1
