"""`manage.py copy`"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.filling import CannotFill
from retwis_site.maintenance.site_copy import Copy, connect_source
from retwis_site.management.copying import CopyingCommand
from retwis_site.store import embedded
from retwis_site.store.client import Store, connect_exactly

EMBEDDED = "embedded"


class Command(CopyingCommand):
    help = (
        "Copy the whole site from another store into the store at REDIS_URL. Each of the two can be one server, a "
        "cluster or the embedded server. Stop the site first: its web processes and `deliver`. After a crash, run the "
        "command again: it starts from the beginning. Refuses a store that has users."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from",
            dest="source",
            required=True,
            metavar="URL[,URL...]",
            help=(
                "where the site is now: the server or the current primary; some servers of a cluster; all servers "
                "behind a Twemproxy; `embedded`: the embedded server of VAR_DIR; `-`: read the addresses from standard "
                "input, since other users of the machine can read a password in an argument"
            ),
        )

    def run(self, store: Store, **options: Any) -> None:
        addresses = sys.stdin.readline().strip() if options["source"] == "-" else options["source"]
        try:
            with _source(addresses) as source:
                self.copy_site(Copy(source, connect_exactly()))
        except CannotFill as error:
            raise CommandError(str(error)) from error


@contextmanager
def _source(addresses: str) -> Iterator[Store]:
    """The store that --from names, for the time of the block."""
    urls = [url.strip() for url in addresses.split(",") if url.strip()]
    if not urls:
        raise CommandError("--from names no server: --from redis://host:6379, or --from embedded")
    if urls != [EMBEDDED]:
        yield connect_source(urls)
        return
    if not settings.REDIS_URL:
        raise CommandError("Source and target are both the embedded server. Set REDIS_URL to the store to copy into.")
    with embedded.running():
        yield connect_source([embedded.url()])
