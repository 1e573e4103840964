"""`manage.py import FILE`"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.filling import Filling, refuse_people
from retwis_site.maintenance.site_files import Verification, decompressed, line_chunks, opened, spooled
from retwis_site.management.base import StoreCommand, in_chunks
from retwis_site.store.client import Store, without_gate
from timeline.management.commands.reindex import write_index

PIPE = "-"
BYTES = 150  # of a line, about


class Command(StoreCommand):
    help = (
        "Read a whole site, which `export` has written, into an empty store. Nothing is written before all of the file "
        "is verified. After a crash, run the command again: it starts from the beginning."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the file, such as site.jsonl.zst; `-`: standard input")

    def run(self, store: Store, **options: Any) -> None:
        store = without_gate()  # which an unfinished run would close
        try:
            refuse_people(store)
            with _opened(options["file"]) as file:
                self._import(store, file)
        except OSError as error:
            raise CommandError(f"The file could not be read: {error}") from error

    def _import(self, store: Store, file: IO[bytes]) -> None:
        verification = Verification(partial(decompressed, file))
        size = os.fstat(file.fileno()).st_size
        self.complete("Verifying", verification, in_chunks(lambda: size // BYTES))
        filling = Filling(store)
        steps = filling.fill(line_chunks(verification.open()), verification.largest)
        self.complete("Importing", steps, in_chunks(verification.counts.total))
        write_index(self, store)
        for type_, number in verification.counts.items():
            self.say(f"{type_}: {number - filling.dropped[type_]} imported")
        if filling.dropped.total():
            self.say(
                f"{filling.dropped.total()} lines left out: they name people or posts that the file does not have, "
                "or that are deleted. An export from a site in use may have such lines."
            )


def _opened(name: str) -> IO[bytes]:
    return spooled(sys.stdin.buffer) if name == PIPE else opened(Path(name))
