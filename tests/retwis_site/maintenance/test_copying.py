"""`manage.py db copy` copies every key that is not a cache, between stores of every topology. A copy that is killed, or
refuses its source or target, stays unfinished, and can be run again."""

import contextlib

import pytest
import redis
from django.core.management import CommandError, call_command

from retwis_site.maintenance import filling
from retwis_site.management.commands import db
from retwis_site.store import keys, schema
from retwis_site.store.client import connect_exactly
from retwis_site.store.kinds import KINDS, kind_of
from tests.support.command_output import refuses, said
from tests.support.http.page_text import text_of
from tests.support.maintenance.copied_sites import OtherStore, copy, keys_to_copy, make_site_with_every_key, ttls
from tests.support.maintenance.stopped_runs import check_stopped_runs
from tests.support.people import PASSWORD, register
from tests.support.processes.processes import environment, manage
from tests.support.stored_keys import everything
from tests.support.stores import acl_users
from tests.support.stores.seam import Killed, each_moment, killed_before_write

NOT_UTF_8 = b"caf\xe9 \xff\xfe\x00\r\n \xed\xa0\x80"  # official databases may hold such bytes


def test_every_key_of_the_key_table_is_copied_unchanged(raw, source):
    before = everything(source.raw)
    copy(source)
    assert everything(raw) == keys_to_copy(source.raw)
    assert everything(source.raw) == before
    kinds = {key.partition(":")[0] for key in keys_to_copy(source.raw)}
    expected = {kind.word for kind in KINDS.values() if kind.is_copied}
    assert kinds == expected
    assert {"outbox", "outbox:1", "recent", "recent:3"} <= set(everything(raw))


def test_every_key_keeps_its_expiry(raw, source):
    copy(source)
    assert ttls(raw) == ttls(source.raw)
    expire = {kind_of(key) for key, left in ttls(raw).items() if left > 0}
    assert expire == {kind for kind in KINDS.values() if kind.is_copied and kind.lives} | {keys.post}


def test_users_are_still_signed_in_and_see_the_same_posts(source, browser):
    copy(source)
    client = browser()
    client.cookies["auth"] = source.raw.hget("user:3", "auth")
    home = client.get("/")
    assert 'action="/logout/"' in home.content.decode()
    assert "Grüße, 世界" in text_of(home)
    assert "two" not in text_of(home)
    assert client.post("/post/", {"body": "from here", "token": "new"}).status_code == 302
    assert "from here" in client.get("/timeline/").content.decode()
    assert client.get("/@carol/5/").status_code == 200
    assert browser().post("/login/", {"username": "bob", "password": PASSWORD}).status_code == 302


def test_a_form_sent_before_the_copy_makes_no_second_post_after_it(raw, source, client):
    copy(source)
    client.cookies["auth"] = source.raw.hget("user:2", "auth")
    assert client.post("/post/", {"body": "two", "token": "two"}).status_code == 302
    assert raw.zrange("updates:2", 0, -1) == ["2"]


def test_it_prints_the_counts_of_each_kind_of_key(raw, source, capsys):
    lines = said(capsys, "copy", f"--from={source.url}").splitlines()
    assert "user:*: 3 keys, 9 entries; 3 keys arrived" in lines
    assert "following:*: 3 keys, 3 entries; 3 keys arrived" in lines
    assert "idem:*: 4 keys, 4 entries; 4 keys arrived" in lines
    assert lines[-1] == f"{len(keys_to_copy(source.raw))} keys copied."
    assert len(lines) == sum(kind.is_copied for kind in KINDS.values()) + 1


def test_the_source_can_be_read_from_standard_input(raw, source, typed, capsys):
    typed(f"{source.url}\n")
    assert said(capsys, "copy", "--from=-", verbosity=0) == ""
    assert raw.get("next_user_id") == "3"


def test_large_keys_are_copied_in_chunks(raw, source, sent):
    names = {f"name{number}": str(number) for number in range(4, 10_504)}
    scores = {str(number): number / 7 for number in range(12_000)}
    source.raw.hset("users", mapping=names)
    source.raw.zadd("followers:1", scores)
    source.raw.expire("followers:1", 900)
    sent.round_trips.clear()
    copy(source)
    assert max(len(command) for command in sent.commands) < 4 * filling.AT_ONCE
    assert raw.hgetall("users") == source.raw.hgetall("users")
    assert raw.zrange("followers:1", 0, -1, withscores=True) == source.raw.zrange("followers:1", 0, -1, withscores=True)
    assert raw.ttl("followers:1") > 800


