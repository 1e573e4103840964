"""What the tests of `doctor`, of copies, of backups and of the file of a site share."""

import contextlib

import pytest
from django.conf import settings as current

from retwis_site.store.client import connect
from tests.support.maintenance.copied_sites import make_site_with_every_key, store_beside
from tests.support.maintenance.site_files import make_full_site
from tests.support.stores import acl_users


@pytest.fixture
def other_store(raw, settings, tmp_path):
    with store_beside(settings, tmp_path) as other:
        yield other


@pytest.fixture
def site_at(settings, moved):
    """`with site_at(other_store) as store:` the site uses that store."""

    @contextlib.contextmanager
    def use(other):
        topology, url = settings.REDIS_TOPOLOGY, settings.REDIS_URL
        settings.REDIS_TOPOLOGY = "server"
        moved(other.url)
        try:
            yield connect()
        finally:
            settings.REDIS_TOPOLOGY = topology
            moved(url)

    return use


@pytest.fixture
def source(other_store, site_at):
    """The other store, with a site that has every kind of key."""
    with site_at(other_store) as store:
        make_site_with_every_key(other_store.raw, store)
    return other_store


@pytest.fixture
def may_sync(raw, rights):
    """The site's user has the rights that `backup` needs, and the servers send a snapshot at once."""
    rights(*(f"+{command}" for command in acl_users.backup_only()))
    for client in [server.client for server in getattr(current, "SERVERS", [])] or [raw]:
        client.config_set("repl-diskless-sync-delay", 0)


@pytest.fixture
def embedded_site(moved, settings, var):
    """The site uses the embedded server of a VAR_DIR of its own."""
    moved("")
    return var


@pytest.fixture
def full_site(raw, store):
    """See `make_full_site`."""
    make_full_site(raw, store)
    return raw
