"""`manage.py resetlink alice`"""

from typing import Any

from django.core.management.base import CommandParser

from accounts.management.addresses import address_of
from accounts.management.people import uid_of
from accounts.recovery.codes import LIVES, ResetLinks
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
        uid = uid_of(store, username)
        self.stdout.write(address_of("reset", ResetLinks(store).make(uid)))
