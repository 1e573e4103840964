"""`manage.py user alice`"""

from typing import Any

from django.core.management.base import CommandParser

from accounts.community.log import Act, Log
from accounts.community.records import Record
from accounts.management.people import record_of
from retwis_site.management.base import StoreCommand
from retwis_site.rendering.dates import iso
from retwis_site.store.client import Store


class Command(StoreCommand):
    help = "Print what staff may know of a user: no password, no session, nothing that the user keeps private."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def run(self, store: Store, **options: Any) -> None:
        record = record_of(store, options["username"])
        for what, value in _lines(record):
            self.say(f"{what}: {value}")
        for act in Log(store).about(record.user.uid).acts:
            self.say(_line_of(act))


def _lines(record: Record) -> list[tuple[str, object]]:
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
