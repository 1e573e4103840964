"""`manage.py unthrottle`: the former name of `manage.py user unthrottle`."""

from accounts.management.commands.user import Unthrottle as Command  # noqa: F401
