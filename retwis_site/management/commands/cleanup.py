"""`manage.py cleanup`"""

import sys
from typing import Any

from django.core.management.base import CommandParser

from retwis_site.maintenance.examination import Examination, notices, orphans
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store


class Command(StoreCommand):
    help = (
        "Remove what crashes leave behind: stale entries of auths, user: and post: hashes that nothing leads to, dead "
        "ids in home timelines and in the global one, keys that should have ended. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")

    def run(self, store: Store, **options: Any) -> None:
        total = 0
        for check in orphans(store):
            examination = Examination(check, repairs=not options["dry_run"])
            for _ in self.progress(check.label, examination):
                pass
            total += examination.found
            removed = "none removed (dry run)" if options["dry_run"] else f"{examination.repaired} removed"
            self.say(f"{check.label}: {examination.found} found, {removed}")
            if examination.refused:
                self.stderr.write(f"{check.label}: stopped, {examination.refused}. Look with: manage.py doctor")
                sys.exit(1)
            if self.verbosity > 1:
                for example in examination.examples:
                    self.say(f"  {example}")
        said = notices(store)
        for notice in said:
            self.say(notice)
        if not said and not total:
            self.say("Nothing to clean up.")
