"""The command line: `manage.py` in a checkout, `retwis` where the package is installed."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
