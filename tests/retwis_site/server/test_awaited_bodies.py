"""How many request bodies a worker waits for, and whose it gives up first."""

import asyncio

import pytest
from granian.rsgi import ProtocolClosed

from retwis_site.server import bodies
from retwis_site.server.bodies import AwaitedBodies, Body

ALICE, BOB, CAROL = "192.0.2.1", "192.0.2.2", "192.0.2.3"
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


def slow(awaited, address, number):
    return [asyncio.create_task(awaited.read(address, Client(b"half"), 5, LIMIT)) for _ in range(number)]


def complete(content):
    client = Client(content)
    client.end()
    return client


def test_a_body_is_joined_from_its_parts():
    async def run():
        client = Client(b"a=", b"b")
        client.end()
        awaited = AwaitedBodies()
        assert await awaited.read(ALICE, client, 3, LIMIT) == Body(b"a=b")
        assert not awaited._by_address

    asyncio.run(run())


def test_what_has_arrived_in_time_is_returned_as_late(monkeypatch):
    monkeypatch.setattr(bodies, "TIMEOUT", 0.01)

    async def run():
        assert await AwaitedBodies().read(ALICE, Client(b"half"), 5, LIMIT) == Body(b"half", late=True)

    asyncio.run(run())


def test_a_closed_connection_cuts_the_body_off():
    async def broken():
        yield b"half"
        raise ProtocolClosed

    async def run():
        client = Client(b"half")
        client.end()
        for source in (broken(), client):
            assert await AwaitedBodies().read(ALICE, source, 5, LIMIT) == Body(b"half", cut_off=True)

    asyncio.run(run())


def test_another_error_is_not_swallowed():
    async def broken():
        yield b"half"
        raise ValueError("broken")

    async def run():
        with pytest.raises(ValueError, match="broken"):
            await AwaitedBodies().read(ALICE, broken(), 5, LIMIT)

    asyncio.run(run())


def test_bytes_beyond_the_limit_are_dropped(monkeypatch):
    monkeypatch.setattr(bodies, "MOST_UNREAD", 50)

    async def run():
        client = Client(b"a" * 90, b"b" * 40, b"c" * 10)
        client.end()
        assert await AwaitedBodies().read(ALICE, client, 140, LIMIT) == Body(b"a" * 90 + b"b" * 10)
        endless = Client(*[b"a" * 90] * 3)
        assert (await AwaitedBodies().read(ALICE, endless, 270, LIMIT)).content == b"a" * 90 + b"a" * 10

    asyncio.run(run())


def test_an_address_with_too_many_bytes_loses_its_oldest_body(monkeypatch):
    monkeypatch.setattr(bodies, "SHARE", 10)

    async def run():
        awaited = AwaitedBodies()
        alice = slow(awaited, ALICE, 2)
        await settled()
        assert not any(task.done() for task in alice)
        assert (await awaited.read(ALICE, complete(b"whole"), 5, LIMIT)).content == b"whole"
        await settled()
        assert [task.done() for task in alice] == [True, False]

    asyncio.run(run())


def test_the_address_with_most_bytes_loses_a_body_when_all_have_too_many(monkeypatch):
    monkeypatch.setattr(bodies, "MOST", 20)

    async def run():
        awaited = AwaitedBodies()
        alice, bob = slow(awaited, ALICE, 4), slow(awaited, BOB, 1)
        await settled()
        assert await awaited.read(CAROL, complete(b"whole"), 5, LIMIT) == Body(b"whole")
        await settled()
        assert [task.done() for task in alice + bob] == [True, False, False, False, False]

    asyncio.run(run())


def test_any_number_of_slow_bodies_delays_no_other():
    async def run():
        awaited = AwaitedBodies()
        tasks = slow(awaited, ALICE, 1000)
        await settled()
        assert not any(task.done() for task in tasks)
        assert await awaited.read(ALICE, complete(b"whole"), 5, LIMIT) == Body(b"whole")

    asyncio.run(run())
