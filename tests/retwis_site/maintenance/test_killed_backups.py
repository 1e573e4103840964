"""`backup` and `restore` that are killed with SIGKILL leave nothing that looks complete, and nothing that runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from django.conf import settings

from retwis_site.maintenance.backups import newest, proof, read_manifest, unfinished
from retwis_site.store.client import connect
from tests.support.maintenance.backups import HIDDEN, back_up, complete, restore
from tests.support.maintenance.copied_sites import keys_to_copy, make_site_with_every_key
from tests.support.processes.processes import environment, wait_until
from tests.support.processes.victims import KILLED, Victims
from tests.support.stores import acl_users

pytestmark = [pytest.mark.real_server, pytest.mark.faults]


@pytest.fixture
def server(own_server, moved, settings):
    """A server whose administrator the site is: the administrator's client of it."""
    with own_server("--repl-diskless-sync-delay", "0"):
        folder = settings.REDIS_URL.partition("@")[2].removesuffix("/redis.sock")
        moved(acl_users.url(folder, acl_users.ADMIN))
        with redis.Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
            make_site_with_every_key(client, connect())
            yield client


@pytest.fixture
def victims(server, settings):
    return Victims(settings.REDIS_URL)


def test_a_backup_killed_at_any_step_is_complete_or_does_not_look_so(victims, tmp_path):
    ended, steps = KILLED, 0
    while ended == KILLED:
        place = tmp_path / str(steps)
        ended = victims.run(command=["backup", str(place)], folder=str(place), steps=steps)
        for made in complete(place):
            for _ in proof(made, read_manifest(made)):
                pass
        assert ended in {0, KILLED}
        assert len(complete(place)) in ({1} if ended == 0 else {0, 1})
        steps += 1
    assert steps > 8


def test_the_next_backup_removes_what_a_killed_one_left(victims, tmp_path):
    left = 0
    for steps in range(4, 9):
        assert victims.run(command=["backup", str(tmp_path)], folder=str(tmp_path), steps=steps) == KILLED
        left += len(list(tmp_path.glob(f"{HIDDEN}*")))
    assert left
    back_up(tmp_path)
    assert list(tmp_path.glob(f"{HIDDEN}*")) == []


def test_the_folder_of_a_backup_that_is_still_being_made_stays(server, tmp_path):
    with unfinished(tmp_path) as other:
        back_up(tmp_path)
        assert other.is_dir()


def servers_below(folder):
    """The command lines of servers whose files are in `folder`."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(entry.read_bytes())
        except OSError:  # it has ended
            continue
    return [line for line in lines if os.fsencode(folder) in line]


def test_a_killed_restore_leaves_no_server_and_no_folder_and_can_be_repeated(server, tmp_path):
    before = keys_to_copy(server)
    made = back_up(tmp_path / "backups")
    server.flushall()
    temporary = tmp_path / "t"
    temporary.mkdir()
    env = environment(tmp_path / "var", REDIS_URL=settings.REDIS_URL, TMPDIR=str(temporary))
    server.client_pause(60_000, all=False)  # it waits for its first write, while the temporary server runs
    command = [sys.executable, "manage.py", "restore", str(made)]
    with subprocess.Popen(command, cwd=settings.BASE_DIR, env=env) as killed:
        wait_until(lambda: servers_below(temporary), "the temporary server")
        assert any(temporary.iterdir())
        killed.kill()
    wait_until(lambda: not servers_below(temporary) and not any(temporary.iterdir()), "its end")
    server.client_unpause()
    restore(newest(tmp_path / "backups"))
    assert keys_to_copy(server) == before
