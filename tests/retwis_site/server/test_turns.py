"""Which client address must wait when a worker is busy."""

import asyncio

import pytest

from retwis_site.server import turns
from retwis_site.server.turns import Turns

ALICE, BOB, CAROL = "192.0.2.1", "192.0.2.2", "192.0.2.3"


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(turns.time, "monotonic", lambda: now[0])
    return now


def busy_with(times, clock, used, seconds=5.0):
    """A worker that for some seconds was used by each address for so many seconds out of each."""
    for _ in range(int(seconds * 100)):
        clock[0] += 0.01
        for address, share in used.items():
            times.add(address, share * 0.01)


def test_nobody_waits_for_a_worker_with_time_to_spare(clock):
    times = Turns()
    busy_with(times, clock, {ALICE: 0.6, BOB: 0.05})
    assert not times.must_wait(ALICE)
    assert not times.must_wait(BOB)


def test_the_only_address_never_waits(clock):
    times = Turns()
    busy_with(times, clock, {ALICE: 1.0})
    assert not times.must_wait(ALICE)


def test_the_address_that_uses_most_waits_and_others_do_not(clock):
    times = Turns()
    busy_with(times, clock, {ALICE: 0.95, BOB: 0.02, CAROL: 0.01})
    assert times.must_wait(ALICE)
    assert not times.must_wait(BOB)
    assert not times.must_wait(CAROL)
    assert not times.must_wait("192.0.2.4")  # which has used nothing


def test_addresses_that_use_the_same_do_not_wait_for_each_other(clock):
    times = Turns()
    busy_with(times, clock, dict.fromkeys((ALICE, BOB, CAROL), 0.33))
    assert not any(times.must_wait(address) for address in (ALICE, BOB, CAROL))


def test_an_address_that_waits_gets_its_turn_again(clock):
    times = Turns()
    busy_with(times, clock, {ALICE: 0.95, BOB: 0.02})
    assert times.must_wait(ALICE)
    clock[0] += 0.5
    assert not times.must_wait(ALICE)


def test_an_address_that_has_left_no_longer_counts(clock):
    times = Turns()
    busy_with(times, clock, {ALICE: 0.5, BOB: 0.5})
    busy_with(times, clock, {ALICE: 1.0}, seconds=20)
    assert not times.must_wait(ALICE)
    assert list(times._by_address) == [ALICE]


def test_equal_visitors_do_not_wait_on_a_busy_site(clock):
    """Each makes two requests at once, such as a post and the page after it."""
    times = Turns()
    waited = 0
    for number in range(1000):
        address = f"192.0.2.{number % 500}"
        for _ in range(2):
            waited += times.must_wait(address)
            times.add(address, 0.005)
            clock[0] += 0.005 / 0.85
    assert waited == 0


def test_addresses_are_forgotten_when_nobody_must_wait(clock):
    times = Turns()
    for number in range(10_000):
        clock[0] += 0.02
        times.add(str(number), 0.001)
    assert len(times._by_address) < 1000


def test_a_request_does_not_overtake_those_of_its_address(must_wait):
    async def run():
        times = Turns()
        first = asyncio.create_task(times.turn(ALICE))
        await settled()
        must_wait.clear()
        assert times.must_wait(ALICE)
        assert await first
        assert not times.must_wait(ALICE)

    asyncio.run(run())


def test_a_request_whose_client_has_gone_delays_no_other(must_wait):
    async def run():
        times = Turns()
        gone, waiting = (asyncio.create_task(times.turn(ALICE)) for _ in range(2))
        await settled()
        gone.cancel()
        await settled()
        must_wait.clear()
        assert await asyncio.wait_for(waiting, 5)

    asyncio.run(run())


async def settled():
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.fixture
def must_wait(monkeypatch):
    """The addresses that must wait; a test changes the set."""
    addresses = {ALICE}
    monkeypatch.setattr(Turns, "_has_used_much", lambda self, address: address in addresses)
    monkeypatch.setattr(turns, "LOOKS_EVERY", 0)
    return addresses


def test_requests_wait_in_order_until_it_is_the_turn_of_their_address(must_wait):
    async def run():
        times, done = Turns(), []

        async def request(address, number):
            assert await times.turn(address)
            done.append((address, number))

        tasks = [asyncio.create_task(request(ALICE, number)) for number in range(3)]
        await settled()
        tasks.append(asyncio.create_task(request(BOB, 0)))
        await tasks[-1]
        assert done == [(BOB, 0)]
        must_wait.clear()
        await asyncio.gather(*tasks)
        assert done[1:] == [(ALICE, 0), (ALICE, 1), (ALICE, 2)]
        assert not times._waiting

    asyncio.run(run())


def test_the_oldest_of_too_many_waiting_requests_is_refused(must_wait, monkeypatch):
    monkeypatch.setattr(turns, "MOST_WAITING", 2)
    monkeypatch.setattr(turns, "REFUSED_AFTER", 0)

    async def run():
        times = Turns()
        tasks = [asyncio.create_task(times.turn(ALICE)) for _ in range(3)]
        assert await tasks[0] is False
        must_wait.clear()
        assert await asyncio.gather(*tasks) == [False, True, True]

    asyncio.run(run())


def test_a_refusal_comes_late_and_delays_nobody(must_wait, monkeypatch):
    monkeypatch.setattr(turns, "MOST_WAITING", 1)
    monkeypatch.setattr(turns, "REFUSED_AFTER", 3600)

    async def run():
        times = Turns()
        refused, waiting = (asyncio.create_task(times.turn(ALICE)) for _ in range(2))
        await settled()
        must_wait.clear()
        assert await asyncio.wait_for(waiting, 5)
        assert not times.must_wait(ALICE)
        assert not refused.done()
        refused.cancel()

    asyncio.run(run())
