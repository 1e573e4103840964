"""The suite on a Redis Cluster of three primaries, and the site as the user that docs/redis.md gives it. conftest.py
starts it."""

import os

from tests import acl
from tests.settings import folder
from tests.topologies import PRIMARIES, cluster_servers

SERVERS = cluster_servers(folder("retwis-cluster-"), PRIMARIES)
os.environ["REDIS_TOPOLOGY"] = "cluster"
os.environ["REDIS_URL"] = ",".join(f"redis://{acl.credentials()}127.0.0.1:{server.port}" for server in SERVERS)

from tests.settings.base import *  # noqa: E402, F403

REAL_SERVER = True
