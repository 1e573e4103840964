"""`manage.py cleanup`: the former name of `manage.py db cleanup`."""

from retwis_site.management.commands.db import Cleanup as Command  # noqa: F401
