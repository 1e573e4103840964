"""The notices of a deleted account. What the account has caused at others goes with its follows, likes and posts."""

from retwis_site.store import keys
from retwis_site.store.client import Store


def remove_notices(store: Store, uid: int) -> tuple[()]:
    """Remove a deleted account's own notices. One round trip. It is no chunk: there are about a thousand at most."""
    store.unlink(keys.notices(uid))
    return ()
