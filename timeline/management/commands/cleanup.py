"""`manage.py cleanup`"""

from typing import Any

from django.core.management.base import CommandParser

from retwis_site.management.base import StoreCommand
from retwis_site.store import Store
from timeline.debris import Debris


class Command(StoreCommand):
    help = (
        "Remove what crashes leave behind: stale entries of auths, user: and post: hashes that nothing leads to, dead "
        "ids in home timelines and in the global one. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")

    def run(self, store: Store, **options: Any) -> None:
        debris = Debris(store)
        total = 0
        for label, search in (
            ("stale entries in auths", debris.stale_secrets),
            ("orphaned user: hashes", debris.orphaned_users),
            ("orphaned post: hashes", debris.orphaned_posts),
            ("lists with dead ids", debris.dead_ids),
        ):
            found = freed = 0
            for one in search():
                found += 1
                if self.verbosity > 1:
                    self.say(f"  {one}")
                if not options["dry_run"]:
                    freed += debris.remove(one)
            total += found
            self.say(f"{label}: {found} found, {'none removed (dry run)' if options['dry_run'] else f'{freed} freed'}")
        if debris.is_from_elsewhere:
            self.say("Another Retwis made these accounts: posts are left alone until the database is adopted.")
        elif not total:
            self.say("Nothing to clean up.")
