"""`manage.py upgrade`: the former name of `manage.py db upgrade`."""

from retwis_site.management.commands.db import Upgrade as Command  # noqa: F401
