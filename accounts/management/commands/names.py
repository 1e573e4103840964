"""`manage.py names --block WORD`"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.community.log import Act, Log
from accounts.joining.joining import MOST_BLOCKED, BlockedNames
from retwis_site.management.base import StoreCommand
from retwis_site.store.client import Store


class Command(StoreCommand):
    help = "List the words that staff has blocked as names, block a word, or unblock it. Existing accounts stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--block", metavar="WORD", help="a name, with `*` for any letters; also what looks like it")
        parser.add_argument("--unblock", metavar="WORD")

    def run(self, store: Store, **options: Any) -> None:
        names = BlockedNames(store)
        for word in filter(None, (options["block"], options["unblock"])):
            if not word.replace("_", "").replace("*", "").isalnum() or not word.isascii() or len(word) > 30:
                raise CommandError(f"{word!r}: write 1 to 30 letters, digits, underscores and `*`.")
        if options["block"]:
            if len(names.all()) >= MOST_BLOCKED:
                raise CommandError(f"{MOST_BLOCKED} words are blocked already. Unblock some.")
            Log(store).write(Act(what="name:blocked", reason=options["block"].lower()))
            names.add(options["block"])
        if options["unblock"]:
            blocked = names.all()
            if options["unblock"].lower() not in blocked:
                known = f" There are: {', '.join(blocked)}" if blocked else ""
                raise CommandError(f"{options['unblock']!r} is not blocked.{known}")
            Log(store).write(Act(what="name:unblocked", reason=options["unblock"].lower()))
            names.remove(options["unblock"])
        for word in names.all():
            self.say(word)
