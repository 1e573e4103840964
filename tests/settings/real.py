"""The second run: the embedded server's program, on a socket of this run's own, and the site as the user that
docs/redis.md gives it. conftest.py starts it."""

import os
import tempfile

from tests import acl

STORE_DIR = tempfile.mkdtemp(prefix="retwis-store-")
os.environ["REDIS_URL"] = acl.url(STORE_DIR)

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
