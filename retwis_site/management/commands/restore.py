"""`manage.py restore`: the former name of `manage.py db restore`."""

from retwis_site.management.commands.db import Restore as Command  # noqa: F401
