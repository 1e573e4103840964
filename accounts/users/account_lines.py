"""The line about the account in the personal download."""

from collections.abc import Iterator

from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import whole


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """One line. One round trip."""
    pipe = store.pipeline()
    fields = pipe.hmget(keys.user(owner.uid), ["name", "bio", "language"])
    registered = pipe.zscore(keys.users_by_time(), owner.username)
    pipe.execute()
    name, bio, language = fields.value
    yield [
        {
            "type": "account",
            "id": owner.uid,
            "username": owner.username,
            "name": name or "",
            "bio": bio or "",
            "language": language or "",
            "registered": None if registered.value is None else iso(whole(registered.value)),
            "address": address_of("profile", owner.username),
        }
    ]
