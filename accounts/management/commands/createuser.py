"""`manage.py createuser alice`"""

from typing import Any

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from accounts.signing_in.forms import valid_username
from accounts.signing_in.passwords import check_new_password
from accounts.users.entities import NameTaken
from accounts.users.registration import Registration
from retwis_site.management.base import PasswordCommand, validation_failed
from retwis_site.store.client import Store


class Command(PasswordCommand):
    help = "Create a user. The password is read from a prompt, or as one line from standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="1 to 30 letters, digits and underscores")

    def run(self, store: Store, **options: Any) -> None:
        username: str = options["username"]
        try:
            valid_username(username)
        except ValidationError as error:
            raise CommandError(f"{username!r} cannot be a username: {' '.join(error.messages)}") from error
        password = self.read_password()
        try:
            check_new_password(password, username)
            login = Registration(store).register(username, make_password(password))
        except ValidationError as error:
            raise validation_failed(error) from error
        except NameTaken as error:
            raise CommandError(f"The name {username!r} is taken. Upper and lower case count as the same.") from error
        self.say(f"User {username} created with the id {login.user.uid}.")
