"""`manage.py resetlink alice`"""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from accounts.recovery.links import LIVES, ResetLinks
from accounts.users.repository import Users
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store


class Command(StoreCommand):
    help = (
        f"Print the address where a user can set a new password, once and within {LIVES // 3600} hours. "
        "Make sure that you hand it to that person: it opens the account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def run(self, store: Store, **options: Any) -> None:
        username: str = options["username"]
        users = Users(store)
        uid = users.find(username)
        if uid is None:
            raise CommandError(f"There is no user {username!r}.")
        if uid not in users.people([uid]):
            raise CommandError(f"The account of {username!r} is deleted.")
        # The command does not know under which name the site is reached, so it prints the path.
        self.stdout.write(reverse("reset", args=[ResetLinks(store).make(uid)]))
