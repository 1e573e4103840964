"""What the site's management commands share: a store while they run, and a progress bar on a terminal."""

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
BAR = 30  # characters


class SizedIterable(Sized, Iterable[T_co], Protocol[T_co]):
    """Something to go through whose length is known."""


@contextmanager
def a_store() -> Iterator[Store]:
    """The store while a command lasts; without REDIS_URL the embedded server runs at least as long.

    A failure of the store ends the command with one line that names the fix, and exit code 1.
    """
    try:
        with _sigterm_unwinds(), nullcontext() if settings.REDIS_URL else embedded.running():
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
        with a_store() as store:
            self.run(store, **options)

    @abstractmethod
    def run(self, store: Store, **options: Any) -> None:
        """The command's work."""

    def say(self, text: str) -> None:
        """A line for people; silent with `--verbosity 0`."""
        if self.verbosity:
            self.stdout.write(text)

    def progress(self, label: str, steps: "SizedIterable[T_co]") -> Iterator[T_co]:
        """Go through `steps`, with a bar while somebody watches on a terminal. Their length may be an estimate."""
        total = max(len(steps), 1)
        shown = self.verbosity > 0 and sys.stderr.isatty()
        for number, step in enumerate(steps, 1):
            yield step
            if shown:
                filled = BAR * min(number, total) // total
                bar = "#" * filled + "." * (BAR - filled)
                self.stderr.write(f"\r{label} [{bar}] {100 * filled // BAR:3} %", ending="")
        if shown:
            self.stderr.write("\r\x1b[K", ending="")


@contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    """Let SIGTERM end a command like Ctrl-C does, so that the embedded server is not left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class PasswordCommand(StoreCommand):
    """A command that takes a password: asked for on a terminal, else the first line of standard input, never an
    argument, which other users of the machine could read."""

    def read_password(self) -> str:
        if not sys.stdin.isatty():
            password = sys.stdin.readline().rstrip("\r\n")
        else:
            password = getpass("Password: ")
            if getpass("Password again: ") != password:
                raise CommandError("The two passwords differ. Nothing was changed.")
        if not password:
            raise CommandError("A password is needed: type one, or give it on standard input.")
        return password


def complaint(error: ValidationError) -> CommandError:
    """A form's complaint as a command's."""
    return CommandError(" ".join(error.messages))
