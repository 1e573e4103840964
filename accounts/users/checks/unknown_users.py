"""Finds uids that no user has."""

from collections.abc import Callable, Sequence
from functools import partial

from retwis_site.maintenance.checks import Chunks, Finding, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store


def unknown(store: Store, uids: Sequence[int]) -> list[int]:
    """Those of the uids that no user has. One round trip."""
    pipe = store.pipeline()
    known = [(uid, pipe.hexists(keys.user(uid), "username")) for uid in uids]
    pipe.execute()
    return [uid for uid, exists in known if not exists.value]


def sets_of_unknown_users(store: Store, pattern: str, key_of: Callable[[int], str]) -> Chunks:
    """Keys of a kind, such as `following:*`, of users that do not exist. The repair removes them."""
    for uids in ids_of(store, pattern):
        yield [
            Finding(f"{key_of(uid)}: there is no such user", partial(store.unlink, key_of(uid)))
            for uid in unknown(store, uids)
        ]