def test_no_scan_of_a_copy_looks_at_more_than_2000_keys(source, sent):
    """A scan of 80,000 keys keeps the server from all others for a quarter of a second."""
    pipe = source.raw.pipeline(transaction=False)
    for number in range(9000):
        pipe.set(f"another-program:{number}", "x")
    pipe.execute()
    sent.round_trips.clear()
    copy(source)
    looked_at = [command[-1] for command in sent.commands if command[0] == "SCAN"]
    assert max(looked_at) == 2000


def test_scores_are_copied_to_the_last_digit(raw, source):
    values = (0.1 + 0.2, 2**53 - 1, 1e300 / 3, float("inf"), -1.5, 1_700_000_000.123_456_7)
    scores = {str(number): value for number, value in enumerate(values, 1)}
    source.raw.zadd("following:2", scores)
    copy(source)
    assert dict(raw.zrange("following:2", 0, -1, withscores=True)) == scores


@pytest.mark.one_server
def test_bytes_that_are_not_utf_8_are_copied_unchanged(raw, source, settings):
    source_bytes, target_bytes = (
        redis.Redis(
            connection_pool=redis.ConnectionPool(
                client.connection_pool.connection_class,
                **{**client.connection_pool.connection_kwargs, "decode_responses": False},
            )
        )
        for client in (source.raw, raw)
    )
    source_bytes.hset("post:1", "body", NOT_UTF_8)
    source_bytes.hset("users", NOT_UTF_8, "7")
    source_bytes.zadd("users_by_time", {NOT_UTF_8: 5})
    source_bytes.set(b"idem:1:" + NOT_UTF_8, NOT_UTF_8, ex=900)
    copy(source)
    assert target_bytes.hgetall("post:1") == source_bytes.hgetall("post:1")
    assert target_bytes.hget("post:1", "body") == NOT_UTF_8
    assert target_bytes.hget("users", NOT_UTF_8) == b"7"
    assert target_bytes.zscore("users_by_time", NOT_UTF_8) == 5
    assert target_bytes.get(b"idem:1:" + NOT_UTF_8) == NOT_UTF_8
    assert target_bytes.ttl(b"idem:1:" + NOT_UTF_8) > 800


def test_a_key_of_the_wrong_type_is_skipped(raw, source):
    source.raw.rpush("user:9", "a", "list")
    source.raw.set("user:settings", "another program's")
    copy(source)
    assert not raw.exists("user:9")
    assert not raw.exists("user:settings")
    assert raw.get("next_user_id") == "3"


def test_only_keys_with_the_prefix_are_copied(raw, source, monkeypatch, settings, rights):
    rights("~*")
    if settings.REAL_SERVER:
        source.raw.execute_command("ACL", "SETUSER", acl_users.SITE, "~*")
    monkeypatch.setattr("retwis_site.store.kinds.PREFIX", "blog[1]:")
    for key in ("next_user_id", "next_post_id"):
        source.raw.set(f"blog[1]:{key}", 8)
    source.raw.hset("blog[1]:users", "dora", 8)
    copy(source)
    assert everything(raw) == {"blog[1]:next_user_id": "8", "blog[1]:next_post_id": "8", "blog[1]:users": {"dora": "8"}}


def test_a_site_without_counters_is_copied_and_still_has_none(raw, source):
    """Such as a site with POST_IDS=snowflake."""
    for counter in filling.counters():
        source.raw.delete(counter)
    copy(source)
    assert everything(raw) == keys_to_copy(source.raw)
    refuses("Name an empty one", "copy", f"--from={source.url}")


@pytest.mark.cluster
def test_a_copy_to_a_cluster_uses_all_of_its_servers(raw, other_store, site_at):
    with site_at(other_store):
        call_command("seed", "--users=200", "--posts=1000", "--follows=10", verbosity=0)
    copy(other_store)
    assert everything(raw) == keys_to_copy(other_store.raw)
    sizes = [raw.get_redis_connection(node).dbsize() for node in raw.get_primaries()]
    assert min(sizes) > sum(sizes) / 4
    call_command("doctor", verbosity=0)


def servers(settings):
    """The value of --from for the store of this run."""
    if settings.REDIS_TOPOLOGY == "twemproxy":
        return ",".join(settings.REDIS_NODES)
    if settings.REDIS_TOPOLOGY == "sentinel":
        return f"redis://{acl_users.credentials()}127.0.0.1:{settings.SERVERS[0].port}"
    return settings.REDIS_URL.partition(",")[0]  # a cluster: any of its servers


def test_a_site_of_any_topology_is_copied_to_one_server(raw, store, other_store, site_at, settings):
    make_site_with_every_key(raw, store)
    urls = servers(settings)
    with site_at(other_store):
        copy(OtherStore(urls, raw))
    assert everything(other_store.raw) == keys_to_copy(raw)
    assert ttls(other_store.raw) == ttls(raw)


