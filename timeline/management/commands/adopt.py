"""`manage.py adopt`"""

from collections.abc import Sequence
from math import inf
from typing import Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.checks import Check
from retwis_site.maintenance.examination import adoption, examine_all, inconsistencies
from retwis_site.management.base import StoreCommand
from retwis_site.store import keys, schema
from retwis_site.store.client import Store, without_gate
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import StoreState
from timeline.management.commands.reindex import write_index

NOT_FOREIGN = {
    StoreState.EMPTY: "The store has no users. Set REDIS_URL to the database of the official Retwis.",
    StoreState.OURS: "There is nothing to adopt: the store is this site's. If the search lacks posts, `doctor` says "
    "so.",
    StoreState.OLDER: "An older version of this site has written the store. Run: manage.py db upgrade",
    StoreState.UNFINISHED: "The store has a part of a site: an import, a copy, a restore or a seeding has not "
    "ended. Run that again.",
    StoreState.NEWER: "A newer version of this site has written the store. Install that version.",
}


class Command(StoreCommand):
    help = (
        "Turn a database of the official Retwis (2014) into one of this site, in place: docs/adopting.md. Stop the PHP "
        "first. After a crash, run it again. Until it has finished, the site only reads this database."
    )

    _told: set[tuple[str, str]]  # label of a check, and an example

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print what would be changed")

    def run(self, store: Store, **options: Any) -> None:
        store, self._told = without_gate(), set()
        state = examine_all(store)
        if state in NOT_FOREIGN and not (state is StoreState.OURS and self._came_later(store)):
            raise CommandError(NOT_FOREIGN[state])
        if options["dry_run"]:
            self._examine(store, adoption(store), repairs=False)
            self.say("Nothing was changed (dry run).")
            return
        store.set(keys.schema(), schema.ADOPTING)
        types, *others = adoption(store)
        finished = [self._examine(store, [types], repairs=True)]
        # Told before they are given: after a crash, nothing else says who has another name.
        self._examine(store, [check for check in others if check.most_told == inf], repairs=False)
        finished.append(self._examine(store, others, repairs=True))
        finished.append(self._examine(store, inconsistencies(store), repairs=True))
        if not all(finished):
            raise CommandError("The database is not adopted yet. Remove what stopped the checks, and run this again.")
        schema.mark(store)
        Memory.clear_all()
        write_index(self, store)
        self.say("The database is adopted. Next: manage.py db cleanup, then start the site.")

    def _came_later(self, store: Store) -> bool:
        """Whether the PHP has registered people in an adopted store: `doctor` sends the operator here for them."""
        return bool(self.count(store).advice())

    def _examine(self, store: Store, checks: Sequence[Check], repairs: bool) -> bool:
        """Run checks, and print what they found. Returns whether nothing is left."""
        finished = True
        for examination in self.examine(store, checks, repairs=repairs):
            label = examination.check.label
            new = [one for one in dict.fromkeys(examination.examples) if (label, one) not in self._told]
            self._told.update((label, one) for one in new)
            if new or examination.left or examination.refused:
                self.say(f"{label}: {examination.found}")
                for example in new:
                    self.say(f"    {example}")
            self.stdout.flush()  # a file would get it only when the process ends
            if examination.refused:
                self.stderr.write(f"{examination.check.label}: stopped, {examination.refused}")
            finished = finished and not (examination.left or examination.refused)
        return finished
