"""What the tests of `backup` and `restore` share."""

import pytest
from django.conf import settings as current

from tests.support.stores.acl_users import backup_only


@pytest.fixture
def may_sync(raw, rights):
    """The site's user has the rights that `backup` needs, and the servers send a snapshot at once."""
    rights(*(f"+{command}" for command in backup_only()))
    for client in [server.client for server in getattr(current, "SERVERS", [])] or [raw]:
        client.config_set("repl-diskless-sync-delay", 0)


@pytest.fixture
def embedded_site(moved, settings, var):
    """The site uses the embedded server of a VAR_DIR of its own."""
    moved("")
    return var
