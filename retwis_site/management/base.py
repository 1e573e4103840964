"""Base classes of the management commands: a store while a command runs, and a progress bar on a terminal."""

import gc
import signal
import sys
import threading
from abc import abstractmethod
from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from getpass import getpass
from math import inf
from time import monotonic
from types import FrameType
from typing import Any, ClassVar, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from retwis_site.exceptions import NotDone, StoreError, StoreRefused
from retwis_site.features import require_right_settings
from retwis_site.maintenance.checks import Check, KeyNames
from retwis_site.maintenance.examination import Census, Examination
from retwis_site.store import embedded
from retwis_site.store.chunks import AT_ONCE
from retwis_site.store.client import Store, connect
from retwis_site.store.connection import topology
from retwis_site.store.connection.transport import raise_when_packed
from retwis_site.store.embedded import EmbeddedServerError

T = TypeVar("T")
TOLD_EACH = 60.0  # seconds
# Characters that would command the terminal: all controls but line breaks and tabs.
_NOT_SHOWN = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {*b"\n\t"}, "\N{REPLACEMENT CHARACTER}")


@contextmanager
def running_store(announce: Callable[[str], object]) -> Iterator[Store]:
    """The store for the time of a command. Without REDIS_URL the embedded server runs during this time.

    `announce` gets a line that says which store it is, before anything is sent. Raises CommandError for a store
    failure and for what is NotDone: the command ends with one line that names the fix, and exit code 1.
    """
    try:
        require_right_settings()
        announce(f"Store: {topology.described()}")
        with _signals_exit(), nullcontext() if settings.REDIS_URL else embedded.running():
            yield connect()
    except (NotDone, StoreError, EmbeddedServerError, ImproperlyConfigured) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def announcer(command: BaseCommand, verbosity: int) -> Callable[[str], object]:
    """Prints lines of a command on stderr, since programs read its stdout; nothing with `--verbosity 0`."""
    return (lambda line: command.stderr.write(line, str)) if verbosity else (lambda line: None)


class WithStore(BaseCommand):
    """Before a command of Django's, among the bases of a command: it runs with a store."""

    def handle(self, *args: Any, **options: Any) -> None:
        with running_store(announcer(self, options["verbosity"])):
            super().handle(*args, **options)


class StoreCommand(BaseCommand):
    """A command that works on the store."""

    requires_system_checks: list[str] = []
    patience: ClassVar[float] = 5.0  # seconds that it waits for each reply, at least: no page waits for it
    _told_at = inf  # when it was last told what it works on

    def handle(self, *args: Any, **options: Any) -> None:
        # Commands make many replies at once and no cycles: the cycle collector took a third of the time of `doctor`.
        gc.set_threshold(50_000, 20, 100)
        settings.REDIS_TIMEOUT = max(settings.REDIS_TIMEOUT, self.patience)
        self.verbosity: int = options["verbosity"]
        self._told_at = monotonic()
        with running_store(announcer(self, self.verbosity)) as store:
            self.run(store, **options)

    @abstractmethod
    def run(self, store: Store, **options: Any) -> None:
        """Do the work of the command."""

    def say(self, text: str) -> None:
        """Print a line; nothing with `--verbosity 0`. It may have what a user has written."""
        if self.verbosity:
            self.stdout.write(text.translate(_NOT_SHOWN))

    def progress(self, label: str, steps: Iterable[T], number: Callable[[], int]) -> Iterator[T]:
        """Iterate over `steps`, with a progress bar if stderr is a terminal; else a line on stderr tells every minute
        what it works on. `number` estimates how many steps there are; only the bar asks for it."""
        if self.verbosity and sys.stderr.isatty():
            with _progress_bar() as bar:
                yield from bar.track(steps, total=_number_of(number), description=label)
            return
        tell = announcer(self, self.verbosity)
        for step in steps:
            yield step
            if monotonic() - self._told_at >= TOLD_EACH:
                self._told_at = monotonic()
                tell(f"Working on: {label}")

    def complete(self, label: str, steps: Iterable[object], number: Callable[[], int]) -> None:
        """Take all `steps`, with a progress bar as in `progress`."""
        for _ in self.progress(label, steps, number):
            pass

    def count(self, store: Store) -> Census:
        """Count what a site holds, with a progress bar."""
        census = Census(store)
        self.complete("counts", census, census.steps)
        return census

    def examine(self, store: Store, checks: Sequence[Check], *, repairs: bool) -> Iterator[Examination]:
        """Run checks, with a progress bar for each. `repairs`: whether each finding is repaired at once."""
        names = KeyNames(store)
        for check in checks:
            examination = Examination(check, names, repairs)
            self.complete(check.label, examination, examination.steps)
            yield examination


