"""`manage.py role alice moderator`"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.community.refusals import Refused
from accounts.community.roles import Roles
from accounts.management.people import uid_of
from accounts.users.entities import Role
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store


class Command(StoreCommand):
    help = "Make a user a moderator or an admin, or take the role away (member). The site keeps its last admin."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("role", choices=[role.value for role in Role])

    def run(self, store: Store, **options: Any) -> None:
        uid = uid_of(store, options["username"])
        try:
            Roles(store).give(uid, Role(options["role"]))
        except Refused as refusal:
            raise CommandError(str(refusal)) from refusal
        self.say(f"{options['username']} is now: {options['role']}.")
