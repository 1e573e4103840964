"""Checks of joining: answers that nothing carries out, uses of invitations without an account; and what is over."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from accounts.community.joining.answers import Answers
from accounts.community.log import read_act
from accounts.joining.applications import ANSWER, Application, read_application, stored_application
from accounts.joining.invitations import OPERATOR, Invitations, read
from accounts.users.checks.account_checks import AccountChecks
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance.checks import AT_ONCE, Check, check_of, entries, keep
from retwis_site.maintenance.lines import NAME, NUMBER, PASSWORD, TEXT, lines_of, uids_in_order
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import SETS_AT_ONCE, Writes, batches
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id, parse_number

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


def _read_invitations(store: Store) -> Iterator[Line]:
    """A line for each open invitation: those of the operator, then by the id of the user. Its uses have a key of their
    own. Two round trips for each AT_ONCE users."""
    for uids in ([OPERATOR], *uids_in_order(store)):
        for one in Invitations(store).open(uids):
            yield {"code": one.code, "by": one.by, "uses": one.left}


def _write_invitations(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.hset(keys.invites(line["by"]), {line["code"]: str(line["uses"])})


def _read_applications(store: Store) -> Iterator[Line]:
    """A line for each application, which is JSON, by name. One round trip."""
    found = (read_application(text) for _, text in sorted(store.hgetall(keys.applications()).items()))
    yield from (asdict(one) for one in found if one is not None)


def _write_applications(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        asked = Application(**{field: line[field] for field in APPLICATION})
        writes.hset(keys.applications(), {asked.username.lower(): stored_application(asked)})


INVITATION = {"code": NAME, "by": NUMBER, "uses": NUMBER}
JOINING = (
    lines_of(keys.user.fields["invited_by"]),
    SiteLines("invitation", lambda line: INVITATION, _read_invitations, _write_invitations),
    SiteLines("application", lambda line: APPLICATION, _read_applications, _write_applications),
    lines_of(keys.blocked_names),
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
