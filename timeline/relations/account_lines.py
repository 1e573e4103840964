"""The lines about follows in the personal download."""

from collections.abc import Iterator

from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_rows


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The users that the owner follows, then the owner's followers, each newest first. Two round trips a chunk."""
    for kind, key in (("following", keys.following(owner.uid)), ("follower", keys.followers(owner.uid))):
        for rows in newest_first(store, key):
            since = dict(stored_rows(key, rows))
            people = Users(store).people(list(since))
            yield [
                {"type": kind, "id": uid, "username": people[uid].username, "since": iso(when)}
                for uid, when in since.items()
                if uid in people
            ]
