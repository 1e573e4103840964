"""`manage.py changepassword alice`"""

from typing import Any

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from accounts.management.people import uid_of
from accounts.signing_in.passwords import check_new_password
from accounts.signing_in.sessions.repository import Sessions
from retwis_site.management.base import PasswordCommand, validation_failed
from retwis_site.store.client import Store


class Command(PasswordCommand):
    help = (
        "Set a user's password, and log the user out on every device. "
        "The password is read from a prompt, or as one line from standard input."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def run(self, store: Store, **options: Any) -> None:
        username: str = options["username"]
        uid = uid_of(store, username)
        password = self.read_password()
        try:
            check_new_password(password, username)
        except ValidationError as error:
            raise validation_failed(error) from error
        Sessions(store).change_password(uid, make_password(password))
        self.say(f"{username} has a new password and is logged out on every device.")
