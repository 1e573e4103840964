"""Actions that are killed: in the process of the test, in each run; and as real processes, with the faults."""

import pytest
import redis

from tests.support.http.http_browser import TIMEOUT
from tests.support.processes.scenes import Scene
from tests.support.processes.victims import Cut, ThisProcess, Victims
from tests.support.stores import acl_users


@pytest.fixture
def patient(settings):
    """A busy machine must not be a failure of the store. It must come before the server, since clients read it."""
    settings.REDIS_TIMEOUT = TIMEOUT


HOW = ["in_this_process", pytest.param("by_sigkill", marks=[pytest.mark.real_server, pytest.mark.faults])]


@pytest.fixture(params=HOW)
def scene(request, raw):
    return request.getfixturevalue(request.param)


@pytest.fixture
def in_this_process(raw):
    here = ThisProcess()
    return Scene(here, here, raw)


@pytest.fixture
def by_sigkill(patient, own_server, settings):
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
