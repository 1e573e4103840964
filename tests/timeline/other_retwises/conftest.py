"""The store of another Retwis, and an import from it."""

import pytest
import redis

from tests.support.command_output import said
from tests.support.maintenance.copied_sites import OtherStore, client_of
from tests.support.other_retwises.imported import contents
from tests.support.processes.processes import run_server
from tests.support.stores import acl_users


@pytest.fixture
def source(raw, settings, tmp_path):
    """A store beside the site's. Its user may read every key."""
    if not settings.REAL_SERVER:
        url = f"{settings.REDIS_URL}/3"
        yield OtherStore(url, client_of(url, settings))
        return
    url = acl_users.url(tmp_path, acl_users.ADMIN)
    with run_server(str(tmp_path)), redis.Redis.from_url(url, decode_responses=True) as admin:
        yield OtherStore(url, admin)


@pytest.fixture
def importing(source, capsys):
    """`importing("--layout=php")` imports and returns what the command prints. The source stays as it is."""

    def run(*options):
        before = contents(source.raw)
        printed = said(capsys, "import_retwis", f"--from={source.url}", *options)
        assert contents(source.raw) == before
        return printed

    return run
