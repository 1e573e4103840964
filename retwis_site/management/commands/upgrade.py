"""`manage.py upgrade`"""

from typing import Any

from django.core.management.base import CommandError

from retwis_site.maintenance.census import examine_all
from retwis_site.maintenance.examination import inconsistencies
from retwis_site.maintenance.report import FOREIGN
from retwis_site.management.base import StoreCommand
from retwis_site.store import schema
from retwis_site.store.client import Store
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import State


class Command(StoreCommand):
    help = (
        "Do what this version of the site needs of a store that an older version has written, and note the new version "
        "in the key `schema`. Stop the site first. After a crash, run it again. A second run changes nothing."
    )

    def run(self, store: Store, **options: Any) -> None:
        state = examine_all(store)
        if state is State.FOREIGN:
            raise CommandError(FOREIGN)
        if state is State.OLDER:
            self._repair(store)
        if state in {State.OLDER, State.EMPTY}:
            schema.mark(store)
        self.say(f"The store has schema {schema.VERSION}.")

    def _repair(self, store: Store) -> None:
        """Version 1 needs what older versions did not write: the index of names, the ranking. `doctor` finds it missing
        and makes it, so all of its repairs run once."""
        unfinished = []
        for examination in self.examine(store, inconsistencies(store), repairs=True):
            label = examination.check.label
            if examination.repaired:
                self.say(f"{label}: {examination.repaired} repaired")
            if examination.left or examination.refused:
                unfinished.append(f"{label} ({examination.refused})")
        Memory.clear_all()
        if unfinished:
            raise CommandError(f"The upgrade is not finished: {'; '.join(unfinished)}. Then run this again.")
