"""The second run: the embedded server's program, on a socket of this run's own, and the site as the user that
docs/redis.md gives it. conftest.py starts it."""

import os

from tests.settings import folder
from tests.support.stores import acl_users

STORE_DIR = folder("retwis-store-")
os.environ["REDIS_URL"] = acl_users.url(STORE_DIR)

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
