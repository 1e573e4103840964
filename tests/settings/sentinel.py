"""The suite on a server that three sentinels watch over. conftest.py starts them."""

import os

from tests.settings import folder
from tests.topologies import SERVICE, Server, free_ports

STORE_DIR = folder("retwis-sentinel-")
SENTINELS = free_ports(3)
SERVERS = [Server(STORE_DIR, free_ports(1)[0])]
os.environ["REDIS_TOPOLOGY"] = "sentinel"
os.environ["REDIS_URL"] = ",".join(f"redis://127.0.0.1:{port}" for port in SENTINELS)
os.environ["REDIS_SENTINEL_SERVICE"] = SERVICE

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
