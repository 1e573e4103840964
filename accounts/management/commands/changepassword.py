"""`manage.py changepassword`: the former name of `manage.py user password`."""

from accounts.management.commands.user import SetPassword as Command  # noqa: F401
