"""For running the tests on fakeredis, in the same process."""

import os

os.environ["REDIS_URL"] = "redis://fake.invalid:6379"

import fakeredis

from tests.settings.base import *  # noqa: F403
from tests.support.stores.fake_redis import Connection

REAL_SERVER = False
CACHES["store"]["OPTIONS"]["CONNECTION_POOL_KWARGS"] = {  # noqa: F405
    "connection_class": Connection,
    "server": fakeredis.FakeServer(),
}
