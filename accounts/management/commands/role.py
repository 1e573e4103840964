"""`manage.py role`: the former name of `manage.py user role`."""

from accounts.management.commands.user import ChangeRole as Command  # noqa: F401
