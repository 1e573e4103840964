"""The fixture of actions that are killed."""

import pytest
import redis

from tests.support.processes.scenes import Scene
from tests.support.processes.victims import Cut, Victims
from tests.support.stores import acl_users


@pytest.fixture
def scene(own_server, settings):
    with own_server():
        folder = settings.REDIS_URL.partition("@")[2].removesuffix("/redis.sock")
        cut = Cut(folder)
        victims = Victims(acl_users.url(folder).replace("redis.sock", "cut.sock"))
        try:
            yield Scene(
                cut, victims, redis.Redis.from_url(acl_users.url(folder, acl_users.ADMIN), decode_responses=True)
            )
        finally:
            cut.close()
