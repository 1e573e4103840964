"""For running the tests on a Redis Cluster of three primaries, as the user of docs/redis.md. conftest.py starts it."""

import os

from tests.settings import folder
from tests.support.stores import acl_users
from tests.support.stores.topologies import PRIMARIES, cluster_servers

SERVERS = cluster_servers(folder("retwis-cluster-"), PRIMARIES)
os.environ["REDIS_TOPOLOGY"] = "cluster"
os.environ["REDIS_URL"] = ",".join(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}" for server in SERVERS)

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
