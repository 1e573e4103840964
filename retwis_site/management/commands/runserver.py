"""`manage.py runserver`: Django's development server, with a store."""

from typing import Any

from django.contrib.staticfiles.management.commands.runserver import Command as Runserver

from retwis_site.management.base import announcer, running_store


class Command(Runserver):
    help = f"{Runserver.help} Without REDIS_URL it runs the embedded store."

    def handle(self, *args: Any, **options: Any) -> None:
        with running_store(announcer(self, options["verbosity"])):
            super().handle(*args, **options)
