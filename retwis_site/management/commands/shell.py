"""`manage.py shell`: Django's shell, with a store."""

from typing import Any

from django.core.management.commands.shell import Command as Shell

from retwis_site.management.base import announcer, running_store


class Command(Shell):
    help = f"{Shell.help} Without REDIS_URL it runs the embedded store."

    def handle(self, **options: Any) -> None:
        with running_store(announcer(self, options["verbosity"])):
            super().handle(**options)
