"""`manage.py shell`: Django's, with a store."""

from typing import Any

from django.core.management.commands.shell import Command as Shell

from retwis_site.management.base import a_store


class Command(Shell):
    help = f"{Shell.help} Without REDIS_URL the embedded store runs as long."

    def handle(self, **options: Any) -> None:
        with a_store():
            super().handle(**options)
