"""`manage.py reindex`: the index of the search, written anew. Commands that have written posts end with it too."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.jobs.outbox import LEASE
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from timeline.search.rebuilding import AlreadyReindexing, Rebuilding, forget_progress


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
        self.say(f"{write_index(self, store)} posts are in the index.")


def write_index(command: StoreCommand, store: Store) -> int:
    """Write the index of all posts, with a progress bar; continue a run that was killed. Returns how many posts there
    are. Raises CommandError when another process does so."""
    rebuilding = Rebuilding(store)
    try:
        rebuilding.begin()
        command.complete("Writing the index", rebuilding)
    except AlreadyReindexing:
        raise CommandError(
            f"Another process writes the index. If it was killed, run `manage.py reindex` in {LEASE} seconds."
        ) from None
    return rebuilding.posts
