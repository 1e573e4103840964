"""The lines of the personal download about invitations."""

from collections.abc import Iterator

from accounts.joining.invitations import Invitations
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """Who has invited the user (0: the operator), and the open invitations by the user. Three round trips."""
    by = parse_number(store.hget(keys.user(owner.uid), "invited_by") or "")
    lines: list[Line] = [] if by is None else [{"type": "invited", "by": by}]
    yield lines + [
        {"type": "invitation", "code": one.code, "ends": iso(one.ends), "uses": one.left}
        for one in Invitations(store).open([owner.uid])
    ]
