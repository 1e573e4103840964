"""What `copy` and `restore` share: a copy is run, compared and committed."""

from django.core.management.base import CommandError

from retwis_site.maintenance.site_copy import Copy
from retwis_site.management.base import StoreCommand


class CopyingCommand(StoreCommand):
    """A command that fills the site's store with the site of another store."""

    def copy_site(self, copy: Copy) -> None:
        """Run the copy from its beginning to its commit. Raises CannotFill; CommandError when keys are missing."""
        copy.begin()
        for _ in self.progress("Copying", copy):
            pass
        comparison = copy.comparison()
        for _ in self.progress("Comparing", comparison):
            pass
        for kind, counts in sorted(comparison.kinds.items()):
            self.say(f"{kind}: {counts.keys} keys, {counts.entries} entries; {counts.complete} keys arrived")
        if any(counts.complete < counts.keys for counts in comparison.kinds.values()):
            raise CommandError(
                "The copy is incomplete. Stop the site and every other program that writes, and run this again."
            )
        copy.finish()
        self.say(f"{sum(counts.keys for counts in comparison.kinds.values())} keys copied.")
