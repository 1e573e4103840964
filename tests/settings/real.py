"""For running the tests on a real server, as the user of docs/redis.md. conftest.py starts it on a unix socket."""

import os

from tests.settings import folder
from tests.support.stores import acl_users

STORE_DIR = folder("retwis-store-")
os.environ["REDIS_URL"] = acl_users.url(STORE_DIR)

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
