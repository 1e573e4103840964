"""What a worker does for each kind of intent. Every job reads the truth and makes the rest match; all can run twice."""

import logging
from collections.abc import Callable

from accounts.repositories import finish_auth, finish_user
from retwis_site.exceptions import StoreRefused
from retwis_site.outbox import Outbox
from retwis_site.store import Store
from timeline.repositories.follows import Follows
from timeline.repositories.posts import Posts

logger = logging.getLogger("retwis.deliver")

BATCH = 100  # intents looked at in one go

Job = Callable[[Store, str], None]

JOBS: dict[str, Job] = {
    "user": finish_user,
    "auth": finish_auth,
    "post": lambda store, intent: Posts(store).redeliver(intent),
    "del": lambda store, intent: Posts(store).finish_delete(intent),
    "follow": lambda store, intent: Follows(store).finish_follow(intent),
}


def drain(store: Store, worker: str) -> int:
    """Finish every intent that is due and not claimed by another worker; returns how many.

    An intent that cannot be finished stays where it is, with a line in the log, and its lease keeps others from trying
    at once: the store may hold damage, or a newer version of the site may have noted what this one does not know.
    """
    outbox = Outbox(store)
    finished = 0
    passed_over: set[str] = set()
    while due := [intent for intent in outbox.due(BATCH + len(passed_over)) if intent not in passed_over]:
        for intent in due:
            kind = intent.partition(":")[0]
            if kind not in JOBS:
                logger.error("%s: no job of this kind is known; left in the outbox", kind)
            elif outbox.claim(intent, worker):
                try:
                    JOBS[kind](store, intent)
                except (StoreRefused, ValueError) as error:
                    logger.error("%s: cannot be finished, left in the outbox: %s", kind, error)
                else:
                    outbox.release(intent)
                    finished += 1
                    continue
            passed_over.add(intent)
    return finished
