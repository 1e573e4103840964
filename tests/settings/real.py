"""The second run: the embedded server's program, on a socket of this run's own. conftest.py starts it."""

import os
import tempfile

STORE_DIR = tempfile.mkdtemp(prefix="retwis-store-")
os.environ["REDIS_URL"] = f"unix://{STORE_DIR}/redis.sock"

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
