"""The lines about roles, sanctions and the log, in the personal download and in the file of a whole site."""

import time
from collections.abc import Iterator, Sequence

from accounts.community.log import FIRST_YEAR, Act, queue_act, read_act, year_of
from accounts.community.roles import staff_in
from accounts.community.sanctions import STORED, Appeal, Imposed, answer_of, imposed, queue_deletion, read_appeal
from accounts.users.entities import Role, State
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.lines import (
    ID,
    NUMBER,
    OPTIONAL_TEXT,
    OPTIONAL_TIME,
    TEXT,
    TIME,
    TIME_OR_NULL,
    fields_of_users,
    seconds,
)
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import Writes, newest_first
from retwis_site.store.client import Store

ROLE = LineField("moderator or admin", lambda value: value in (Role.MODERATOR, Role.ADMIN))
STATE = LineField("frozen, hidden or suspended", lambda value: bool(value) and value in list(State))
SANCTION = {
    "user": ID,
    "state": STATE,
    "until": TIME_OR_NULL,
    "reason": TEXT,
    "since": TIME,
    "act": TEXT,
    "appeal": OPTIONAL_TEXT,
    "appealed": OPTIONAL_TIME,
    "answer": OPTIONAL_TEXT,
}
ACT = dict.fromkeys(("id", "what", "reason"), TEXT) | dict.fromkeys(("by", "whom", "post", "until", "at"), NUMBER)


# ---- the personal download


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """What staff has done about the owner, newest first, without who did it; then the owner's last appeal. One round
    trip a chunk, and one more."""
    for rows in newest_first(store, keys.acts(owner.uid)):
        acts = [act for line, _ in rows if (act := read_act(keys.acts(owner.uid), line)) is not None]
        yield [
            {
                "type": "act_of_staff",
                "what": act.what,
                "post": act.post or None,
                "reason": act.reason,
                "until": iso(act.until) if act.until else None,
                "time": iso(act.when),
            }
            for act in acts
        ]
    appeal = read_appeal(owner.uid, store.hget(keys.user(owner.uid), "appeal"))
    if appeal is not None:
        yield [{"type": "appeal", "text": appeal.text, "time": iso(appeal.at)}]


# ---- the file of a whole site
#
# A role stands in two keys, a sanction is made of many fields and an appeal, and an act is JSON: code reads them.


def _read_staff(store: Store) -> Iterator[Line]:
    """A line for each moderator and admin, by id. One round trip."""
    staff = staff_in(store.hgetall(keys.staff()))
    yield from ({"user": uid, "role": staff[uid].value} for uid in sorted(staff))


def _write_staff(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.hset(keys.staff(), {str(line["user"]): line["role"]})
        writes.hset(keys.user(line["user"]), {"role": line["role"]})


def _read_sanctions(store: Store) -> Iterator[Line]:
    """A line for each user on whom something is imposed now, by id. Two round trips for each AT_ONCE users."""
    for users in fields_of_users(store, ["deleted", "appeal", *STORED]):
        found = [
            (uid, present, read_appeal(uid, appeal))
            for uid, (deleted, appeal, *stored) in users
            if deleted is None and (present := imposed(uid, stored)) is not None
        ]
        pipe = store.pipeline()
        answers = {uid: pipe.hget(keys.user(uid), answer_of(present.act_id)) for uid, present, _ in found}
        pipe.execute()
        yield from (_line(uid, present, appeal, answers[uid].value) for uid, present, appeal in found)


def _line(uid: int, present: Imposed, appeal: Appeal | None, answer: str | None) -> Line:
    line: Line = {
        "user": uid,
        "state": present.state.value,
        "until": iso(present.until) if present.until else None,
        "reason": present.reason,
        "since": iso(present.since),
        "act": present.act_id,
    }
    if appeal is not None and appeal.act_id == present.act_id:
        line |= {"appeal": appeal.text, "appealed": iso(appeal.at)}
    return line | ({"answer": answer} if answer is not None else {})


def _write_sanctions(writes: Writes, lines: Sequence[Line]) -> None:
    """What is imposed; a suspension without an end lasts another 30 days."""
    for line in lines:
        uid, act_id = line["user"], line["act"]
        stored = {
            "state": line["state"],
            "state_until": str(0 if line["until"] is None else seconds(line, "until")),
            "state_reason": line["reason"],
            "state_since": str(seconds(line, "since")),
            "state_act": act_id,
        }
        if "answer" in line:
            stored[answer_of(act_id)] = line["answer"]
        if "appeal" in line and "appealed" in line:
            appeal = Appeal(uid, act_id, line["appeal"], seconds(line, "appealed"))
            stored["appeal"] = appeal.stored()
            if "answer" not in line:
                writes.zadd(keys.appeals(), {appeal.member: appeal.at})
        writes.hset(keys.user(uid), stored)
        if line["state"] == State.SUSPENDED and line["until"] is None:
            queue_deletion(writes.pipe, uid, act_id)


def _read_log(store: Store) -> Iterator[Line]:
    """The log, newest first. One round trip a chunk."""
    for year in range(year_of(int(time.time() * 1000)), FIRST_YEAR - 1, -1):
        for rows in newest_first(store, keys.log(year)):
            yield from (act.fields() for line, _ in rows if (act := read_act(keys.log(year), line)) is not None)


def _write_log(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        queue_act(writes, Act(**{field: line[field] for field in ACT}))


STAFF = SiteLines("staff", lambda line: {"user": ID, "role": ROLE}, _read_staff, _write_staff, users=("user",))
SANCTIONS = SiteLines("sanction", lambda line: SANCTION, _read_sanctions, _write_sanctions, users=("user",))
LOG = SiteLines("act", lambda line: ACT, _read_log, _write_log)