@pytest.mark.real_server
@pytest.mark.processes
def test_a_site_is_copied_from_and_to_an_embedded_server(raw, settings, tmp_path):
    """Neither server runs before or after the command."""
    first, second = (environment(tmp_path / name) for name in ("first", "second"))
    at_a_server = {**first}
    del first["REDIS_URL"], second["REDIS_URL"]
    for command, env, expected in [
        (("seed", "--users=20", "--posts=90", "--follows=3"), first, "20 users"),
        (("copy", "--from=embedded"), at_a_server, "keys copied"),
        (("copy", f"--from={settings.REDIS_URL}"), second, "keys copied"),
        (("doctor",), second, "No errors"),
    ]:
        ended = manage(*command, env=env)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (0, 1), command  # which store it is
        assert expected in ended.stdout
    assert raw.hlen("users") == 20
    for name in ("first", "second"):
        assert not (tmp_path / name / "store" / "server.pid").exists()


# ---- killed, or refused


@pytest.fixture
def meanwhile(monkeypatch):
    """`with meanwhile(happens):` this happens when all is copied, before `copy` compares the stores."""
    compared = db.compared

    @contextlib.contextmanager
    def patched(happens):
        with monkeypatch.context() as patch:
            patch.setattr(db, "compared", lambda *stores: (happens(), compared(*stores))[1])
            yield

    return patched


def test_a_copy_killed_before_any_write_is_complete_after_a_second_run(raw, source, monkeypatch):
    monkeypatch.setattr(filling, "AT_ONCE", 10)
    complete = keys_to_copy(source.raw)
    for writes in each_moment():
        for key in raw.keys():  # noqa: SIM118  a client, not a dict
            raw.delete(key)
        killed_before_write(writes, lambda: copy(source))
        raw.delete("lease:filling")  # some seconds later
        if raw.get("next_user_id") == "3":
            assert everything(raw) == complete
        else:
            assert raw.get("next_user_id") in {None, schema.UNFINISHED}
            copy(source)
            assert everything(raw) == complete
    assert writes > 10


def test_an_unfinished_copy_starts_from_the_beginning(raw, source, meanwhile):
    """The source site ran on after the first try. Keys that it deleted must not come back."""

    def die():
        raise Killed

    with meanwhile(die), pytest.raises(Killed):
        copy(source)
    assert raw.exists("following:3")
    assert raw.get("next_user_id") == schema.UNFINISHED
    raw.rpush("timeline", "-0")
    source.raw.delete("following:3", "followers:1")
    copy(source)
    assert everything(raw) == keys_to_copy(source.raw)


def test_no_one_can_register_or_post_in_an_unfinished_copy(raw, source, browser, client, monkeypatch):
    monkeypatch.setattr(filling.Copy, "finish", lambda copy: None)
    copy(source)
    before = keys_to_copy(raw)
    form = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}
    assert browser().post("/register/", form).status_code == 503
    client.cookies["auth"] = source.raw.hget("user:1", "auth")
    assert client.post("/post/", {"body": "too early", "token": "t"}).status_code == 503
    after = keys_to_copy(raw)
    assert {key for key in {*before, *after} if before.get(key) != after.get(key)} <= set(raw.keys("throttle:*"))


@pytest.mark.parametrize("users", ["alice", "those of a finished copy"])
def test_a_target_with_users_is_refused(raw, store, source, users):
    if users == "alice":
        register(store, "Alice")
    else:
        copy(source)
    before = everything(raw)
    refuses(r"holds users.*Name an empty one", "copy", f"--from={source.url}")
    assert everything(raw) == before


def test_a_source_without_users_is_refused(raw, other_store):
    other_store.raw.set("next_user_id", 3)
    refuses(r"No user is registered at --from.*REDIS_KEY_PREFIX", "copy", f"--from={other_store.url}")
    assert everything(raw) == {}


def test_an_unfinished_copy_is_refused_as_source(raw, source):
    source.raw.set("next_user_id", schema.UNFINISHED)
    refuses("unfinished copy", "copy", f"--from={source.url}")
    assert everything(raw) == {}


def test_missing_keys_leave_the_copy_unfinished(raw, source, meanwhile):
    def lose():
        raw.hdel("post:1", "body")
        raw.delete("updates:2")

    with meanwhile(lose), pytest.raises(CommandError, match="The copy is incomplete"):
        copy(source)
    assert raw.get("next_user_id") == schema.UNFINISHED
    copy(source)
    assert everything(raw) == keys_to_copy(source.raw)


def test_a_copy_ends_when_another_has_begun(raw, source):
    target = connect_exactly()
    first, second = (filling.Copy(filling.connect_source([source.url]), target) for _ in range(2))
    first.begin()
    second.begin()
    for step in (lambda: [*first], first.finish):
        with pytest.raises(filling.CannotFill, match="Leave the store to that one"):
            step()
    assert raw.get("next_user_id") == schema.UNFINISHED
    assert not raw.exists("users")
    assert [*second]
    second.finish()
    assert everything(raw) == keys_to_copy(source.raw)


