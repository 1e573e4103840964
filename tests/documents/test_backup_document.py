"""Each command of docs/backup.md does what the document says."""

import json
import re
import subprocess
import sys

import pytest
import redis
from django.conf import settings

from retwis_site.store.embedded import find_binary
from tests.support.http.http_browser import TIMEOUT
from tests.support.maintenance.backups import complete, saved
from tests.support.maintenance.copied_sites import keys_to_copy
from tests.support.maintenance.healthy_site import make_healthy_site
from tests.support.processes.processes import environment, wait_until
from tests.support.stores import acl_users

DOCUMENT = (settings.BASE_DIR / "docs/backup.md").read_text()
CONSOLE = re.findall(r"^\$ (.*?)(?: +#.*)?$", DOCUMENT, re.MULTILINE)
FOLDER = "/var/backups/retwis"
SETTINGS = "/etc/retwis/backup.env"
MAKE = f"retwis db backup {FOLDER}"
RESTORE = f"retwis db restore {FOLDER}"
OF_A_TIME = f"retwis db restore {FOLDER}/2026-11-22T03-00-00Z"
OF_A_FILE = "retwis db restore dump.rdb"
OUT_OF_ITS_WAY = [  # of a whole machine: no test runs it
    "mv /var/lib/redis/dump.rdb /var/backups/dump.rdb",
    "chown retwis /var/backups/dump.rdb",
    "retwis db restore /var/backups/dump.rdb",  # not /root, where the user retwis may read nothing
    "systemctl stop redis-server",
    "install -m 640 -o redis -g redis /var/backups/dump.rdb /var/lib/redis/dump.rdb",
]
BY_THE_SERVER = [
    "install -d -o redis -g redis /run/redis",
    "runuser -u redis -- redis-server /etc/redis/redis.conf --appendonly no --daemonize yes",
    "redis-cli CONFIG SET appendonly yes",
]


def scheduled(program):
    """The command of the line of the crontab that runs this program."""
    (line,) = re.findall(rf"^[0-9* ]+  retwis  (.*{program} .*)$", DOCUMENT, re.MULTILINE)
    return line


def test_this_file_runs_every_command_of_the_document():
    assert [MAKE, f"{MAKE} --verify", RESTORE, OF_A_TIME, OF_A_FILE, *OUT_OF_ITS_WAY, *BY_THE_SERVER] == CONSOLE


class Shell:
    """Runs commands of the document as the administrator of a store, in a folder of their own."""

    def __init__(self, folder, store_folder):
        self.folder = folder
        self.backups = folder / "backups"
        self._env = environment(folder / "var", REDIS_URL=acl_users.url(store_folder, acl_users.ADMIN))
        self.settings = folder / "backup.env"
        self.settings.write_text(f"REDIS_URL={self._env['REDIS_URL']}\n")

    def run(self, command):
        python = f"{sys.executable} {settings.BASE_DIR}/manage.py "
        command = command.replace(FOLDER, str(self.backups)).replace(SETTINGS, str(self.settings))
        command = re.sub(r"\bretwis (?=db )", python, command)
        env = {**self._env, "PYTHONPATH": str(settings.BASE_DIR)}
        if command.startswith("RETWIS_ENV_FILE="):
            del env["REDIS_URL"]  # the file has it
        return subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=env,
            check=True,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        ).stdout


@pytest.fixture
def shell(raw, store, alice, bob, carol, tmp_path):
    raw.config_set("repl-diskless-sync-delay", 0)
    make_healthy_site(raw, store, alice, bob, carol)
    raw.delete("celery")  # of another program
    return Shell(tmp_path, settings.STORE_DIR)


@pytest.mark.real_server
@pytest.mark.processes
@pytest.mark.parametrize(
    ("command", "restores"),
    [(MAKE, RESTORE), (f"{MAKE} --verify", OF_A_TIME), (scheduled("backup"), RESTORE)],
    ids=["the newest", "a named one", "the scheduled one"],
)
def test_a_backup_is_made_and_the_newest_or_a_named_one_is_restored(shell, raw, command, restores):
    before = keys_to_copy(raw)
    shell.run(command)
    (made,) = complete(shell.backups)
    raw.flushall()
    shell.run(restores.replace("2026-11-22T03-00-00Z", made.name))
    assert keys_to_copy(raw) == before


@pytest.mark.real_server
@pytest.mark.processes
def test_an_rdb_file_is_restored(shell, raw):
    before = keys_to_copy(raw)
    saved(raw, shell.folder)
    raw.flushall()
    shell.run(OF_A_FILE)
    assert keys_to_copy(raw) == before


@pytest.mark.real_server
@pytest.mark.processes
def test_the_nightly_command_keeps_the_newest_thirty_backups_without_errors(shell):
    names = [f"2026-{month:02}-01T03-00-{second:02}Z" for month in (1, 2) for second in range(1, 18)]
    for name in names:
        (shell.backups / name).mkdir(parents=True)
        errors = {names[1]: 2, names[-1]: None}.get(name, 0)
        (shell.backups / name / "manifest.json").write_text(
            json.dumps({"users": 1, "errors": errors, "files": []}, indent=2)
        )
    shell.run(scheduled("rm"))
    assert {path.name for path in shell.backups.iterdir()} == {*names} - {names[0], names[2]}


@pytest.mark.real_server
@pytest.mark.processes
def test_a_server_that_reads_the_dump_once_has_it_in_its_append_only_file(shell, raw, tmp_path):
    before = keys_to_copy(raw)
    folder = tmp_path / "server"
    folder.mkdir()
    saved(raw, folder)
    socket, config = f"{folder}/run/s", folder / "redis.conf"
    config.write_text(f'dir {folder}\nport 0\nunixsocket {socket}\ndaemonize yes\nappendonly yes\nsave ""\n')
    makes_room, starts, switches = BY_THE_SERVER
    started = starts.replace("runuser -u redis -- redis-server /etc/redis/redis.conf", f"{find_binary()} {config}")
    with redis.Redis(unix_socket_path=socket, decode_responses=True) as client:
        try:
            shell.run(makes_room.replace("-o redis -g redis /run/redis", f"{folder}/run"))
            shell.run(started)
            wait_until(client.ping, "the server")
            client.execute_command(*switches.split()[1:])
            wait_until(lambda: not client.info()["aof_rewrite_in_progress"], "the append-only file")
            client.shutdown(nosave=True)
            shell.run(started.replace(" --appendonly no", ""))
            wait_until(client.ping, "the server")
            assert keys_to_copy(client) == before
        finally:
            client.shutdown(nosave=True)
