"""The store of another Retwis, and an import from it."""

import pytest

from tests.support.command_output import said
from tests.support.maintenance.copied_sites import store_beside
from tests.support.other_retwises.imported import contents
from tests.support.stores import acl_users


@pytest.fixture
def source(raw, settings, tmp_path):
    """A store beside the site's. Its user may read every key."""
    with store_beside(settings, tmp_path, acl_users.ADMIN) as other:
        yield other


@pytest.fixture
def importing(source, capsys):
    """`importing("--layout=php")` imports and returns what the command prints. The source stays as it is."""

    def run(*options):
        before = contents(source.raw)
        printed = said(capsys, "import_retwis", f"--from={source.url}", *options)
        assert contents(source.raw) == before
        return printed

    return run
