"""The people whom a text mentions. Their names are looked up once, when the text is written."""

from accounts.users.repository import ask_owners
from retwis_site.store.client import Store
from timeline.posts.parsing.links import names_in


def mentioned(store: Store, body: str) -> tuple[int, ...] | None:
    """The uids of the users whose names a text has, in its order; None for a text without an @name. At most MOST_LINKS.
    One round trip; none for a text without an @name."""
    names = names_in(body)
    if not names:
        return None
    pipe = store.pipeline()
    owners = ask_owners(pipe, names)
    pipe.execute()
    return tuple(dict.fromkeys(owners.value.values()))
