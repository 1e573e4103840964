"""`manage.py trace post demo "hello"`"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import NoSuchUser, NotSignedIn
from accounts.users.repository import Users
from retwis_site.exceptions import Gone, TooOften
from retwis_site.inspector.key_browser import ChangedKey, WatchedKeys
from retwis_site.jobs.worker import drain
from retwis_site.management.base import StoreCommand
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.connection.recorder import Recording, watching
from retwis_site.store.ids import nonce
from retwis_site.store.kinds import unprefixed
from retwis_site.telemetry.redaction import ShownCommand, shown_round_trips
from timeline.posts.composer import PostForm
from timeline.posts.feature import POSTS
from timeline.posts.repository import Posts
from timeline.relations.feature import FOLLOWS
from timeline.relations.relations import Follows, read_blocks
from timeline.timelines.home import Homes

NO_USER = (
    "There is no user {name!r}. `manage.py user create` makes one; `manage.py seed` makes many, and the user demo."
)
NOT_SHOWN = "\N{REPLACEMENT CHARACTER}"  # instead of characters that would command the terminal


class Command(StoreCommand):
    help = (
        "Do what a user does, and print each command that this sends to Redis, also by the worker, and the keys before "
        "and after: for a talk or a class. It really happens: the post is published, the user is followed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for action, what, help_ in (
            ("post", "text", "publish a post"),
            ("follow", "them", "follow a user"),
            ("home", None, "open the home timeline, twice: the second page finds what the process has cached"),
        ):
            one = actions.add_parser(action, help=help_)
            one.add_argument("username", help="the user who does it")
            if what is not None:
                one.add_argument(what)

    def run(self, store: Store, **options: Any) -> None:
        name = options["username"]
        uid, secret = _account(store, name)
        viewer = Viewer(store, secret)
        match options["action"]:
            case "post":
                text = options["text"]
                self._trace(store, uid, {f"{name} posts {text!r}": partial(_post, store, viewer, text)})
            case "follow":
                them = options["them"]
                self._trace(store, uid, {f"{name} follows {them}": partial(_follow, store, viewer, them)})
            case _:
                first, again = (partial(Homes(store).page, Viewer(store, secret), None) for _ in range(2))
                self._trace(store, uid, {f"{name} opens the home timeline": first, "The same again": again})

    def _trace(self, store: Store, uid: int, actions: dict[str, Callable[[], object]]) -> None:
        with WatchedKeys(store, uid) as watched:
            for title, act in actions.items():
                with watching() as watch:
                    _carry_out(act)
                self._say_all(lines_of(title, watch))
            with watching() as watch:
                drain(store, f"trace:{nonce()}")
            self._say_all(lines_of("A worker looks for jobs", watch))
        self._say_all(lines_of_changes(*watched.changes()))

    def _say_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say("".join(char if char.isprintable() else NOT_SHOWN for char in line))
        self.say("")


def _account(store: Store, name: str) -> tuple[int, str]:
    """The uid and the secret of a user. Raises CommandError."""
    uid = Users(store).find(name)
    if uid is None:
        raise CommandError(NO_USER.format(name=name))
    secret = store.hget(keys.user(uid), "auth")
    if not secret:
        raise CommandError(f"{name!r} cannot be logged in: the account is deleted. Name another user.")
    return uid, secret


def _carry_out(act: Callable[[], object]) -> None:
    try:
        act()
    except NoSuchUser as error:
        raise CommandError(NO_USER.format(name=str(error))) from error
    except Gone as error:
        raise CommandError(str(error.message)) from error
    except NotSignedIn as error:
        raise CommandError("This user cannot log in: the account is suspended. Name another one.") from error
    except TooOften as error:
        raise CommandError(f"{error.message} Wait, or forget the count with: manage.py user unthrottle NAME") from error


# ---- the actions: what the views do, with the same repositories


def _post(store: Store, viewer: Viewer, text: str) -> None:
    form = PostForm({"body": text, "token": nonce()})
    if not form.is_valid():
        raise CommandError(" ".join(str(error) for errors in form.errors.values() for error in errors))
    me = viewer.require_user()
    POSTS.count(store, me.uid)
    Posts(store).publish(me.uid, form.new_post, form.cleaned_data["token"])


def _follow(store: Store, viewer: Viewer, name: str) -> None:
    me = viewer.require_user()
    person, blocks = viewer.ask_about(name, read_blocks)
    if person.uid == me.uid:
        raise CommandError("Nobody can follow themselves. Name another user.")
    if blocks.mine or blocks.theirs:
        raise CommandError(f"One of {me.username!r} and {person.username!r} blocks the other. Name another user.")
    FOLLOWS.count(store, me.uid)
    Follows(store).follow(me.uid, person.uid)


# ---- What is printed: round trips with their commands, and keys before and after.


WIDEST = 72  # characters of a command, in its column
MOST_LINES = 8  # of what has changed in a key
# What a key of each type has.
UNITS = {
    "hash": ("field", "fields"),
    "zset": ("member", "members"),
    "list": ("entry", "entries"),
    "string": ("byte", "bytes"),
}
ALIKE = 3  # commands, or keys, that are alike and shown; the others are counted


def lines_of(title: str, watch: Recording) -> Iterator[str]:
    """A title with the numbers, and a line for each command: the number of its round trip, the command, its complexity
    and who asked for it."""
    recorded = shown_round_trips(watch)
    round_trips = _number(len(recorded), "round trip", "round trips")
    commands = _number(watch.number, "command", "commands")
    yield f"{title}: {round_trips}, {commands}"
    shown = [list(_shown(one.commands)) for one in recorded]
    widths = [min(WIDEST, max((len(row[place]) for rows in shown for row in rows), default=0)) for place in (0, 1)]
    for number, rows in enumerate(shown, start=1):
        for place, (command, complexity, asker) in enumerate(rows):
            begin = f"{number:>4}" if place == 0 else "    "
            yield f"{begin}  {_cut(command):{widths[0]}}  {complexity:{widths[1]}}  {asker}".rstrip()
    for name, left_out in watch.left_out.items():
        yield f"      … and {left_out} more {name}"


def lines_of_changes(changed: Sequence[ChangedKey], same: Sequence[str]) -> Iterator[str]:
    """A title, the keys that have changed with what is new in each, and the names of the others that were written: what
    is private or behind the first page of a key may have changed there."""
    yield "The keys before and after"
    for (_, type_, lines), some in groupby(sorted(changed, key=lambda one: (_kind(one), one.key)), key=_kind):
        alike = list(some)
        for change in alike[:ALIKE]:
            yield f"      {change.key}  {type_}, {_lengths(change)}"
        if len(alike) > ALIKE:
            yield f"      … and {len(alike) - ALIKE} more"
        yield from (f"        {line}" for line in lines[:MOST_LINES])
        if len(lines) > MOST_LINES:
            yield f"        … and {len(lines) - MOST_LINES} more"
    if same:
        yield f"      Nothing new is seen in: {', '.join(_families(same))}"
    elif not changed:
        yield "      No key was written."


def _shown(commands: Sequence[ShownCommand]) -> Iterator[tuple[str, str, str]]:
    """Of commands in a row that are alike only the first are shown."""
    for (name, _, asker), some in groupby(commands, key=lambda one: (one.name, _word(one.key), one.asker)):
        alike = list(some)
        yield from ((str(command), command.complexity, asker) for command in alike[:ALIKE])
        if len(alike) > ALIKE:
            yield f"… and {len(alike) - ALIKE} more {name}", "", ""


def _kind(change: ChangedKey) -> tuple[str, str, tuple[str, ...]]:
    return _word(change.key), change.type, tuple(change.lines)


def _word(key: str) -> str:
    """The first word of a key, such as `posts`."""
    return unprefixed(key).partition(":")[0]


def _families(names: Sequence[str]) -> Iterator[str]:
    """The names of keys, in order; of several of a kind the first, and how many more there are."""
    for _, some in groupby(sorted(set(names)), key=_word):
        first, *others = some
        yield f"{first} and {len(others)} more" if others else first


def _lengths(change: ChangedKey) -> str:
    one, several = UNITS[change.type]
    if change.after is None:
        return f"gone: it had {_number(change.before or 0, one, several)}"
    after = _number(change.after, one, several)
    hidden = "" if change.lines else " (not shown)"
    return f"new: {after}{hidden}" if change.before is None else f"{change.before} → {after}{hidden}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _number(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
