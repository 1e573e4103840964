"""`manage.py cleanup`"""

import sys
from typing import Any

from django.core.management.base import CommandParser

from retwis_site.maintenance.census import examine_all
from retwis_site.maintenance.examination import orphans
from retwis_site.maintenance.report import FOREIGN
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from retwis_site.store.schema import State


class Command(StoreCommand):
    help = (
        "Remove orphans, which crashes leave behind: stale entries of auths, unreferenced user: and post: hashes, "
        "dead ids in home and global timelines, temporary keys without an expiry. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")

    def run(self, store: Store, **options: Any) -> None:
        if examine_all(store) is State.FOREIGN:
            self.say(FOREIGN)
            return
        total = 0
        for examination in self.examine(store, orphans(store), repairs=not options["dry_run"]):
            label = examination.check.label
            total += examination.found
            removed = "none removed (dry run)" if options["dry_run"] else f"{examination.repaired} removed"
            self.say(f"{label}: {examination.found} found, {removed}")
            if examination.refused:
                self.stderr.write(f"{label}: stopped, {examination.refused}. Find out why with: manage.py doctor")
                sys.exit(1)
            if self.verbosity > 1:
                for example in examination.examples:
                    self.say(f"  {example}")
        if not total:
            self.say("Nothing to clean up.")
