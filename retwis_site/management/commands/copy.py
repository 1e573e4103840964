"""`manage.py copy`: the former name of `manage.py db copy`."""

from retwis_site.management.commands.db import CopySite as Command  # noqa: F401
