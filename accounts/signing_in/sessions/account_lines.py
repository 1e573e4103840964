"""The lines about sessions in the personal download."""

from collections.abc import Iterator

from accounts.signing_in.sessions.entities import sessions_in
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """A line for each session, without its secret; the most recently used first. One round trip."""
    yield [
        {
            "type": "session",
            "since": iso(session.since),
            "used": iso(session.used),
            "browser": session.device.browser,
            "system": session.device.system,
        }
        for session in sessions_in(store.hgetall(keys.user(owner.uid)))
    ]
