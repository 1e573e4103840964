"""The command line: `manage.py` in a checkout, `retwis` where the package is installed."""

import os
import sys


def main() -> None:
    """Run the command in the arguments. A setting that is wrong is one line, as with every other error of a command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"CommandError: {error}")
