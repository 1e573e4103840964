"""The queue of slow requests: few at work, a bounded number waiting, and the addresses take turns."""

import threading
from concurrent.futures import ThreadPoolExecutor

from retwis_site.fair_queue import MOST_WAITING, FairQueue

ALICE, BOB, CAROL = "192.0.2.1", "192.0.2.2", "2001:db8::/64"


def has_begun(place):
    return place.done() and place.result()


def is_refused(place):
    return place.done() and not place.result()


def asked(queue, address, times):
    return [queue.enter(address) for _ in range(times)]


def order_of(queue, at_work, waiting):
    """The names of those that wait, in the order in which they begin."""
    order = []
    queue.leave(at_work)
    while waiting:
        [name] = [name for name, place in waiting.items() if place.done()]
        order.append(name)
        queue.leave(waiting.pop(name))
    return order


def test_only_a_few_begin_and_the_others_when_one_leaves():
    queue = FairQueue(at_once=2, waiting=8)
    places = asked(queue, ALICE, 4)
    assert [place.done() for place in places] == [True, True, False, False]
    queue.leave(places[1])
    assert [has_begun(place) for place in places[:3]] == [True, True, True]
    assert not places[3].done()


def test_a_queue_knows_whether_someone_waits():
    queue = FairQueue(at_once=2, waiting=8)
    first, _, waits = (queue.enter(ALICE) for _ in range(3))
    assert queue.someone_waits()
    queue.leave(first)
    assert waits.result(0)
    assert not queue.someone_waits()


def test_one_address_may_fill_the_queue_and_gives_way_to_others():
    queue = FairQueue(at_once=1, waiting=4)
    at_work, *waiting, refused = asked(queue, ALICE, 6)
    assert has_begun(at_work)
    assert not any(place.done() for place in waiting)
    assert is_refused(refused)
    bob = asked(queue, BOB, 2)
    assert [is_refused(place) for place in waiting] == [False, False, True, True]
    assert not any(place.done() for place in bob)
    assert is_refused(queue.enter(ALICE))
    assert not any(place.done() for place in [*waiting[:2], *bob])


def test_bodies_that_wait_take_no_more_memory_than_the_queue_allows():
    queue, part = FairQueue(at_once=1, waiting=9), MOST_WAITING // 3
    at_work, *waiting = [queue.enter(ALICE, part) for _ in range(4)]
    assert not any(place.done() for place in waiting)
    assert is_refused(queue.enter(ALICE, 2))
    queue.enter(BOB, 2)
    assert [is_refused(place) for place in waiting] == [False, False, True]  # the newest of who has most
    queue.leave(at_work)
    assert has_begun(waiting[0])
    assert not queue.enter(BOB, part).done()  # the body of the work that has begun does not wait
    queue.leave(waiting[1])
    assert not queue.enter(CAROL, part).done()  # nor does one that was given up


def test_large_bodies_push_out_no_one_whose_many_bodies_are_small():
    queue, part = FairQueue(at_once=1, waiting=9), MOST_WAITING // 3
    queue.enter(ALICE)
    small = [queue.enter(BOB, 2) for _ in range(4)]
    large = [queue.enter(f"198.51.100.{number}", part) for number in range(3)]
    assert not any(place.done() for place in small)
    assert [is_refused(place) for place in large] == [False, False, True]


def test_all_addresses_together_do_not_fill_more_than_the_queue():
    queue = FairQueue(at_once=1, waiting=8)
    asked(queue, ALICE, 1)
    waiting = [queue.enter(f"198.51.100.{number}") for number in range(9)]
    assert [is_refused(place) for place in waiting] == [False] * 8 + [True]


def test_a_place_is_free_again_when_its_work_begins():
    queue = FairQueue(at_once=1, waiting=1)
    first, second, refused = asked(queue, ALICE, 3)
    assert is_refused(refused)
    queue.leave(first)
    assert has_begun(second)
    assert not queue.enter(ALICE).done()


def test_the_addresses_take_turns():
    queue = FairQueue(at_once=1, waiting=12)
    at_work = queue.enter(ALICE)
    names = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
    waiting = {}
    for address in (ALICE, ALICE, ALICE, BOB, BOB, CAROL):
        waiting[f"{names[address]} {len(waiting)}"] = queue.enter(address)
    assert order_of(queue, at_work, waiting) == ["alice 0", "bob 3", "carol 5", "alice 1", "bob 4", "alice 2"]


def test_work_whose_place_is_given_up_while_it_waits_never_begins():
    queue = FairQueue(at_once=1, waiting=8)
    at_work, given_up, next_one = asked(queue, ALICE, 3)
    queue.leave(given_up)
    queue.leave(at_work)
    assert given_up.cancelled()
    assert has_begun(next_one)


def test_a_place_is_left_only_once():
    queue = FairQueue(at_once=1, waiting=8)
    first, second, third = asked(queue, ALICE, 3)
    queue.leave(first)
    queue.leave(first)
    assert has_begun(second)
    assert not third.done()


def test_leaving_after_a_refusal_frees_nothing():
    queue = FairQueue(at_once=1, waiting=1)
    _, waiting, refused = asked(queue, ALICE, 3)
    assert is_refused(refused)
    queue.leave(refused)
    assert not waiting.done()


def test_an_empty_queue_remembers_no_address():
    queue = FairQueue(at_once=1, waiting=4)
    for number in range(9):
        for place in asked(queue, f"198.51.100.{number}", 3):
            queue.leave(place)
    assert not queue._lines
    assert not queue._at_work


def test_a_place_is_left_with_its_block_also_after_an_error():
    queue = FairQueue(at_once=1, waiting=4)
    try:
        with queue.place(ALICE) as place:
            assert has_begun(place)
            raise ValueError
    except ValueError:
        assert has_begun(queue.enter(BOB))


def test_threads_are_never_more_than_the_queue_allows():
    queue, lock, counts = FairQueue(at_once=2, waiting=400), threading.Lock(), [0, 0, 0]

    def work(number):
        for _ in range(50):
            with queue.place(f"198.51.100.{number}") as place:
                assert place.result()
                with lock:
                    counts[0] += 1
                    counts[1] = max(counts[:2])
                with lock:
                    counts[0] -= 1
                    counts[2] += 1

    with ThreadPoolExecutor(8) as threads:
        [*threads.map(work, range(8))]
    assert counts[1] <= 2
    assert counts[2] == 400
