"""How long a worker waits for request bodies, and which it gives up first."""

import asyncio

import pytest
from granian.rsgi import ProtocolClosed

from retwis_site.server import rsgi
from retwis_site.server.rsgi import AwaitedBodies, Body

LIMIT = 100


class Client:
    """Sends parts of a body when the test says so."""

    def __init__(self, *parts):
        self.parts = asyncio.Queue()
        for part in parts:
            self.send(part)

    def send(self, part):
        self.parts.put_nowait(part)

    def end(self):
        self.parts.put_nowait(None)

    async def __aiter__(self):
        while (part := await self.parts.get()) is not None:
            yield part


async def settled():
    for _ in range(10):
        await asyncio.sleep(0)


def slow(awaited, *contents):
    return [asyncio.create_task(awaited.read(Client(content), LIMIT)) for content in contents]


def complete(*parts):
    client = Client(*parts)
    client.end()
    return client


async def broken(error):
    yield b"half"
    raise error


def test_a_body_is_joined_from_its_parts():
    awaited = AwaitedBodies()
    assert asyncio.run(awaited.read(complete(b"a=", b"b"), LIMIT)) == Body(b"a=b")
    assert (awaited._arriving, awaited._size) == (set(), 0)


def test_what_has_arrived_in_time_is_returned_as_late(monkeypatch):
    monkeypatch.setattr(rsgi, "BODY_TIMEOUT", 0.01)
    assert asyncio.run(AwaitedBodies().read(Client(b"half"), LIMIT)) == Body(b"half", late=True)


def test_what_has_arrived_before_the_connection_was_closed_is_returned():
    assert asyncio.run(AwaitedBodies().read(broken(ProtocolClosed()), LIMIT)) == Body(b"half")


@pytest.mark.parametrize("error", [ValueError, TimeoutError])
def test_another_error_is_not_swallowed(error):
    with pytest.raises(error, match="broken"):
        asyncio.run(AwaitedBodies().read(broken(error("broken")), LIMIT))


def test_bytes_beyond_the_limit_are_dropped():
    async def run():
        body = await AwaitedBodies().read(complete(b"a" * 90, b"b" * 40, b"c" * 10), LIMIT)
        assert body == Body(b"a" * 90 + b"b" * 10)
        endless = Client(*[b"a" * 90] * 3)
        assert await AwaitedBodies().read(endless, LIMIT, unread=50) == Body(b"a" * 100)

    asyncio.run(run())


def test_the_largest_body_is_given_up_when_all_take_too_much(monkeypatch):
    monkeypatch.setattr(rsgi, "MOST_OF_BODIES", 20)

    async def run():
        awaited = AwaitedBodies()
        tasks = slow(awaited, b"half", b"the largest", b"half")
        await settled()
        assert not any(task.done() for task in tasks)
        assert await awaited.read(complete(b"whole"), LIMIT) == Body(b"whole")
        await settled()
        assert [task.done() for task in tasks] == [False, True, False]
        assert tasks[1].result() == Body(b"the largest", late=True)
        assert awaited._size == 8

    asyncio.run(run())


def test_a_body_may_be_given_up_itself_and_in_the_moment_when_its_time_is_over(monkeypatch):
    monkeypatch.setattr(rsgi, "MOST_OF_BODIES", 20)

    async def run():
        awaited = AwaitedBodies()
        assert (await awaited.read(Client(b"a" * 15, b"b" * 15, b"c" * 15), LIMIT)).late
        [over] = slow(awaited, b"a" * 15)
        await settled()
        for body in awaited._arriving:
            body.deadline._on_timeout()
        assert await awaited.read(complete(b"b" * 10), LIMIT) == Body(b"b" * 10)
        assert await over == Body(b"a" * 15, late=True)
        assert (awaited._arriving, awaited._size) == (set(), 0)

    asyncio.run(run())


def test_any_number_of_slow_bodies_delays_no_other():
    async def run():
        awaited = AwaitedBodies()
        tasks = slow(awaited, *[b"half"] * 1000)
        await settled()
        assert not any(task.done() for task in tasks)
        assert await awaited.read(complete(b"whole"), LIMIT) == Body(b"whole")

    asyncio.run(run())
