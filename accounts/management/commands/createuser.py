"""`manage.py createuser`: the former name of `manage.py user create`."""

from accounts.management.commands.user import Create as Command  # noqa: F401
