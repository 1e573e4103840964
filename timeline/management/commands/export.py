"""`manage.py export FILE`"""

import sys
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance import site_files
from retwis_site.maintenance.examination import inconsistencies
from retwis_site.management.base import StoreCommand, in_chunks
from retwis_site.store.client import Store

PIPE = "-"


class Command(StoreCommand):
    help = (
        "Write the whole site into a file, while the site is in use: people with their password hashes, follows, posts "
        "and likes, as JSON lines. `import` reads it. Exit code 1 for a store with errors: the file may lack data. "
        "docs/export.md describes it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            help="the file; it is compressed when its name ends in .gz or .zst; `-`: standard output",
        )

    def run(self, store: Store, **options: Any) -> None:
        try:
            site_files.refuse_what_is_no_site(store)
            if options["file"] == PIPE:
                counts = self._write(store, sys.stdout.buffer, "")
                sys.stdout.buffer.flush()
            else:
                path = Path(options["file"])
                with site_files.replacing(path) as file:
                    counts = self._write(store, file, path.name)
        except OSError as error:
            raise CommandError(f"The file could not be written: {error}") from error
        if self.verbosity:
            written = ", ".join(f"{type_}: {number}" for type_, number in counts.items())
            self.stderr.write(
                f"Lines: {written}. The file has the password hashes: keep it where only you can read it."
            )
        self._require_soundness(store)

    def _require_soundness(self, store: Store) -> None:
        """Raises CommandError when `doctor` finds errors: what a damaged set does not lead to, such as the posts of an
        author, is missing in the file, and nothing in the file says so."""
        told = [line for one in self.examine(store, inconsistencies(store), repairs=False) for line in one.told()]
        if told:
            raise CommandError(
                "\n".join(["The file is written, but the store has errors, and what they hide is not in it:", *told])
                + "\nRun `manage.py doctor --fix`, and then this again."
            )

    def _write(self, store: Store, file: IO[bytes], name: str) -> dict[str, int]:
        """Returns the number of lines of each type."""
        with site_files.compressing(file, name) as content:
            export = site_files.Export(store, content)
            self.complete("Exporting", export, in_chunks(store.dbsize))
        return export.counts
