"""The command line: `manage.py` in a checkout, `retwis` where the package is installed."""

import os
import signal
import sys


def main() -> None:
    """Run the command in the arguments. A setting that is wrong is one line, as with every other error of a command; a
    reader of its output that has enough, such as `head`, ends it without a word."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        try:
            execute_from_command_line(sys.argv)
        finally:
            sys.stdout.flush()
    except ImproperlyConfigured as error:
        sys.exit(f"CommandError: {error}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written when Python ends
        sys.exit(128 + signal.SIGPIPE)
