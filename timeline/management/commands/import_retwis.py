"""`manage.py import_retwis --from URL`"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from retwis_site.maintenance.filling import Filling
from retwis_site.management.base import StoreCommand, add_source, in_chunks, urls_of
from retwis_site.store.client import Store, without_gate
from timeline.management.commands.reindex import write_index
from timeline.other_retwises.conversion import Conversion, summary
from timeline.other_retwises.layouts import LAYOUTS, detect, refuse_own
from timeline.other_retwises.source import connect_to
from timeline.other_retwises.values import encode_all, encode_none

AUTO = "auto"


class Command(StoreCommand):
    help = (
        "Import people, follows, posts, replies, likes and passwords from the database of another Retwis into the "
        "empty store at REDIS_URL. The other database is only read. After a crash, run the command again: it starts "
        "from the beginning. docs/importing.md says what each layout gives."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_source(parser, "the server of the other Retwis, such as redis://host:6379/3; some servers of a cluster")
        parser.add_argument("--layout", choices=[AUTO, *LAYOUTS], default=AUTO, help="who has written it")
        parser.add_argument("--dry-run", action="store_true", help="read everything and write nothing")

    def run(self, store: Store, **options: Any) -> None:
        urls = urls_of(options["source"])
        if not urls:
            raise CommandError("--from names no server: --from redis://host:6379")
        source = connect_to(urls)
        refuse_own(source)
        layout = detect(source) if options["layout"] == AUTO else LAYOUTS[options["layout"]]
        self.say(f"Layout: {layout.title}")
        filling = Filling(without_gate())
        conversion = Conversion(layout(source), source.problems, encode_none if options["dry_run"] else encode_all)
        steps = conversion if options["dry_run"] else filling.fill(conversion, {})
        self.complete("Importing", steps, in_chunks(source.dbsize))
        for line in summary(conversion, source.problems, filling.dropped):
            self.say(line)
        if not options["dry_run"]:
            write_index(self, without_gate())
        self.say("Nothing was written: this was a dry run." if options["dry_run"] else "Imported.")
