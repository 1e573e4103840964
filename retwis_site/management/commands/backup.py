"""`manage.py backup`: the former name of `manage.py db backup`."""

from retwis_site.management.commands.db import Backup as Command  # noqa: F401
