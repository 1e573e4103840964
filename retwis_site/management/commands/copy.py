"""`manage.py copy`"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.site_copy import CannotCopy, Copy, connect_source
from retwis_site.management.base import StoreCommand
from retwis_site.store import embedded
from retwis_site.store.client import Store, connect_exactly

EMBEDDED = "embedded"


class Command(StoreCommand):
    help = (
        "Copy the whole site from another store into the one that REDIS_URL names, whatever the two are: one server, a "
        "cluster, the embedded one. Stop the site first: its web processes and `deliver`. Killed, it begins anew when "
        "it is run again. Refuses a store in which somebody is registered."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from",
            dest="source",
            required=True,
            metavar="URL[,URL...]",
            help=(
                "where the site is now: the server or the present primary; some servers of a cluster; all servers "
                "behind a Twemproxy; `embedded`: the embedded server of VAR_DIR; `-`: read these from standard input, "
                "since other users of the machine can read a password that stands here"
            ),
        )

    def run(self, store: Store, **options: Any) -> None:
        named = sys.stdin.readline().strip() if options["source"] == "-" else options["source"]
        try:
            with _source(named) as source:
                self._copy(Copy(source, connect_exactly()))
        except CannotCopy as error:
            raise CommandError(str(error)) from error

    def _copy(self, copy: Copy) -> None:
        copy.begin()
        for _ in self.progress("Copying", copy):
            pass
        comparison = copy.comparison()
        for _ in self.progress("Comparing", comparison):
            pass
        for kind, arrived in sorted(comparison.kinds.items()):
            self.say(f"{kind}: {arrived.keys} keys, {arrived.entries} entries; {arrived.whole} keys arrived")
        if any(arrived.whole < arrived.keys for arrived in comparison.kinds.values()):
            raise CommandError(
                "Not everything has arrived. Stop the site, and whatever else writes, and run this again."
            )
        copy.finish()
        self.say(f"{sum(arrived.keys for arrived in comparison.kinds.values())} keys copied.")


@contextmanager
def _source(named: str) -> Iterator[Store]:
    """What --from names, for as long as the block."""
    urls = [url.strip() for url in named.split(",") if url.strip()]
    if not urls:
        raise CommandError("--from names no server: --from redis://host:6379, or --from embedded")
    if urls != [EMBEDDED]:
        yield connect_source(urls)
        return
    if not settings.REDIS_URL:
        raise CommandError("Both are the embedded server. Set REDIS_URL to the store to copy into.")
    with embedded.running():
        yield connect_source([embedded.url()])
