"""`manage.py sanction`: the former name of `manage.py user sanction`."""

from accounts.management.commands.user import SanctionUser as Command  # noqa: F401
