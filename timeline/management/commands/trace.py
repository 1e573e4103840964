"""`manage.py trace post demo "hello"`"""

from collections.abc import Callable, Iterable
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import NoSuchUser, NotSignedIn
from accounts.users.repository import Users
from retwis_site.exceptions import Gone, TooOften
from retwis_site.inspector.key_changes import watched_keys
from retwis_site.jobs.worker import drain
from retwis_site.management.base import StoreCommand
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.connection.recorder import watching
from retwis_site.store.ids import nonce
from retwis_site.store.rate_limits import RateLimits
from timeline.management.tracing import lines_of, lines_of_changes
from timeline.posts.feature import POSTS
from timeline.posts.forms import PostForm
from timeline.posts.repository import Posts
from timeline.relations.feature import FOLLOWS
from timeline.relations.relations import Follows, read_blocks
from timeline.timelines.home import Homes

NO_USER = "There is no user {name!r}. `manage.py createuser` makes one; `manage.py seed` makes many, and the user demo."
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
                self._trace(store, uid, {f"{name} posts {options['text']!r}": _post(store, viewer, options["text"])})
            case "follow":
                them = options["them"]
                self._trace(store, uid, {f"{name} follows {them}": _follow(store, viewer, them)})
            case _:
                first, again = (_home(store, Viewer(store, secret)) for _ in range(2))
                self._trace(store, uid, {f"{name} opens the home timeline": first, "The same again": again})

    def _trace(self, store: Store, uid: int, actions: dict[str, Callable[[], object]]) -> None:
        with watched_keys(store, uid) as watched:
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
        raise CommandError(f"{error.message} Wait, or forget the count with: manage.py unthrottle NAME") from error


# ---- the actions: what the views do, with the same repositories


def _post(store: Store, viewer: Viewer, text: str) -> Callable[[], object]:
    form = PostForm({"body": text, "token": nonce()})
    if not form.is_valid():
        raise CommandError(" ".join(str(error) for errors in form.errors.values() for error in errors))

    def act() -> None:
        me = viewer.require_user()
        RateLimits(store).count(POSTS, str(me.uid))
        Posts(store).publish(me.uid, form.new_post, form.cleaned_data["token"])

    return act


def _follow(store: Store, viewer: Viewer, name: str) -> Callable[[], object]:
    def act() -> None:
        me = viewer.require_user()
        person, blocks = viewer.ask_about(name, read_blocks)
        if person.uid == me.uid:
            raise CommandError("Nobody can follow themselves. Name another user.")
        if blocks.mine or blocks.theirs:
            raise CommandError(f"One of {me.username!r} and {person.username!r} blocks the other. Name another user.")
        RateLimits(store).count(FOLLOWS, str(me.uid))
        Follows(store).follow(me.uid, person.uid)

    return act


def _home(store: Store, viewer: Viewer) -> Callable[[], object]:
    return lambda: Homes(store).page(viewer, None)
