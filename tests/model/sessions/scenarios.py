"""Scenarios of sessions: two or three actions of one user at once, with a worker and up to two crashes."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.model.core import Database, Explorer, Process
from tests.model.sessions.protocol import AUTHS, MOST, OUTBOX, USER, SessionProtocol, ended_in, sessions_in

OFFICIAL = "official"


def database(*secrets: str) -> Database:
    """A user with a password, the official secret, and these sessions."""
    fields = {"password": "old", "auth": OFFICIAL, **{f"session:{secret}": "" for secret in secrets}}
    return {
        USER: ("h", tuple(sorted(fields.items()))),
        AUTHS: ("h", tuple(sorted(dict.fromkeys((OFFICIAL, *secrets), 1).items()))),
    }


@dataclass
class Scenario:
    """`changes`: the name of a method of `SessionProtocol` and what it is given."""

    name: str
    db: Database
    changes: tuple[tuple, ...]
    crashes: int = 2
    fails_by_design: bool = False

    def explorer(self, protocol: SessionProtocol) -> Explorer:
        named = list(zip("abcd", self.changes, strict=False))
        processes = [Process(name, lambda change=change: _start(protocol, *change)) for name, change in named]
        processes += [
            Process(f"worker of {name}", lambda nonce=change[-1]: protocol.worker(OFFICIAL, nonce), after=(name,))
            for name, change in named
            if change[0] in {"change", "end"}
        ]
        return Explorer(processes, self.db, self.crashes)

    def check(self, protocol: SessionProtocol) -> Callable[[Database, bool], list[str]]:
        return lambda db, died: _check(db, died, self.changes)


def _start(protocol: SessionProtocol, name: str, *arguments: str) -> object:
    return getattr(protocol, name)(*arguments)


def _check(db: Database, died: bool, changes: tuple[tuple, ...]) -> list[str]:
    fields = db.get(USER, ("h", ()))[1]
    held, entries = dict(fields), dict(db.get(AUTHS, ("h", ()))[1])
    opens = {secret for secret in sessions_in(fields) if secret in entries}
    errors = []
    if held.get("password") == "new" and opens & {"s", "t"}:
        errors.append("a session outlives the old password")
    if held.get("password") == "new" and opens & {change[2] for change in changes if change[:2] == ("log_in", "old")}:
        errors.append("the old password opens a session")
    if "deleted" in held and opens:
        errors.append("a deleted account has a session")
    if _was_ended(held, changes, died) & opens:
        errors.append("an ended session opens")
    if sessions_in(fields).keys() - entries.keys():
        errors.append("a session is listed that opens nothing")
    if not died:
        errors += _left(fields, entries, db)
    return errors


def _was_ended(held: dict, changes: tuple[tuple, ...], died: bool) -> set[str]:
    return set() if died else {change[1] for change in changes if change[0] == "end"}


def _left(fields: tuple, entries: dict, db: Database) -> list[str]:
    """What must not be left when no process has died. The hour of a late page may be: the next login removes it."""
    held = dict(fields)
    errors = []
    if len(sessions_in(fields)) > MOST:
        errors.append("too many sessions")
    if held.get("auth") and held["auth"] not in entries:
        errors.append("the official secret opens nothing")
    if any(f"session:{secret}" in held for secret in ended_in(fields)):
        errors.append("an ended session is left")
    if db.get(OUTBOX, ("z", ()))[1]:
        errors.append("a job is left")
    return errors


def scenarios() -> list[Scenario]:
    none, one, two = database(), database("s"), database("s", "t")
    log_in, log_in_too = ("log_in", "old", "l"), ("log_in", "old", "m")
    change, log_out, page = ("change", "new", "n"), ("end", "s", "o"), ("use", "s")
    return [
        Scenario("two logins", none, (log_in, log_in_too)),
        Scenario("two logins beside as many sessions as there may be", two, (log_in, log_in_too)),
        Scenario("logout || page", one, (log_out, page)),
        Scenario("logout || login that is one too many", two, (log_out, log_in)),
        Scenario("two logouts of one session", one, (log_out, ("end", "s", "p"))),
        Scenario("password change || login with the old password", one, (change, log_in)),
        Scenario("password change || logout || page", one, (change, log_out, page), crashes=1),
        Scenario("password change || two logins", one, (change, log_in, log_in_too), crashes=1),
        Scenario("two password changes", two, (change, ("change", "new", "p"))),
        Scenario("password change || logout with the official secret", one, (change, ("end", OFFICIAL, "o"))),
        Scenario("logout with the official secret || login", one, (("end", OFFICIAL, "o"), log_in)),
        Scenario("deletion of the account || login", one, (("delete",), log_in)),
        Scenario("deletion of the account || password change", one, (("delete",), change)),
    ]
