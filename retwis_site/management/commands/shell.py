"""`manage.py shell`: Django's shell, with a store."""

from django.core.management.commands.shell import Command as Shell

from retwis_site.management.base import WithStore


class Command(WithStore, Shell):
    help = f"{Shell.help} Without REDIS_URL it runs the embedded store."
