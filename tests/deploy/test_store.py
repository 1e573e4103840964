"""The store of redis.conf and users.acl: it keeps what it is given, and its users have the rights of docs/redis.md."""

import re
import subprocess

import pytest
import redis

from tests.support.deploy.machine import Machine
from tests.support.people import NEW_PASSWORD
from tests.support.processes.processes import wait_until
from tests.support.texts import guides


@pytest.fixture(scope="module")
def machine():
    machine = Machine()
    with machine.store() as machine.raw:
        yield machine


def manage(machine, *arguments, typed=None):
    command = machine.command(" ".join(["/opt/retwis/venv/bin/retwis", *arguments]))
    return subprocess.run(command, env=machine.environment(), input=typed, capture_output=True, text=True, check=False)


def test_the_server_listens_on_a_file_alone_which_its_group_may_open(machine):
    assert machine.raw.config_get("port")["port"] == "0"
    assert machine.path("run/redis/redis-server.sock").stat().st_mode & 0o777 == 0o770


def test_nobody_gets_in_without_a_password(machine):
    with (
        redis.Redis(unix_socket_path=str(machine.path("run/redis/redis-server.sock"))) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_the_checks_for_a_public_site_find_nothing(machine):
    answer = manage(machine, "check", "--deploy", "--fail-level", "WARNING")
    assert answer.returncode == 0, answer.stderr


def test_doctor_has_no_advice_on_the_server(machine):
    assert manage(machine, "seed", "--users", "3", "--posts", "5", "--follows", "1").returncode == 0
    assert manage(machine, "deliver", "--once").returncode == 0
    answer = manage(machine, "doctor", "--fail-on", "advice")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_a_damaged_file_is_cut_at_the_damage_and_the_site_is_sound_again():
    """With the commands of docs/operating.md."""
    machine = Machine()
    with machine.store() as raw:
        assert manage(machine, "seed", "--users", "3", "--posts", "30", "--follows", "1").returncode == 0
        [file] = machine.path("var/lib/redis/appendonlydir").glob("*.incr.aof")
        seeded = file.stat().st_size  # a part of a seeding would be removed by the next one
        assert manage(machine, "user", "create", "dora", typed=f"{NEW_PASSWORD}\n").returncode == 0
        users = int(raw.get("next_user_id"))
    data = file.read_bytes()
    place = data.index(b"\r\n*", (seeded + len(data)) // 2) + 2  # where a command begins
    file.write_bytes(data[:place] + b"\0" * 512 + data[place + 512 :])
    damaged = file.stat().st_size
    with machine.running(["redis-server", f"{machine.folder}/etc/redis/redis.conf"], "redis") as refused:
        assert refused.wait(30) == 1
    assert "Bad file format reading the append only file" in machine.path("var/log/redis/redis-server.log").read_text()
    checks = [words for words in map(guides.words, guides.commands("operating")) if words[0] == "redis-check-aof"]
    printed = []
    for words in checks:
        command = [word.replace("/var/", f"{machine.folder}/var/") for word in words]
        printed.append(subprocess.run(command, input="y\n", capture_output=True, text=True, check=False).stdout)
    size, sound = map(int, re.findall(r"size=(\d+), ok_up_to=(\d+)", printed[0])[-1])  # the files in their order
    assert size == damaged > sound == file.stat().st_size
    with machine.store() as raw:
        assert (raw.get("next_post_id"), users) == ("30", 4)
        assert 3 <= int(raw.get("next_user_id")) <= users
        assert manage(machine, "doctor", "--fix").returncode == 0
        assert manage(machine, "doctor").returncode == 0


def test_what_was_answered_is_there_after_a_kill():
    machine = Machine()
    for kept in (None, "yes"):
        with machine.store() as raw:  # the block ends with SIGKILL
            assert raw.get("kept") == kept
            raw.set("kept", "yes")


def test_a_snapshot_that_fails_refuses_no_write():
    machine = Machine()
    with machine.store() as raw:
        (machine.path("var/lib/redis/dump.rdb") / "in its place").mkdir(parents=True)
        raw.bgsave()
        wait_until(lambda: raw.info("persistence")["rdb_last_bgsave_status"] == "err", "the snapshot fails")
        assert raw.set("written", "all the same")
