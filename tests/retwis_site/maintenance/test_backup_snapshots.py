"""A server sends its snapshot as to a replica."""

import pytest

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.maintenance.backups import CHUNK, Snapshot
from tests.support.maintenance.backups import scripted_server

pytestmark = pytest.mark.usefixtures("raw")

MARK = b"0123456789" * 4


def received(folder, *parts):
    with scripted_server(folder, *parts) as client:
        snapshot = Snapshot(client)
        snapshot.request()
        try:
            return b"".join(snapshot)
        finally:
            snapshot.close()


def test_a_snapshot_of_known_length_is_read(tmp_path):
    assert received(tmp_path, b"$5\r\n", b"REDIS") == b"REDIS"


def test_newlines_before_the_snapshot_say_only_that_the_server_is_at_work(tmp_path):
    assert received(tmp_path, b"\n", b"\n\n", b"$5\r\nRE", b"\nIS") == b"RE\nIS"


@pytest.mark.parametrize("cut", [1, 20, 39, 40, 41])
def test_the_mark_at_the_end_may_arrive_in_pieces(tmp_path, cut):
    begins, content = b"$EOF:" + MARK + b"\r\n", b"REDIS" * 20
    whole = content + MARK
    assert received(tmp_path, begins, whole[:-cut], whole[-cut:]) == content


def test_a_long_snapshot_arrives_in_small_chunks(tmp_path):
    content = bytes(range(256)) * 20_000
    with scripted_server(tmp_path, b"$EOF:" + MARK + b"\r\n", content, MARK) as client:
        snapshot = Snapshot(client)
        snapshot.request()
        chunks = list(snapshot)
    assert b"".join(chunks) == content
    assert max(map(len, chunks)) <= CHUNK + len(MARK)


@pytest.mark.parametrize("parts", [[], [b"\n"], [b"$5\r\nRED"], [b"$EOF:" + MARK + b"\r\n", b"REDIS", MARK[:-1]]])
def test_a_snapshot_that_stops_in_the_middle_is_an_error(tmp_path, parts):
    with pytest.raises(StoreError, match=r"stopped in the middle of its snapshot\. Its log says why"):
        received(tmp_path, *parts)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"-NOPERM User retwis has no permissions to run the 'sync' command", r"Give its user \+sync \+replconf\."),
        (b"-ERR unknown command 'SYNC', with args: ", r"refused SYNC: ERR unknown command 'SYNC'\."),
    ],
    ids=["a user without the right", "a service without the command"],
)
def test_a_refusal_says_which_rights_are_needed_or_leads_to_export(tmp_path, reply, said):
    with pytest.raises(StoreRefused, match=rf"{said} .*`manage.py export FILE`"):
        received(tmp_path, reply + b"\r\n")
