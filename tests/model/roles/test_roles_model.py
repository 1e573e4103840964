"""The site keeps an admin, and each role follows `staff`, in every interleaving of changes with two crashes."""

from functools import partial

import pytest

from tests.model.core import Database, Explorer, with_workers
from tests.model.roles.protocol import LOG, OUTBOX, STAFF, OneLook, RoleProtocol, WithoutMarks, admins_in

BEGIN = {"1": "admin", "2": "admin", "3": "moderator"}
SCENARIOS = {
    "two admins demote each other": (("1", "member", "a"), ("2", "member", "b")),
    "both become moderators": (("1", "moderator", "a"), ("2", "moderator", "b")),
    "one goes while another one comes": (("1", "member", "a"), ("3", "admin", "b")),
    "two changes of one person": (("3", "admin", "a"), ("3", "member", "b")),
    "an admin goes twice": (("1", "member", "a"), ("1", "moderator", "b")),
}


def begin() -> Database:
    db: Database = {STAFF: ("h", tuple(sorted(BEGIN.items())))}
    return db | {f"user:{uid}": ("h", (("role", role),)) for uid, role in BEGIN.items()}


def explored(protocol, changes):
    named = {
        nonce: (partial(protocol.give, uid, role, nonce), partial(protocol.worker, uid, nonce))
        for uid, role, nonce in changes
    }
    return Explorer(with_workers(named), begin(), crashes=2).explore(_errors)


def _errors(db: Database, died: bool) -> list[str]:
    stored = db[STAFF][1]
    roles = {uid: role for uid, role in stored if uid in BEGIN}
    errors = []
    if not admins_in(stored):
        errors.append("no admin is left")
    if any(dict(db[f"user:{uid}"][1])["role"] != role for uid, role in roles.items()):
        errors.append("a user's hash has another role")
    if len(stored) > len(BEGIN) or OUTBOX in db:
        errors.append("a mark, a line or a job is left")
    if sum(BEGIN[uid] != role for uid, role in roles.items()) > len(db.get(LOG, ("z", ()))[1]):
        errors.append("a change is not in the log")
    return errors


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_protocol_of_roles_holds(name):
    result = explored(RoleProtocol(), SCENARIOS[name])
    assert result.complete
    assert result.ends
    assert result.errors == {}


@pytest.mark.parametrize(
    ("draft", "name"),
    [(WithoutMarks, "two admins demote each other"), (OneLook, "two changes of one person")],
)
def test_an_early_draft_of_roles_fails(draft, name):
    assert explored(draft(), SCENARIOS[name]).errors
