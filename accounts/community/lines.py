"""The lines about roles, sanctions and the log, in the personal download and in the file of a whole site."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from accounts.community.log import FIRST_YEAR, Act, Log, read_act, year_of
from accounts.community.roles import staff_in
from accounts.community.sanctions import STORED, Appeal, Imposed, Sanctions, answer_of, imposed, read_appeal
from accounts.users.entities import Role, State
from accounts.users.site_lines import uids_in_order
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.filling import ID, TEXT, TIME, TIME_OR_NULL, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import LARGEST_ID

ROLE = LineField("moderator or admin", lambda value: value in (Role.MODERATOR, Role.ADMIN))
STATE = LineField("frozen, hidden or suspended", lambda value: bool(value) and value in list(State))
NUMBER = LineField("a whole number from 0 to 2^53 - 1", lambda value: type(value) is int and 0 <= value <= LARGEST_ID)
OPTIONAL_TEXT = LineField(TEXT.what, TEXT.accepts, required=False)
OPTIONAL_TIME = LineField(TIME.what, TIME.accepts, required=False)


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


def read_staff(store: Store) -> Iterator[list[Line]]:
    """A line for each moderator and admin, by id. One round trip."""
    staff = staff_in(store.hgetall(keys.staff()))
    yield [{"type": "staff", "user": uid, "role": staff[uid].value} for uid in sorted(staff)]


def write_staff(store: Store, lines: Sequence[Line]) -> None:
    pipe = store.pipeline()
    for line in lines:
        pipe.hset(keys.staff(), {str(line["user"]): line["role"]})
        pipe.hset(keys.user(line["user"]), {"role": line["role"]})
    pipe.execute()


def read_sanctions(store: Store) -> Iterator[list[Line]]:
    """A line for each user on whom something is imposed now, by id. Two round trips a chunk."""
    for uids in uids_in_order(store):
        pipe = store.pipeline()
        asked = [(uid, pipe.hmget(keys.user(uid), ["deleted", "appeal", *STORED])) for uid in uids]
        pipe.execute()
        found = []
        for uid, fields in asked:
            deleted, appeal, *stored = fields.value
            present = imposed(uid, stored) if deleted is None else None
            if present is not None:
                found.append((uid, present, read_appeal(uid, appeal)))
        answers = {uid: pipe.hget(keys.user(uid), answer_of(present.act_id)) for uid, present, _ in found}
        pipe.execute()
        yield [_line(uid, present, appeal, answers[uid].value) for uid, present, appeal in found]


def _line(uid: int, present: Imposed, appeal: Appeal | None, answer: str | None) -> Line:
    line: dict[str, Any] = {
        "type": "sanction",
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


def write_sanctions(store: Store, lines: Sequence[Line]) -> None:
    """Write what is imposed; a suspension without an end lasts another 30 days."""
    pipe = store.pipeline()
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
                pipe.zadd(keys.appeals(), {appeal.member: appeal.at})
        pipe.hset(keys.user(uid), stored)
        if line["state"] == State.SUSPENDED and line["until"] is None:
            Sanctions(store).queue_deletion(pipe, uid, act_id)
    pipe.execute()


def read_log(store: Store) -> Iterator[list[Line]]:
    """The log, newest first. One round trip a chunk."""
    for year in range(year_of(int(time.time() * 1000)), FIRST_YEAR - 1, -1):
        for rows in newest_first(store, keys.log(year)):
            acts = [act for line, _ in rows if (act := read_act(keys.log(year), line)) is not None]
            yield [{"type": "act"} | act.fields() for act in acts]


def write_log(store: Store, lines: Sequence[Line]) -> None:
    Log(store).write_all([Act(**{field: line[field] for field in _act_fields(line)}) for line in lines])


def _staff_fields(line: Line) -> Mapping[str, LineField]:
    return {"user": ID, "role": ROLE}


def _sanction_fields(line: Line) -> Mapping[str, LineField]:
    return {
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


def _act_fields(line: Line) -> Mapping[str, LineField]:
    return dict.fromkeys(("id", "what", "reason"), TEXT) | dict.fromkeys(("by", "whom", "post", "until", "at"), NUMBER)


STAFF = SiteLines(type="staff", fields=_staff_fields, read=read_staff, write=write_staff, users=("user",))
SANCTIONS = SiteLines(
    type="sanction", fields=_sanction_fields, read=read_sanctions, write=write_sanctions, users=("user",)
)
LOG = SiteLines(type="act", fields=_act_fields, read=read_log, write=write_log)
