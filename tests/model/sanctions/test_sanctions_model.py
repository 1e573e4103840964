"""Sanctions, appeals and their end hold in every interleaving of two moderators, the person and the time, with two
crashes: an act is in the log, an appeal waits until it is answered, and nobody is deleted in error."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.model.core import Database, Explorer, Process, Steps, alone, with_workers
from tests.model.sanctions.protocol import (
    APPEALS,
    CLOCK,
    LOG,
    OUTBOX,
    STAFF,
    USER,
    AnswerThenLift,
    BlindQueue,
    LookAtTheQueue,
    OneJob,
    SanctionProtocol,
    WithoutEvidence,
    fields_of,
)


def person(state="", ends="", appealed=False, late=False) -> Database:
    """A person on whom the act "x" has imposed a state."""
    fields = {"state": state, "ends": ends, "act": "x" if state else ""} | ({"appeal": "x"} if appealed else {})
    db: Database = {USER: ("h", tuple(sorted(fields.items())))}
    if appealed:
        db[APPEALS] = ("z", (("x", 1),))
    if state == "suspended" and not ends:
        db[OUTBOX] = ("z", (("removal:x", 0),))
    return db | ({CLOCK: ("h", (("now", 1),))} if late else {})


FREE, FROZEN, FROZEN_FOR_DAYS = person(), person("frozen"), person("frozen", ends="1")
APPEALED, SUSPENDED = person("frozen", appealed=True), person("suspended")
SUSPENDED_APPEALED = person("suspended", appealed=True)
LATE_APPEALED = person("suspended", appealed=True, late=True)
FREEZE, HIDE = ("impose", "frozen", "", "f"), ("impose", "hidden", "1", "h")
SUSPEND, LIFT, APPEAL, TIME = ("impose", "suspended", "", "s"), ("lift", "l"), ("appeal", "a"), ("time_passes",)
GRANT, REFUSE, ADMIN = ("decide", "granted", "g"), ("decide", "refused", "r"), ("make_admin",)

SCENARIOS = {
    "two moderators decide an appeal": (APPEALED, GRANT, REFUSE),
    "two moderators grant an appeal": (APPEALED, GRANT, ("decide", "granted", "r")),
    "two moderators impose": (FREE, FREEZE, HIDE),
    "one imposes, one lifts": (FROZEN, HIDE, LIFT),
    "two lift": (APPEALED, LIFT, ("lift", "k")),
    "one grants, one imposes anew": (APPEALED, GRANT, HIDE),
    "one refuses, one lifts": (APPEALED, REFUSE, LIFT),
    "appeal || lift": (FROZEN, APPEAL, LIFT),
    "appeal || another sanction": (FROZEN, APPEAL, SUSPEND),
    "the appeal is sent twice": (FROZEN, APPEAL, ("appeal", "b")),
    "appeal || a moderator refuses it at once": (FROZEN, APPEAL, REFUSE),
    "appeal || a moderator grants it at once": (FROZEN, APPEAL, GRANT),
    "appeal || the sanction ends by itself": (FROZEN_FOR_DAYS, APPEAL, TIME),
    "a sanction ends by itself || another one": (FROZEN_FOR_DAYS, SUSPEND, TIME),
    "a sanction || its target becomes an admin": (FREE, SUSPEND, ADMIN),
    "a suspension reaches 30 days || an appeal": (SUSPENDED, APPEAL, TIME),
    "a suspension reaches 30 days || its end": (SUSPENDED, LIFT, TIME),
    "a suspension reaches 30 days || another sanction": (SUSPENDED, FREEZE, TIME),
    "a suspension reaches 30 days || a granted appeal": (SUSPENDED_APPEALED, GRANT, TIME),
    "a suspension reaches 30 days || a refused appeal": (SUSPENDED_APPEALED, REFUSE, TIME),
    "after 30 days, two moderators decide an appeal": (LATE_APPEALED, GRANT, REFUSE),
    "after 30 days, one refuses an appeal, one lifts": (LATE_APPEALED, REFUSE, LIFT),
}
# Each has ended when the hour before a deletion is over; so has all that was decided about a refused appeal.
IN_TIME = {"lift", "impose", "appeal"}


def explored(protocol, db, *changes):
    named = {f"{change[0]} {number}": change for number, change in enumerate(changes)}
    processes = with_workers(
        {
            name: (partial(getattr(protocol, change[0]), *change[1:]), _work_of(protocol, change))
            for name, change in named.items()
        }
    )
    in_time = IN_TIME | ({"decide"} if any("refused" in change for change in changes) else set())
    waits_for = tuple(name for name, change in named.items() if change[0] in in_time)
    processes.append(Process("removal", partial(protocol.removal, "x"), after=waits_for, can_die=False))
    return Explorer(processes, db, crashes=2).explore(partial(_errors, protocol))


def _work_of(protocol, change: tuple) -> Callable[[], Steps]:
    if change == ADMIN:
        return protocol.make_admin  # a role has a job of its own
    jobs = {"appeal": f"appeal:x:{change[-1]}", "decide": protocol.answer_job("x", change[-1])}
    return partial(protocol.work, jobs.get(change[0], f"sanction:{change[-1]}"))


def _errors(protocol: SanctionProtocol, db: Database, died: bool) -> list[str]:
    """What is wrong once workers have tried every job."""
    for job, _ in db.get(OUTBOX, ("z", ()))[1]:
        if job == "removal:x" or not job.startswith("removal:"):  # a later suspension has not lasted 30 days
            db = alone(db, protocol.work(job))
    fields, log = fields_of(db[USER][1]), dict(db.get(LOG, ("z", ()))[1])
    waiting, jobs = dict(db.get(APPEALS, ("z", ()))[1]), dict(db.get(OUTBOX, ("z", ()))[1])
    if "deleted" in fields:
        return _errors_after_deletion(fields, log, waiting)
    act, answer = fields["act"], fields.get("answer:x", "")
    errors = []
    if act not in ("", "x") and act not in log:
        errors.append("a sanction is not in the log")
    if answer and answer.partition(":")[2] not in log:
        errors.append("a decision is not in the log")
    if log.keys() & {"g", "r"} - {answer.partition(":")[2]}:
        errors.append("the log has a decision that was none")
    if answer.startswith("granted") and act == "x":
        errors.append("a granted appeal has ended nothing")
    if dict(db.get(STAFF, ("h", ()))[1]) and fields["state"]:
        errors.append("an admin is sanctioned")
    if fields.get("appeal") == act == "x" and not answer and "x" not in waiting:
        errors.append("an appeal does not wait")
    if "x" in waiting and (answer or (act != "x" and not died)):  # `cleanup` removes what a dead process has left
        errors.append("an appeal waits in vain")
    if any(name.startswith("act:") for name in fields) or [job for job in jobs if not job.startswith("removal:")]:
        errors.append("a line or a job is left")
    if fields["state"] == "suspended" and f"removal:{act}" not in jobs:
        errors.append("nothing ends a suspension")
    return errors


def _errors_after_deletion(fields: dict, log: dict, waiting: dict) -> list[str]:
    """An answer that came after all fields were removed is left; `cleanup` removes it."""
    errors = []
    if log.keys() - {"r"}:
        errors.append("a person is deleted whom staff has set free")
    if [name for name in fields if name != "deleted" and not name.startswith("answer:")] or waiting:
        errors.append("something is left of a deleted account")
    return errors


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_protocol_of_sanctions_holds(name):
    result = explored(SanctionProtocol(), *SCENARIOS[name])
    assert result.complete
    assert result.ends
    assert result.errors == {}


@pytest.mark.parametrize(
    ("draft", "name"),
    [
        (LookAtTheQueue, "a suspension reaches 30 days || a granted appeal"),
        (WithoutEvidence, "two moderators impose"),
        (OneJob, "two moderators decide an appeal"),
        (AnswerThenLift, "two moderators decide an appeal"),
        (BlindQueue, "appeal || a moderator refuses it at once"),
    ],
)
def test_an_early_draft_of_sanctions_fails(draft, name):
    assert explored(draft(), *SCENARIOS[name]).errors


def test_a_suspension_of_30_days_ends_in_a_deletion_unless_an_appeal_waits():
    for db, is_deleted in ((person("suspended", late=True), True), (LATE_APPEALED, False), (SUSPENDED, False)):
        db = alone(db, SanctionProtocol().work("removal:x"))
        assert ("deleted" in dict(db[USER][1])) == is_deleted
