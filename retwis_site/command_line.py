"""The command line: `manage.py` in a checkout, `retwis` where the package is installed."""

import errno
import os
import platform
import signal
import sys
from collections.abc import Iterator


def main() -> None:
    """Run the command in the arguments. A setting that is wrong and a full disk are one line, as with every other error
    of a command; a reader of its output that has enough, such as `head`, ends it without a word."""
    _open_standard_streams()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    if sys.argv[1:] in (["--version"], ["version"]):
        sys.stdout.writelines(f"{line}\n" for line in _versions())
        return
    try:
        try:
            execute_from_command_line(sys.argv)
        finally:
            sys.stdout.flush()
    except ImproperlyConfigured as error:
        sys.exit(f"CommandError: {error}")
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written when Python ends
        full = f"CommandError: {error.strerror}. Free some of the disk of the output, of VAR_DIR and of TMPDIR."
        sys.exit(full if error.errno == errno.ENOSPC else 128 + signal.SIGPIPE)


def _open_standard_streams() -> None:
    """Lead standard input, output or errors nowhere where the process began without them (`>&-`). Python has None for
    a closed stream, and the next file or socket gets its number, and with it what a server or a decoder prints."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)  # `dup2` leaves it as it is where `open` got this number
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


def _versions() -> Iterator[str]:
    """The versions of the site, Django, Python and the store's servers, a line each. Settings that are wrong and a store
    that does not answer are told in the store's line. One round trip a server."""  # noqa: E501
    import django

    from retwis_site import version

    yield f"Retwis {version.of_site()}"
    yield f"Django {django.get_version()}"
    yield f"Python {platform.python_version()}"
    yield f"Store: {_store()}"


def _store() -> str:
    """Names and versions of the servers, and where they are. No embedded server is started."""
    import django
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    from retwis_site.exceptions import StoreError
    from retwis_site.store import embedded

    try:
        django.setup()
        from retwis_site.maintenance.backups import programs
        from retwis_site.store.client import connect
        from retwis_site.store.connection import topology

        where = topology.described()
        if settings.REDIS_URL or embedded.answers():
            return f"{', '.join(programs(connect())) or 'its user may not send INFO'}; {where}"
        return f"{embedded.version_text(embedded.find_binary())}; {where}; it does not run"
    except (StoreError, embedded.EmbeddedServerError, ImproperlyConfigured) as error:
        return str(error)