def test_a_copy_that_was_stopped_changes_nothing_of_the_site_that_another_has_made(raw, source, monkeypatch):
    """Somebody stops it with Ctrl-Z at any moment, and runs it again elsewhere. Bob has a new password by then."""
    monkeypatch.setattr(filling, "AT_ONCE", 10)

    def another():
        copy(source)
        raw.hset("user:2", "password", "a new one")

    check_stopped_runs(raw, monkeypatch, lambda: copy(source), another)


@pytest.mark.parametrize("counter", ["next_user_id", "next_post_id"])
def test_a_source_that_is_written_during_the_copy_leaves_it_unfinished(raw, source, meanwhile, counter):
    with (
        meanwhile(lambda: source.raw.incr(counter)),
        pytest.raises(CommandError, match="Stop the site, and run this again"),
    ):
        copy(source)
    assert raw.get("next_user_id") == schema.UNFINISHED


def test_a_worker_that_runs_during_the_copy_leaves_it_unfinished(raw, source, meanwhile):
    """A password that was changed meanwhile was the old one again. No count differs after it."""
    source.raw.set("worker_seen", "1700000000")
    with (
        meanwhile(lambda: source.raw.set("worker_seen", "1700000010")),
        pytest.raises(CommandError, match="The site at --from runs"),
    ):
        copy(source)
    assert raw.get("next_user_id") == schema.UNFINISHED


@pytest.mark.parametrize("command", [("copy",), ("db", "copy")])
def test_code_may_name_the_source_as_an_argument_of_python(raw, command):
    refuses("--from names no server", *command, source="")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "names no server"),
        (" , ", "names no server"),
        ("old.example", "--from is not the address of a Redis server. Write redis://"),
        ("http://me:secret@old.example", "--from is not the address of a Redis server. Write redis://"),
    ],
)
def test_a_wrong_address_is_an_error_that_shows_the_format(raw, address, message):
    with pytest.raises(CommandError, match=message) as caught:
        call_command("copy", f"--from={address}")
    assert "secret" not in str(caught.value)


def test_a_source_that_does_not_answer_is_named_in_one_line(tmp_path):
    env = environment(tmp_path, REDIS_URL="redis://127.0.0.1:2")
    ended = manage("copy", "--from=redis://me:secret@127.0.0.1:1", env=env)
    assert ended.returncode == 1
    _, line = ended.stderr.splitlines()
    assert line.startswith("CommandError: --from does not answer: ")
    assert line.endswith("Name a running server, with a user and password that it accepts.")
    assert "secret" not in line


@pytest.mark.real_server
def test_a_target_that_does_not_answer_is_named(source, moved):
    moved("redis://127.0.0.1:1")
    refuses("the store at REDIS_URL does not answer", "copy", f"--from={source.url}")


@pytest.mark.real_server
def test_a_wrong_password_for_the_source_is_not_repeated_in_the_error(other_store):
    with pytest.raises(CommandError, match=r"--from does not answer: .*password") as caught:
        call_command("copy", f"--from={other_store.url.replace('site', 'mistaken')}")
    assert "mistaken" not in str(caught.value)


@pytest.mark.real_server
def test_a_replica_is_refused_as_source(raw, source):
    """A replica may lag behind its primary."""
    source.raw.replicaof("127.0.0.1", 1)
    refuses("--from names a replica", "copy", f"--from={source.url}")
    assert everything(raw) == {}


@pytest.mark.real_server
def test_a_missing_right_at_the_source_names_the_source(source):
    source.raw.execute_command("ACL", "SETUSER", acl_users.SITE, "-hscan")
    refuses(r"at --from, the store refused HSCAN: .*permission", "copy", f"--from={source.url}")


@pytest.mark.real_server
def test_a_source_that_dies_during_the_copy_is_named(raw, source, meanwhile):
    def die():
        with contextlib.suppress(redis.ConnectionError):
            source.raw.shutdown(nosave=True)

    with meanwhile(die), pytest.raises(CommandError, match="--from does not answer"):
        copy(source)
    assert raw.get("next_user_id") == schema.UNFINISHED


@pytest.mark.one_server
def test_the_embedded_server_cannot_be_copied_to_itself(tmp_path):
    env = environment(tmp_path / "var")
    del env["REDIS_URL"]
    ended = manage("copy", "--from=embedded", env=env)
    assert ended.stderr.splitlines()[1:] == [
        "CommandError: Source and target are both the embedded server. Set REDIS_URL to the store to copy into."
    ]
    assert ended.returncode == 1
