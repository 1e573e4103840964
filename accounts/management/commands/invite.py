"""`manage.py invite --uses 10 --days 30`, `manage.py invite --revoke ADDRESS`"""

from typing import Any

from django.core.management.base import CommandParser

from accounts.community.log import Act, Log
from accounts.joining.joining import DAYS, MOST_DAYS, MOST_USES, Invitations, NotInvited, new_invitation
from accounts.management.people import address_of
from retwis_site.identity import ask_stored_site
from retwis_site.management.base import StoreCommand, announcer, number
from retwis_site.store.client import Store, answer


class Command(StoreCommand):
    help = "Print an address by which people can join, also when joining needs an invitation or an approval."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--uses", type=number(1, MOST_USES), default=1, help="how many people may join by it; 1")
        parser.add_argument("--days", type=number(1, MOST_DAYS), default=DAYS, help=f"how long it can be used; {DAYS}")
        parser.add_argument(
            "--revoke", metavar="ADDRESS", help="instead, revoke the invitation with this address, whoever made it"
        )

    def run(self, store: Store, **options: Any) -> None:
        if options["revoke"]:
            code = options["revoke"].strip("/").rpartition("/")[2]
            found = Invitations(store).with_code(code)
            if found is None:
                raise NotInvited
            Log(store).write(Act(what="invitation:revoked", whom=found.by))
            Invitations(store).revoke(found.by, code)
            self.say("The invitation is revoked.")
            return
        made = new_invitation(uses=options["uses"], days=options["days"])
        Log(store).write(Act(what="invitation:made", until=made.ends, reason=f"{made.uses}×"))
        Invitations(store).add(made)
        self.stdout.write(address_of("invited", made.code))
        if answer(store, ask_stored_site).registration == "closed":
            announcer(self, self.verbosity)("Nobody can join by it while the site is closed. See: manage.py site")
