"""What docs/operating.md says of a full disk: `appendfsync always` ends the server, `everysec` refuses writes.

A limit for the size of files stands for the full disk: the server treats all failed writes alike."""

import contextlib
import resource
import subprocess

import pytest
import redis

from retwis_site.store.embedded import find_binary
from tests.support.http.http_browser import TIMEOUT
from tests.support.processes.processes import wait_until
from tests.support.texts import guides

pytestmark = [pytest.mark.real_server, pytest.mark.processes]

ROOM = 100_000  # bytes
LARGE = "x" * ROOM


@contextlib.contextmanager
def server_without_room(folder, appendfsync):
    """A server, its client, and the file of its log. Its files have ROOM; a write beyond fails, without a signal."""
    socket, log = f"{folder}/s", folder / "log"
    options = f"--port 0 --unixsocket {socket} --dir {folder} --logfile {log} --appendonly yes --save".split()
    command = [find_binary(), *options, "", "--appendfsync", appendfsync]
    with subprocess.Popen(command, restore_signals=False) as server, redis.Redis(unix_socket_path=socket) as client:
        try:
            wait_until(client.ping, "the server")
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))
            yield server, client, log
        finally:
            server.kill()


def test_always_ends_the_server_and_what_it_has_answered_is_kept(tmp_path):
    quoted = "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting..."
    assert f"> {quoted}\n" in guides.text_of("operating")
    with server_without_room(tmp_path, "always") as (server, client, log):
        client.set("acknowledged", "1")
        with pytest.raises(redis.ConnectionError):
            client.set("refused", LARGE)
        assert server.wait(TIMEOUT) == 1
        assert quoted in log.read_text()
    with server_without_room(tmp_path, "everysec") as (_, client, _):
        assert client.keys() == [b"acknowledged"]


def test_everysec_refuses_writes_and_answers_reads_until_there_is_room(tmp_path):
    with server_without_room(tmp_path, "everysec") as (server, client, _):
        client.set("read", "1")
        client.set("refused", LARGE)
        wait_until(lambda: client.info("persistence")["aof_last_write_status"] == "err", "the failure")
        with pytest.raises(redis.ResponseError, match="MISCONF Errors writing to the AOF file"):
            client.set("more", "1")
        assert client.get("read") == b"1"
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wait_until(lambda: client.info("persistence")["aof_last_write_status"] == "ok", "the room")
        client.set("more", "1")
