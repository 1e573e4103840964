"""`manage.py import FILE`"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.filling import Filling, refuse_people
from retwis_site.maintenance.site_files import AT_ONCE, Verification, decompressed, line_chunks, opened, spooled
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store, without_gate
from timeline.management.commands.reindex import write_index

PIPE = "-"


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
        verification = Verification(partial(decompressed, file), os.fstat(file.fileno()).st_size)
        self.complete("Verifying", verification)
        filling = Filling(store)
        self.complete("Importing", _Import(filling, verification))
        write_index(self, store)
        for type_, number in verification.counts.items():
            self.say(f"{type_}: {number - filling.dropped[type_]} imported")
        if filling.dropped.total():
            self.say(
                f"{filling.dropped.total()} lines left out: they name people or posts that the file does not have, "
                "or that are deleted. An export from a site in use may have such lines."
            )


@dataclass(frozen=True)
class _Import:
    """Iterate to fill the store, a chunk a step; then what follows from all lines. `len` estimates the steps."""

    filling: Filling
    verified: Verification

    def __len__(self) -> int:
        return self.verified.counts.total() // AT_ONCE + 1

    def __iter__(self) -> Iterator[None]:
        self.filling.begin()
        for lines in line_chunks(self.verified.open()):
            self.filling.write(lines)
            yield
        yield from self.filling.finish(self.verified.largest)


def _opened(name: str) -> IO[bytes]:
    return spooled(sys.stdin.buffer) if name == PIPE else opened(Path(name))
