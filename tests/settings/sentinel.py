"""For running the tests on a server with three sentinels, as the user of docs/redis.md. conftest.py starts them."""

import os

from tests.settings import folder
from tests.support.processes.processes import free_ports
from tests.support.stores import acl_users
from tests.support.stores.topologies import SERVICE, Server

STORE_DIR = folder("retwis-sentinel-")
SENTINELS = free_ports(3)
SERVERS = [Server(STORE_DIR, free_ports(1)[0], users=acl_users.sentinel_lines())]
os.environ["REDIS_TOPOLOGY"] = "sentinel"
os.environ["REDIS_URL"] = ",".join(f"redis://{acl_users.credentials()}127.0.0.1:{port}" for port in SENTINELS)
os.environ["REDIS_SENTINEL_SERVICE"] = SERVICE
os.environ["REDIS_SENTINEL_USERNAME"] = acl_users.SITE
os.environ["REDIS_SENTINEL_PASSWORD"] = acl_users.PASSWORDS[acl_users.SITE]

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
