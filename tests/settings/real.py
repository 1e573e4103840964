"""The second run: the embedded server's program, on a socket of this run's own, and the site as the user that
docs/redis.md gives it. conftest.py starts it."""

import os

from tests import acl
from tests.settings import folder

STORE_DIR = folder("retwis-store-")
os.environ["REDIS_URL"] = acl.url(STORE_DIR)

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
