"""`manage.py sanction alice frozen --reason "insults" --days 7`"""

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.community.log import LONGEST_REASON
from accounts.community.refusals import Refused
from accounts.community.sanctions import DAY, MOST_DAYS, Sanctions
from accounts.management.people import uid_of
from accounts.users.entities import State
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store


class Command(StoreCommand):
    help = (
        "Freeze, hide or suspend a user, or lift what is imposed (none). The user is told the reason. A suspension "
        "without --days becomes a deletion after 30 days."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("state", choices=[state.value or "none" for state in State])
        parser.add_argument("--reason", required=True, help="a sentence that the user sees")
        parser.add_argument("--days", type=int, help="it ends by itself after so many days")

    def run(self, store: Store, **options: Any) -> None:
        username, reason, days = options["username"], options["reason"].strip(), options["days"]
        if not 0 < len(reason) <= LONGEST_REASON:
            raise CommandError(f"The reason has 1 to {LONGEST_REASON} characters.")
        if days is not None and not 0 < days <= MOST_DAYS:
            raise CommandError(f"--days is a number from 1 to {MOST_DAYS}.")
        uid = uid_of(store, username)
        try:
            if options["state"] == "none":
                Sanctions(store).lift(uid, reason=reason)
                self.say(f"Nothing is imposed on {username} any more.")
                return
            until = 0 if days is None else int(time.time()) + days * DAY
            Sanctions(store).impose(uid, State(options["state"]), reason, until)
        except Refused as refusal:
            raise CommandError(str(refusal)) from refusal
        self.say(f"{username} is {options['state']}" + ("." if days is None else f" for {days} days."))
