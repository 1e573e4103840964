"""`manage.py reindex`: the index of the search, written anew. Commands that have written posts end with it too."""

from typing import Any

from django.core.management.base import CommandParser

from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from timeline.search.rebuilding import Rebuilding, forget_progress


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
    are. Raises AlreadyReindexing."""
    rebuilding = Rebuilding(store)
    rebuilding.begin()
    command.complete("Writing the index", rebuilding, rebuilding.steps)
    return rebuilding.posts
