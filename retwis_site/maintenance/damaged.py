"""What `doctor --fix` removes because it is bad is kept under `damaged:`, for DAMAGED_STAYS seconds."""

from itertools import chain, count

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Answer

DAMAGED_STAYS = 30 * 24 * 3600


def move_away(store: Store, key: str) -> None:
    """Move a key to the first name under `damaged:` that is free. Four round trips, one more for each name in use."""
    dumped = store.dump(key)
    if dumped is not None:
        names = chain([keys.damaged(key)], (keys.damaged_again(key, number) for number in count(2)))
        # The same content is there already when a repair was killed.
        free = next(name for name in names if store.dump(name) in {None, dumped})
        store.restore(free, DAMAGED_STAYS, dumped)
        store.unlink(key)


def keep(store: Store, key: str, name: bytes, value: bytes | float) -> None:
    """Keep a member of `key` with its score, or a field with its value. What is kept of this name already stays. One
    round trip."""
    kept = keys.damaged_values(key)
    pipe = store.pipeline()
    pipe.send("HSETNX", kept, name, value)
    pipe.expire(kept, DAMAGED_STAYS)
    pipe.execute()


def ask_damaged(pipe: Pipe, key: str) -> Answer[bool]:
    """Whether a repair has moved the key away or has removed values of it. Two commands."""
    types = [pipe.type(name) for name in (keys.damaged(key), keys.damaged_values(key))]
    return Answer(lambda: any(each.value != "none" for each in types))
