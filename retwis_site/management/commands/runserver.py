"""`manage.py runserver`: Django's development server, with a store."""

from django.contrib.staticfiles.management.commands.runserver import Command as Runserver

from retwis_site.management.base import WithStore


class Command(WithStore, Runserver):
    help = f"{Runserver.help} Without REDIS_URL it runs the embedded store."
