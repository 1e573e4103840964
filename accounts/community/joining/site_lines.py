"""The lines about joining in the file of a whole site."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from accounts.community.lines import NUMBER
from accounts.joining.applications import Application, read_application, stored_application
from accounts.joining.invitations import OPERATOR, Invitations
from accounts.users.site_lines import uids_in_order
from retwis_site.features import Line, SiteLines
from retwis_site.maintenance.line_fields import ID, NAME, PASSWORD, TEXT, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number, stored_time

APPLICATION = {
    "username": NAME,
    "password": PASSWORD,
    "why": TEXT,
    "at": NUMBER,
    "refused": NUMBER,
    "reason": TEXT,
}


def read_invited(store: Store) -> Iterator[list[Line]]:
    """A line for each user who was invited, by id. One round trip a chunk."""
    for uids in uids_in_order(store):
        pipe = store.pipeline()
        asked = {uid: pipe.hget(keys.user(uid), "invited_by") for uid in uids}
        pipe.execute()
        found = {uid: parse_number(by.value or "") for uid, by in asked.items()}
        yield [{"type": "invited", "user": uid, "by": by} for uid, by in found.items() if by is not None]


def write_invited(store: Store, lines: Sequence[Line]) -> None:
    pipe = store.pipeline()
    for line in lines:
        pipe.hset(keys.user(line["user"]), {"invited_by": str(line["by"])})
    pipe.execute()


def read_invitations(store: Store) -> Iterator[list[Line]]:
    """A line for each open invitation: those of the operator, then by the id of the user. Two round trips a chunk."""
    for uids in ([OPERATOR], *uids_in_order(store)):
        found = Invitations(store).open(uids)
        yield [{"type": "invitation", "code": one.code, "by": one.by, "uses": one.left} for one in found]


def write_invitations(store: Store, lines: Sequence[Line]) -> None:
    pipe = store.pipeline()
    for line in lines:
        pipe.hset(keys.invites(line["by"]), {line["code"]: str(line["uses"])})
    pipe.execute()


def read_applications(store: Store) -> Iterator[list[Line]]:
    """A line for each application, by name. One round trip."""
    stored = store.hgetall(keys.applications())
    found = [read_application(stored[name]) for name in sorted(stored)]
    yield [{"type": "application", **asdict(one)} for one in found if one is not None]


def write_applications(store: Store, lines: Sequence[Line]) -> None:
    pipe = store.pipeline()
    for line in lines:
        asked = Application(**{field: line[field] for field in APPLICATION})
        pipe.hset(keys.applications(), {asked.username.lower(): stored_application(asked)})
    pipe.execute()


def read_blocked_names(store: Store) -> Iterator[list[Line]]:
    """A line for each word that names must not have, in their order. One round trip."""
    key = keys.blocked_names()
    stored = sorted(store.hgetall(key).items())
    yield [{"type": "blocked_name", "word": word, "since": iso(stored_time(key, since))} for word, since in stored]


def write_blocked_names(store: Store, lines: Sequence[Line]) -> None:
    pipe = store.pipeline()
    for line in lines:
        pipe.hset(keys.blocked_names(), {line["word"]: str(seconds(line, "since"))})
    pipe.execute()


JOINING = (
    SiteLines(
        type="invited",
        fields=lambda line: {"user": ID, "by": NUMBER},
        read=read_invited,
        write=write_invited,
        users=("user",),
    ),
    SiteLines(
        type="invitation",
        fields=lambda line: {"code": NAME, "by": NUMBER, "uses": NUMBER},
        read=read_invitations,
        write=write_invitations,
    ),
    SiteLines(
        type="application",
        fields=lambda line: APPLICATION,
        read=read_applications,
        write=write_applications,
    ),
    SiteLines(
        type="blocked_name",
        fields=lambda line: {"word": NAME, "since": TIME},
        read=read_blocked_names,
        write=write_blocked_names,
    ),
)
