"""`manage.py reindex`"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.jobs.outbox import LEASE
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from timeline.search.index.rebuilding import AlreadyReindexing, Rebuilding, forget_progress


class Command(StoreCommand):
    help = (
        "Write the index of the search anew, from all posts, while the site runs. A run that was killed is continued. "
        "The newest posts come first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--again", action="store_true", help="begin anew, also after a run that was killed")

    def run(self, store: Store, **options: Any) -> None:
        if options["again"]:
            forget_progress(store)
        rebuilding = Rebuilding(store)
        try:
            rebuilding.begin()
        except AlreadyReindexing:
            raise CommandError(
                f"Another process writes the index. If it was killed, run this again in {LEASE} seconds."
            ) from None
        for _ in self.progress("Writing the index", rebuilding):
            pass
        self.say(f"{rebuilding.posts} posts are in the index.")
