"""Users as commands name them."""

from django.core.management.base import CommandError

from accounts.community.records import Record, Records
from accounts.users.entities import NoSuchUser
from retwis_site.store.client import Store


def record_of(store: Store, username: str) -> Record:
    """What staff may know of a user. Raises CommandError for an unknown name."""
    try:
        return Records(store).find(username)
    except NoSuchUser as error:
        raise CommandError(f"There is no user {username!r}.") from error


def uid_of(store: Store, username: str) -> int:
    """The uid of a user, who may be suspended. Raises CommandError for an unknown name or a deleted account."""
    record = record_of(store, username)
    if record.deleted is not None:
        raise CommandError(f"The account of {username!r} is deleted.")
    return record.user.uid