def in_chunks(size: Callable[[], int]) -> Callable[[], int]:
    """About as many steps as a thing of this size has chunks, such as a store with its keys."""
    return lambda: size() // AT_ONCE + 1


def _number_of(number: Callable[[], int]) -> int:
    """1 where the store refuses to say it: the steps will be refused too, and report it, or need no such right."""
    try:
        return max(number(), 1)
    except StoreRefused:
        return 1


def _progress_bar() -> Progress:
    """A bar on stderr, which disappears at the end. What the command prints goes its usual way."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    terminal = Console(file=sys.stderr)
    return Progress(*columns, console=terminal, transient=True, redirect_stdout=False, redirect_stderr=False)


@contextmanager
def _signals_exit() -> Iterator[None]:
    """Make SIGTERM raise SystemExit, so that the command stops its embedded server before it ends. Ctrl-C raises
    KeyboardInterrupt as ever: `shell` goes on with the next line. It does not end a command that ignores it, as one
    that a script starts with `&`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = [signal.SIGTERM, *([] if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else [signal.SIGINT])]
    before = {one: signal.signal(one, _end) for one in ending}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _end(number: int, frame: FrameType | None) -> None:
    raise_when_packed(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number), frame)


class _Options(BaseCommand):
    """The options of every command, without defaults: these would replace what stands before the verb."""

    requires_system_checks: list[str] = []

    def add_base_argument(self, parser: CommandParser, *args: Any, **kwargs: Any) -> None:
        super().add_base_argument(parser, *args, **{**kwargs, "default": SUPPRESS})


class NounCommand(BaseCommand):
    """A command with verbs: `user create alice`. Each verb is a command, with all options of one. The options of every
    command may also stand before the verb."""

    requires_system_checks: list[str] = []
    verbs: Mapping[str, type[StoreCommand]]

    def add_arguments(self, parser: CommandParser) -> None:
        of_every_command = _Options().create_parser(parser.prog, "")
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for name, verb in self.verbs.items():
            options = verbs.add_parser(
                name, parents=[of_every_command], add_help=False, help=verb.help, description=verb.help
            )
            verb().add_arguments(options)

    def handle(self, *args: Any, **options: Any) -> None:
        verb = self.verbs[options.pop("verb")]()
        verb.stdout, verb.stderr, verb.style = self.stdout, self.stderr, self.style
        verb.handle(*args, **options)


def number(lowest: int, highest: int = 999_999_999) -> Callable[[str], int]:
    """The type of an argument that is a whole number from `lowest` to `highest`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and lowest <= int(text) <= highest):
            raise ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")
        return int(text)

    return read


def add_source(parser: CommandParser, such: str) -> None:
    """The argument --from. `such`: which addresses it may name."""
    because = "since other users of the machine can read a password in an argument"
    says = f"{such}; `-`: read the addresses from standard input, {because}"
    parser.add_argument("--from", dest="source", required=True, metavar="URL[,URL...]", help=says)


def add_accept_loss(parser: CommandParser) -> None:
    """The argument --accept-loss, for commands that refuse while a server has lost its keys."""
    says = "also when a server behind the Twemproxy has lost its keys: what belonged to them is removed"
    parser.add_argument("--accept-loss", action="store_true", help=says)


def urls_of(source: str) -> list[str]:
    """The addresses that --from names, with commas between them, or that standard input has in its first line."""
    return topology.split(_first_line() if source == "-" else source)


def _first_line() -> str:
    """Of standard input, without the BOM with which some editors begin a file."""
    return sys.stdin.readline().removeprefix("\ufeff").rstrip("\r\n")


def read_password() -> str:
    """A password: from a prompt on a terminal, else the first line of standard input. Never an argument: other users of
    the machine can read arguments. Raises CommandError."""
    if not sys.stdin.isatty():
        password = _first_line()
    else:
        try:
            password, again = getpass("Password: "), getpass("Password again: ")
        except EOFError:  # Ctrl-D
            password = again = ""
        if again != password:
            raise CommandError("The two passwords differ. Nothing was changed.")
    if not password:
        raise CommandError("No password was given. Type one, or send it on standard input.")
    return password
