"""`manage.py makemessages --all`: Django's command, set up for small diffs."""

import re
from pathlib import Path

from django.core.management.base import CommandParser
from django.core.management.commands.makemessages import Command as MakeMessages

_CREATION_DATE = re.compile(r'^"POT-Creation-Date: .*\n', re.MULTILINE)


class Command(MakeMessages):
    """Writes no line numbers, wrapping or dates. So a catalog changes only where a text has changed."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(
            no_obsolete=True, no_wrap=True, add_location="file", ignore_patterns=["tests", "benchmarks", "var"]
        )

    def write_po_file(self, potfile: str, locale: str) -> None:
        super().write_po_file(potfile, locale)
        written = Path(potfile).parent / locale / "LC_MESSAGES" / f"{self.domain}.po"
        written.write_text(_CREATION_DATE.sub("", written.read_text()))
