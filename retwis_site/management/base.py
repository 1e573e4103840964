"""Base classes of the management commands: a store while a command runs, and a progress bar on a terminal."""

import signal
import sys
import threading
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, nullcontext
from getpass import getpass
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management.base import BaseCommand, CommandError

from retwis_site.exceptions import StoreError
from retwis_site.store import embedded
from retwis_site.store.client import Store, connect
from retwis_site.store.embedded import EmbeddedServerError

T_co = TypeVar("T_co", covariant=True)
BAR_WIDTH = 30  # characters


class SizedIterable(Sized, Iterable[T_co], Protocol[T_co]):
    """An iterable with a length."""


@contextmanager
def running_store() -> Iterator[Store]:
    """The store for the time of a command. Without REDIS_URL the embedded server runs during this time.

    Raises CommandError for a store failure: the command ends with one line that names the fix, and exit code 1.
    """
    try:
        with _sigterm_exits(), nullcontext() if settings.REDIS_URL else embedded.running():
            yield connect()
    except (StoreError, EmbeddedServerError, ImproperlyConfigured) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


class StoreCommand(BaseCommand):
    """A command that works on the store."""

    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.verbosity: int = options["verbosity"]
        with running_store() as store:
            self.run(store, **options)

    @abstractmethod
    def run(self, store: Store, **options: Any) -> None:
        """Do the work of the command."""

    def say(self, text: str) -> None:
        """Print a line; nothing with `--verbosity 0`."""
        if self.verbosity:
            self.stdout.write(text)

    def progress(self, label: str, steps: "SizedIterable[T_co]") -> Iterator[T_co]:
        """Iterate over `steps`, with a progress bar if stderr is a terminal. `len(steps)` may be an estimate."""
        total = max(len(steps), 1)
        shown = self.verbosity > 0 and sys.stderr.isatty()
        for number, step in enumerate(steps, 1):
            yield step
            if shown:
                filled = BAR_WIDTH * min(number, total) // total
                bar = "#" * filled + "." * (BAR_WIDTH - filled)
                self.stderr.write(f"\r{label} [{bar}] {100 * filled // BAR_WIDTH:3} %", ending="")
        if shown:
            self.stderr.write("\r\x1b[K", ending="")


@contextmanager
def _sigterm_exits() -> Iterator[None]:
    """Make SIGTERM raise SystemExit, so that the command stops its embedded server before it ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class PasswordCommand(StoreCommand):
    """A command that reads a password: a prompt on a terminal, else the first line of standard input. Never an
    argument: other users of the machine can read arguments."""

    def read_password(self) -> str:
        if not sys.stdin.isatty():
            password = sys.stdin.readline().rstrip("\r\n")
        else:
            password = getpass("Password: ")
            if getpass("Password again: ") != password:
                raise CommandError("The two passwords differ. Nothing was changed.")
        if not password:
            raise CommandError("No password was given. Type one, or send it on standard input.")
        return password


def validation_failed(error: ValidationError) -> CommandError:
    """The messages of a form's validation error, as the error of a command."""
    return CommandError(" ".join(error.messages))
