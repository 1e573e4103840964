"""Joining: invitations, applications, and who invited whom."""

from collections.abc import Iterable

from accounts.community.joining.account_lines import account_lines
from accounts.community.joining.limits import ANSWERS, INVITATIONS
from accounts.community.joining.site_lines import JOINING
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField
from retwis_site.store import keys
from retwis_site.store.client import Store


def _remove_invitations(store: Store, uid: int) -> Iterable[object]:
    """The open invitations of a deleted account. One round trip; no chunk."""
    store.unlink(keys.invites(uid))
    return ()


FEATURE = Feature(
    urls="accounts.community.joining.urls",
    limits=(INVITATIONS, ANSWERS),
    account_lines=account_lines,
    site_lines=JOINING,
    remove_account=_remove_invitations,
    form_fields={
        "invites": (FormField("revoke", "hidden"),),
        "joining": (FormField("username", "hidden"), FormField("answer", "hidden"), FormField("reason", "hidden")),
    },
)
