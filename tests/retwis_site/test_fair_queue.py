"""The queue of slow requests: few at work, a bounded number waiting, and the addresses take turns."""

import threading

from retwis_site.fair_queue import FairQueue

ALICE, BOB, CAROL = "192.0.2.1", "192.0.2.2", "2001:db8::/64"


def has_begun(turn):
    return turn.done() and turn.result()


def is_refused(turn):
    return turn.done() and not turn.result()


def asked(queue, address, times):
    return [queue.ask(address) for _ in range(times)]


def order_of(queue, at_work, waiting):
    """The names of the waiting turns in the order in which they begin."""
    order = []
    queue.leave(at_work)
    while waiting:
        [name] = [name for name, turn in waiting.items() if turn.done()]
        order.append(name)
        queue.leave(waiting.pop(name))
    return order


def test_only_a_few_turns_begin_and_the_others_when_one_ends():
    queue = FairQueue(at_once=2, waiting=8)
    turns = asked(queue, ALICE, 4)
    assert [turn.done() for turn in turns] == [True, True, False, False]
    queue.leave(turns[1])
    assert [has_begun(turn) for turn in turns[:3]] == [True, True, True]
    assert not turns[3].done()


def test_an_address_fills_only_a_quarter_of_the_queue():
    queue = FairQueue(at_once=1, waiting=8)
    at_work, *waiting, refused = asked(queue, ALICE, 4)
    assert has_begun(at_work)
    assert not any(turn.done() for turn in waiting)
    assert is_refused(refused)
    assert not queue.ask(BOB).done()


def test_all_addresses_together_do_not_fill_more_than_the_queue():
    queue = FairQueue(at_once=1, waiting=8)
    asked(queue, ALICE, 3)
    for number in range(6):
        assert not queue.ask(f"198.51.100.{number}").done()
    assert is_refused(queue.ask(BOB))
    assert is_refused(queue.ask(ALICE))


def test_a_place_in_the_queue_is_free_again_when_a_turn_begins():
    queue = FairQueue(at_once=1, waiting=4)
    first, second, refused = asked(queue, ALICE, 3)
    assert is_refused(refused)
    queue.leave(first)
    assert has_begun(second)
    assert not queue.ask(ALICE).done()


def test_the_addresses_take_turns():
    queue = FairQueue(at_once=1, waiting=12)
    at_work = queue.ask(ALICE)
    names = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
    waiting = {}
    for address in (ALICE, ALICE, ALICE, BOB, BOB, CAROL):
        waiting[f"{names[address]} {len(waiting)}"] = queue.ask(address)
    assert order_of(queue, at_work, waiting) == ["alice 0", "bob 3", "carol 5", "alice 1", "bob 4", "alice 2"]


def test_a_turn_that_is_given_up_while_it_waits_never_begins():
    queue = FairQueue(at_once=1, waiting=8)
    at_work, given_up, next_one = asked(queue, ALICE, 3)
    queue.leave(given_up)
    queue.leave(at_work)
    assert given_up.cancelled()
    assert has_begun(next_one)


def test_a_turn_ends_only_once():
    queue = FairQueue(at_once=1, waiting=8)
    first, second, third = asked(queue, ALICE, 3)
    queue.leave(first)
    queue.leave(first)
    assert has_begun(second)
    assert not third.done()


def test_leaving_after_a_refusal_frees_nothing():
    queue = FairQueue(at_once=1, waiting=4)
    _, waiting, refused = asked(queue, ALICE, 3)
    queue.leave(refused)
    assert not waiting.done()


def test_an_empty_queue_remembers_no_address():
    queue = FairQueue(at_once=1, waiting=4)
    for number in range(9):
        for turn in asked(queue, f"198.51.100.{number}", 3):
            queue.leave(turn)
    assert not queue._lines
    assert not queue._at_work


def test_a_turn_ends_with_its_block_also_after_an_error():
    queue = FairQueue(at_once=1, waiting=4)
    try:
        with queue.turn(ALICE) as turn:
            assert has_begun(turn)
            raise ValueError
    except ValueError:
        assert has_begun(queue.ask(BOB))


def test_threads_are_never_more_than_the_queue_allows():
    queue, lock, counts = FairQueue(at_once=2, waiting=400), threading.Lock(), [0, 0, 0]

    def work(number):
        for _ in range(50):
            with queue.turn(f"198.51.100.{number}") as turn:
                assert turn.result()
                with lock:
                    counts[0] += 1
                    counts[1] = max(counts[:2])
                with lock:
                    counts[0] -= 1
                    counts[2] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts[1] <= 2
    assert counts[2] == 400
