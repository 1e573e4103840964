"""`manage.py sanction`: the former name of `manage.py user sanction`."""

from accounts.management.commands.user import Sanction as Command  # noqa: F401
