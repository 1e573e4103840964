"""`manage.py resetlink`: the former name of `manage.py user resetlink`."""

from accounts.management.commands.user import ResetLink as Command  # noqa: F401
