"""Users as commands name them, the addresses that commands print, and the passwords that they read."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.urls import reverse

from accounts.community.acts import PersonRecord, person_record
from accounts.community.log import LONGEST_REASON
from accounts.signing_in.passwords import check_new_password
from accounts.users.entities import NoSuchUser
from retwis_site.http.form_fields import is_visible
from retwis_site.management.base import read_password
from retwis_site.store.client import Store


def address_of(view: str, *arguments: object) -> str:
    """The address of a view, such as `https://retwis.example/invited/0-1/`: it begins with SITE_ADDRESS."""
    return f"{settings.SITE_ADDRESS}{reverse(view, args=arguments)}"


def record_of(store: Store, username: str) -> PersonRecord:
    """What staff may know of a user. Raises CommandError for an unknown name."""
    try:
        return person_record(store, username)
    except NoSuchUser as error:
        raise CommandError(f"There is no user {username!r}.") from error


def uid_of(store: Store, username: str) -> int:
    """The uid of a user, who may be suspended. Raises CommandError for an unknown name or a deleted account."""
    record = record_of(store, username)
    if record.deleted is not None:
        raise CommandError(f"The account of {username!r} is deleted.")
    return record.user.uid


def new_password(username: str) -> str:
    """A password for this user, from a prompt or standard input. Raises CommandError for one that is too weak."""
    password = read_password()
    try:
        check_new_password(password, username)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error
    return password


def checked_reason(text: str) -> str:
    """A reason as it is stored. Raises CommandError for one that nobody can see, or that is too long."""
    reason = text.strip()
    if not is_visible(reason) or len(reason) > LONGEST_REASON:
        raise CommandError(f"The reason has 1 to {LONGEST_REASON} characters, and somebody can see them.")
    return reason
