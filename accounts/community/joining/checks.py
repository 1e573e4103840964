"""Checks of joining: answers that nothing carries out, uses of invitations without an account; and what is over."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from accounts.community.joining.answers import Answers
from accounts.community.lines import NUMBER
from accounts.community.log import read_act
from accounts.joining.applications import ANSWER, Application, read_application, stored_application
from accounts.joining.invitations import OPERATOR, Invitations, read
from accounts.users.checks.account_checks import AccountChecks
from accounts.users.site_lines import uids_in_order
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance.checks import AT_ONCE, Check, check_of, entries, keep
from retwis_site.maintenance.filling import ID, NAME, PASSWORD, TEXT, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import SETS_AT_ONCE, batches
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id, parse_number, stored_time

# ---- The lines of the personal download about invitations.


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """Who has invited the user (0: the operator), and the open invitations by the user. Three round trips."""
    by = parse_number(store.hget(keys.user(owner.uid), "invited_by") or "")
    lines: list[Line] = [] if by is None else [{"type": "invited", "by": by}]
    yield lines + [
        {"type": "invitation", "code": one.code, "ends": iso(one.ends), "uses": one.left}
        for one in Invitations(store).open([owner.uid])
    ]


# ---- The lines about joining in the file of a whole site.


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


# ---- Checks


Field = tuple[str, str]  # of a hash, with its value
Use = tuple[str, str, float]  # the key `uses:<digest>`, a uid in it, and when
Invitation = tuple[str, str, str]  # the key, a code in it, and how many people it lets in


class JoiningChecks:
    """The checks of applications and invitations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        check = partial(check_of, self._store)
        return [
            check(
                "applications that cannot be read",
                keys.applications,
                _unreadable,
                "the application for {0!r}",
                self._move_away,
            ),
            check(
                "answers to applications that nothing carries out",
                keys.applications,
                self._answers,
                "applications has {0!r}",
                self._finish,
                jobs=lambda field, _: {f"application:{field.removeprefix(ANSWER)}"},
            ),
            check(  # the repair lets somebody else use it
                "uses of invitations without an account",
                keys.uses,
                self._unused,
                "a use by user {1}, who never registered",
                read=entries,
            ),
        ]

    def orphans(self) -> list[Check]:
        check = partial(check_of, self._store)
        return [
            check("refusals that are over", keys.applications, _refusals_over, "the refusal of {0!r}"),
            check(
                "invitations that have ended",
                keys.invites,
                _ended,
                "an invitation in {0}",
                lambda key, code, _: self._store.hdel(key, code),
                read=_invitations,
            ),
        ]

    # ---- applications

    def _move_away(self, name: str, text: str) -> None:
        """What is no application keeps a name from everyone. It is kept under `damaged:`."""
        keep(self._store, keys.applications(), name.encode(), text.encode())
        self._store.hdel(keys.applications(), name)

    def _answers(self, stored: Sequence[Field]) -> list[Field]:
        """The answers among fields of `applications` that are still there."""
        pipe = self._store.pipeline()
        asked = [(one, pipe.hget(keys.applications(), one[0])) for one in stored if one[0].startswith(ANSWER)]
        pipe.execute()
        return [one for one, line in asked if line.value == one[1]]

    def _finish(self, field: str, line: str) -> None:
        """Carry an answer out as its job would; remove what is no answer."""
        act = read_act(keys.applications(), line)
        _, name, at = field.split(":") if field.count(":") == 2 else ("", "", "")
        if act is not None and at.isdecimal():
            Answers(self._store).finish(f"application:{name}:{at}:{act.id}", name, int(at), act.id)
        self._store.hdel(keys.applications(), field)

    # ---- invitations

    def _unused(self, uses: Sequence[Use]) -> list[Use]:
        """Those of the uses by uids that no user has, which are still there. Three round trips."""
        accounts = AccountChecks(self._store)
        nameless = set(accounts.without_name([parse_id(uid) or 0 for _, uid, _ in uses]))
        pipe = self._store.pipeline()
        asked = [(use, pipe.zscore(*use[:2])) for use in uses if parse_id(use[1]) in nameless]
        pipe.execute()
        return [use for use, when in asked if when.value is not None]


def _unreadable(stored: Sequence[Field]) -> list[Field]:
    return [one for one in stored if not one[0].startswith(ANSWER) and read_application(one[1]) is None]


def _refusals_over(stored: Sequence[Field]) -> list[Field]:
    """Refusals that the applicant had time enough to read."""
    asked = [(one, read_application(one[1])) for one in stored if not one[0].startswith(ANSWER)]
    return [one for one, application in asked if application is not None and application.is_over]


def _invitations(store: Store, names: list[str]) -> Iterator[list[Invitation]]:
    for some in batches(names, SETS_AT_ONCE):
        pipe = store.pipeline()
        asked = [(key, pipe.hgetall(key)) for key in some]
        pipe.execute()
        yield from batches(((key, *one) for key, stored in asked for one in stored.value.items()), AT_ONCE)


def _ended(invitations: Sequence[Invitation]) -> list[Invitation]:
    """Invitations that have ended, and fields that are no invitations. A used one stays until its end."""
    asked = [(one, read(*one[1:])) for one in invitations]
    return [one for one, open_ in asked if open_ is None or not open_.is_open]  # as if nobody had used it
