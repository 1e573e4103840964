"""`manage.py user create alice`, `manage.py user role alice moderator`: what operators do about one user.

Each verb is a command of its own too, under an older name: `createuser`, `changepassword`, `resetlink`, `role`,
`sanction`, `unthrottle`. `manage.py user alice` shows the user.
"""

import time
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.community.acts import PersonRecord, Roles
from accounts.community.log import Act, Log
from accounts.community.sanctions import MOST_DAYS, Sanctions
from accounts.management.people import address_of, checked_reason, new_password, record_of, uid_of
from accounts.recovery.codes import LIVES, ResetLinks
from accounts.signing_in.factors import ask_has_factor, remove_factors
from accounts.signing_in.forms import valid_username
from accounts.signing_in.passwords import login_subject
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.accounts import Registration
from accounts.users.entities import NameTaken, Role, State
from retwis_site.features import features
from retwis_site.http.client_ip import network_of
from retwis_site.management.base import NounCommand, StoreCommand, number
from retwis_site.rendering.dates import A_DAY, iso
from retwis_site.store.client import Store, answer


class UserCommand(StoreCommand):
    """A verb about one user, whom its first argument names."""

    username_help = ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help=self.username_help)


class ShowUser(UserCommand):
    help = (
        "Print what staff may know of a user: no password, no session, nothing that the user keeps private. "
        "--remove-second-factor removes the authenticator app and all passkeys first: for a user who has lost them, "
        "and still knows the password."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--remove-second-factor", action="store_true")

    def run(self, store: Store, **options: Any) -> None:
        record = record_of(store, options["username"])
        if options["remove_second_factor"]:
            has_factor = answer(store, ask_has_factor, record.user.uid)
            if has_factor:
                Log(store).write(Act(what="factors:removed", whom=record.user.uid))
                remove_factors(store, record.user.uid)
            self.say("The second factor is removed." if has_factor else "There is no second factor.")
        for what, value in _lines(record):
            self.say(f"{what}: {value}")
        for act in Log(store).about(record.user.uid):
            self.say(_line_of(act))


class Create(UserCommand):
    help = "Create a user. The password is read from a prompt, or as one line from standard input."
    username_help = "1 to 30 letters, digits and underscores"

    def run(self, store: Store, **options: Any) -> None:
        username: str = options["username"]
        try:
            valid_username(username)
        except ValidationError as error:
            raise CommandError(f"{username!r} cannot be a username: {' '.join(error.messages)}") from error
        password = new_password(username)
        try:
            user = Registration(store).register(username, make_password(password))
        except NameTaken as error:
            raise CommandError(f"The name {username!r} is taken. Upper and lower case count as the same.") from error
        self.say(f"User {username} created with the id {user.uid}.")


class SetPassword(UserCommand):
    help = (
        "Set a user's password, and log the user out on every device. "
        "The password is read from a prompt, or as one line from standard input."
    )

    def run(self, store: Store, **options: Any) -> None:
        username: str = options["username"]
        uid = uid_of(store, username)
        password = make_password(new_password(username))
        Log(store).write(Act(what="password", whom=uid))
        Sessions(store).change_password(uid, password)
        self.say(f"{username} has a new password and is logged out on every device.")


class ResetLink(UserCommand):
    help = (
        f"Print the address where a user can set a new password, once and within {LIVES // 3600} hours. "
        "Make sure that you hand it to that person: it opens the account."
    )

    def run(self, store: Store, **options: Any) -> None:
        username: str = options["username"]
        uid = uid_of(store, username)
        Log(store).write(Act(what="link", whom=uid))
        self.stdout.write(address_of("reset", ResetLinks(store).make(uid)))


class ChangeRole(UserCommand):
    help = "Make a user a moderator or an admin, or take the role away (member). The site keeps its last admin."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("role", choices=[role.value for role in Role])

    def run(self, store: Store, **options: Any) -> None:
        uid = uid_of(store, options["username"])
        Roles(store).give(uid, Role(options["role"]))
        self.say(f"{options['username']} is now: {options['role']}.")


class SanctionUser(UserCommand):
    help = (
        "Freeze, hide or suspend a user, or lift what is imposed (none). The user is told the reason. A suspension "
        "without --days becomes a deletion after 30 days."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("state", choices=[state.value or "none" for state in State])
        parser.add_argument("--reason", required=True, help="a sentence that the user sees")
        parser.add_argument("--days", type=number(1, MOST_DAYS), help="it ends by itself after so many days")

    def run(self, store: Store, **options: Any) -> None:
        username, reason, days = options["username"], checked_reason(options["reason"]), options["days"]
        uid = uid_of(store, username)
        if options["state"] == "none":
            Sanctions(store).lift(uid, reason=reason)
            self.say(f"Nothing is imposed on {username} any more.")
            return
        until = 0 if days is None else int(time.time()) + days * A_DAY
        Sanctions(store).impose(uid, State(options["state"]), reason, until)
        self.say(f"{username} is {options['state']}" + ("." if days is None else f" for {days} days."))


class Unthrottle(UserCommand):
    help = (
        "Forget all that the rate limits have counted of a user. With --address also of that address, and the wrong "
        "passwords and recovery codes for this user from there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--address", help="the user's IP address")

    def run(self, store: Store, **options: Any) -> None:
        username, address = options["username"], options["address"]
        uid = uid_of(store, username)
        subjects = [str(uid)]
        if address is not None:
            network = network_of(address)
            if not network:
                raise CommandError(f"{address!r} is no IP address.")
            subjects += [network, login_subject(username, network)]
        Log(store).write(Act(what="unthrottled", whom=uid))
        for limit in (limit for feature in features() for limit in feature.limits):
            for subject in subjects:
                limit.forget(store, subject)
        self.say(f"Nothing is counted of {username} any more.")


class Command(NounCommand):
    help = "Show, create or change a user. Without a verb: show."
    verbs = {
        "show": ShowUser,
        "create": Create,
        "password": SetPassword,
        "resetlink": ResetLink,
        "role": ChangeRole,
        "sanction": SanctionUser,
        "unthrottle": Unthrottle,
    }

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """`user alice` shows alice. A user may have the name of a verb: a verb is followed by a name."""
        parser = super().create_parser(prog_name, subcommand, **options)
        parse = parser.parse_args

        def parse_args(args: Sequence[str], namespace: Any = None) -> Any:
            _, words = BaseCommand().create_parser(prog_name, subcommand, add_help=False).parse_known_args(args)
            names = [word for word in words if not word.startswith("-")]
            shows = len(names) == 1 and (len(words) == 1 or names[0] not in self.verbs)
            return parse(["show", *args] if shows else args, namespace)

        parser.parse_args = parse_args  # type: ignore[assignment,method-assign]
        return parser


def _lines(record: PersonRecord) -> list[tuple[str, object]]:
    """What is known, without what is empty."""
    imposed = record.standing.imposed if record.standing else None
    appeal = record.standing.appeal if record.standing else None
    known: list[tuple[str, object]] = [
        ("username", record.user.username),
        ("id", record.user.uid),
        ("display name", record.user.name),
        ("about", record.bio),
        ("role", record.role.value),
        ("registered", iso(record.registered) if record.registered is not None else ""),
        ("deleted", iso(record.deleted) if record.deleted is not None else ""),
        ("posts", record.posts),
        ("followers", record.followers),
        ("following", record.following),
        ("sessions", record.sessions),
        ("invited by", "the operator" if record.invited_by == "" else record.invited_by or ""),
        ("state", imposed.state.value if imposed else ""),
        ("until", iso(imposed.until) if imposed and imposed.until else ""),
        ("reason", imposed.reason if imposed else ""),
        ("deleted for good on", iso(imposed.deleted_at) if imposed and imposed.deleted_at else ""),
        ("appeal", appeal.text if appeal else ""),
    ]
    return [(what, value) for what, value in known if value != ""]


def _line_of(act: Act) -> str:
    by = f"user {act.by}" if act.by else "the operator"
    until = f" until {iso(act.until)}" if act.until else ""
    return f"{iso(act.when)} {act.what}{until} by {by}: {act.reason}"
