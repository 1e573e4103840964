"""`manage.py import_account FILE` reads compressed files and pipes."""

import gzip
import os
import threading

import pytest
import zstandard
from django.core.management import CommandError, call_command

from tests.support.maintenance.downloads import download_file

pytestmark = pytest.mark.usefixtures("no_waiting")

FILE = download_file([(12, "2023-11-14T22:13:22Z", "later"), (11, "2023-11-14T22:13:21Z", "sooner")])


def import_account(path):
    call_command("import_account", str(path), "--into-existing")


def bodies(raw):
    return [raw.hget(f"post:{pid}", "body") for pid in raw.zrange("updates:1", 0, -1)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_compressed_file_is_read_like_one_that_is_not(raw, alice, tmp_path, pack, var):
    """It said "it is no JSON"."""
    path = tmp_path / "download.jsonl.packed"
    path.write_bytes(pack(FILE))
    import_account(path)
    assert bodies(raw) == ["sooner", "later"]
    assert [path for path in var.iterdir() if path.is_file()] == []


def test_a_pipe_with_a_name_is_read_like_a_file(raw, alice, tmp_path, var):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(FILE,), daemon=True)
    writer.start()
    import_account(pipe)
    writer.join()
    assert bodies(raw) == ["sooner", "later"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_damaged_compressed_file_is_one_line(raw, alice, tmp_path, pack, var):
    path = tmp_path / "download.jsonl.packed"
    path.write_bytes(pack(FILE)[:-9])
    with pytest.raises(CommandError, match=r"damaged or not complete. Export it again"):
        import_account(path)
    assert bodies(raw) == []
