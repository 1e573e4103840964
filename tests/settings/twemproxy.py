"""For running the tests on three servers behind a Twemproxy. conftest.py starts them."""

import os

from tests.settings import folder
from tests.support.processes.processes import free_ports
from tests.support.stores.topologies import Server

STORE_DIR = folder("retwis-twemproxy-")
PROXY_PORT, *PORTS = free_ports(4)
SERVERS = [Server(STORE_DIR, port) for port in PORTS]
os.environ["REDIS_TOPOLOGY"] = "twemproxy"
os.environ["REDIS_URL"] = f"redis://127.0.0.1:{PROXY_PORT}"
os.environ["REDIS_NODES"] = ",".join(f"redis://127.0.0.1:{server.port}" for server in SERVERS)

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
