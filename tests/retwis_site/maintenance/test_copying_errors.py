"""`manage.py copy` that is killed, or refuses its source or target: the copy stays unfinished, and can be run again."""

import contextlib

import pytest
import redis
from django.core.management import CommandError, call_command

from retwis_site.maintenance import filling
from retwis_site.store import schema
from retwis_site.store.client import connect_exactly
from tests.support.command_output import refuses
from tests.support.maintenance.copied_sites import copy, keys_to_copy
from tests.support.people import PASSWORD, register
from tests.support.processes.processes import environment, manage
from tests.support.stored_keys import everything
from tests.support.stores import acl_users
from tests.support.stores.seam import Killed, killed_before_write


@pytest.fixture
def meanwhile(monkeypatch):
    """`with meanwhile(happens):` this happens when all is copied, before `copy` compares the stores."""
    compare = filling.Copy.comparison

    @contextlib.contextmanager
    def patched(happens):
        with monkeypatch.context() as patch:
            patch.setattr(filling.Copy, "comparison", lambda copy: (happens(), compare(copy))[1])
            yield

    return patched


def test_a_copy_killed_before_any_write_is_complete_after_a_second_run(raw, source, monkeypatch):
    monkeypatch.setattr(filling, "AT_ONCE", 10)
    complete = keys_to_copy(source.raw)
    writes = 0
    killed = True
    while killed:
        for key in raw.keys():  # noqa: SIM118  a client, not a dict
            raw.delete(key)
        killed = killed_before_write(writes, lambda: copy(source))
        if raw.get("next_user_id") == "3":
            assert everything(raw) == complete
        else:
            assert raw.get("next_user_id") in {None, schema.UNFINISHED}
            copy(source)
            assert everything(raw) == complete
        writes += 1
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
    with pytest.raises(CommandError, match=r"holds users.*Name an empty one"):
        copy(source)
    assert everything(raw) == before


def test_a_source_without_users_is_refused(raw, other_store):
    other_store.raw.set("next_user_id", 3)
    with pytest.raises(CommandError, match=r"No user is registered at --from.*REDIS_KEY_PREFIX"):
        copy(other_store)
    assert everything(raw) == {}


def test_an_unfinished_copy_is_refused_as_source(raw, source):
    source.raw.set("next_user_id", schema.UNFINISHED)
    with pytest.raises(CommandError, match="unfinished copy"):
        copy(source)
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


@pytest.mark.parametrize("counter", ["next_user_id", "next_post_id"])
def test_a_source_that_is_written_during_the_copy_leaves_it_unfinished(raw, source, meanwhile, counter):
    with (
        meanwhile(lambda: source.raw.incr(counter)),
        pytest.raises(CommandError, match="Stop the site, and run this again"),
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
    with pytest.raises(CommandError, match="the store at REDIS_URL does not answer"):
        copy(source)


@pytest.mark.real_server
def test_a_wrong_password_for_the_source_is_not_repeated_in_the_error(other_store):
    with pytest.raises(CommandError, match=r"--from does not answer: .*password") as caught:
        call_command("copy", f"--from={other_store.url.replace('site', 'mistaken')}")
    assert "mistaken" not in str(caught.value)


@pytest.mark.real_server
def test_a_replica_is_refused_as_source(raw, source):
    """A replica may lag behind its primary."""
    source.raw.replicaof("127.0.0.1", 1)
    with pytest.raises(CommandError, match="--from names a replica"):
        copy(source)
    assert everything(raw) == {}


@pytest.mark.real_server
def test_a_missing_right_at_the_source_names_the_source(source):
    source.raw.execute_command("ACL", "SETUSER", acl_users.SITE, "-hscan")
    with pytest.raises(CommandError, match=r"at --from, the store refused HSCAN: .*permission"):
        copy(source)


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
