"""The index of the search, at the end of a command that has written posts."""

from django.core.management.base import CommandError

from retwis_site.jobs.outbox import LEASE
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store
from timeline.search.rebuilding import AlreadyReindexing, Rebuilding


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
