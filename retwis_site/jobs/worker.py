"""What a worker does for each kind of intent. Every job reads the truth and makes the rest match; all can run twice."""

import logging
import time
from collections.abc import Callable
from enum import Enum, auto
from threading import Event

from accounts.users.name_index import Directory
from accounts.users.removal import Departures
from accounts.users.repository import finish_auth, finish_user
from retwis_site.exceptions import StoreRefused
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows

logger = logging.getLogger("retwis.deliver")

BATCH = 100  # intents looked at in one go
ATTEMPTS = 5  # after which an intent is set aside
TURN = 1.0  # seconds after which an account's deletion lets go first what else is due

MALFORMED = (ValueError, IndexError)  # what a job makes of an intent without its numbers

stop: Event = Event()  # set by a worker's SIGTERM: finish the chunk, give the lease back

_strangers: Memory[str, bool] = Memory(size=100, seconds=3600)  # unknown kinds that were logged within the hour

Job = Callable[[Store, Claim], object]  # False: not finished, because the worker has to stop, or others wait

JOBS: dict[str, Job] = {
    "user": lambda store, claim: finish_user(store, claim.name),
    "auth": lambda store, claim: finish_auth(store, claim.name),
    "name": lambda store, claim: Directory(store).finish_edit(claim.name),
    "post": lambda store, claim: Posts(store).redeliver(claim.name),
    "fan": lambda store, claim: Posts(store).fan_out(claim, stop.is_set),
    "del": lambda store, claim: Posts(store).finish_delete(claim.name),
    "follow": lambda store, claim: Follows(store).finish_follow(claim.name),
    "gone": lambda store, claim: Departures(store).finish(claim, _a_turn()),
}


class _Outcome(Enum):
    """What became of an intent."""

    FINISHED = auto()
    GIVEN_BACK = auto()  # and to be gone on with
    LEFT = auto()  # to another worker, or to a later time


def drain(store: Store, worker: str) -> int:
    """Finish every intent that is due and not claimed by another worker, until told to stop; returns how many. What
    takes long is gone on with in turns.

    One that cannot be finished stays where it is, with a line in the log, and its lease keeps others from trying at
    once: the store may hold damage. After ATTEMPTS it is set aside. One of an unknown kind is left alone: a newer
    version of the site may have noted it.
    """
    outbox = Outbox(store)
    finished = 0
    passed_over: set[str] = set()
    while due := [intent for intent in outbox.due(BATCH + len(passed_over)) if intent not in passed_over]:
        for intent in due:
            if stop.is_set():
                return finished
            outcome = _work(store, outbox, intent, worker)
            if outcome is _Outcome.FINISHED:
                finished += 1
            elif outcome is _Outcome.LEFT:
                passed_over.add(intent)
    return finished


def _a_turn() -> Callable[[], bool]:
    """Whether to give work back, from now on: the worker is told to stop, or it has taken a TURN."""
    ends = time.monotonic() + TURN
    return lambda: stop.is_set() or time.monotonic() > ends


def _work(store: Store, outbox: Outbox, intent: str, worker: str) -> _Outcome:
    kind = intent.partition(":")[0]
    if kind not in JOBS:
        if _strangers.get(kind) is None:  # a worker looks very often
            _strangers.put(kind, True)
            logger.error("%s: no job of this kind is known; left in the outbox", kind)
        return _Outcome.LEFT
    claim = outbox.claim(intent, worker)
    if claim is None:
        return _Outcome.LEFT
    if claim.attempt > ATTEMPTS:
        logger.error("%s: set aside after %d attempts", kind, ATTEMPTS)
        outbox.set_aside(intent)
        return _Outcome.LEFT
    try:
        if JOBS[kind](store, claim) is False:
            outbox.give_back(intent)
            return _Outcome.GIVEN_BACK
    except (StoreRefused, *MALFORMED) as error:
        logger.error("%s: cannot be finished, left in the outbox: %s", kind, error)
        return _Outcome.LEFT
    outbox.forget(intent)
    return _Outcome.FINISHED
