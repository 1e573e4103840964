"""The lines about roles, sanctions, the log, joining and the site's own words, in the personal download and in the file
of a whole site."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from accounts.community import sanctions
from accounts.community.acts import staff_in
from accounts.community.log import Act, parts_of_log, queue_act, read_act
from accounts.joining.joining import Application, Invitations, read_application, stored_application
from accounts.users.checks import ask_gone
from accounts.users.entities import OPERATOR, UNSEEN, Role, Sanction, State
from accounts.users.repository import IMPOSED, sanction_of
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.identity import FIELDS, forget
from retwis_site.maintenance import lines as file
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import Writes, newest_first
from retwis_site.store.client import Store, answers
from retwis_site.store.ids import parse_number

ROLE = LineField("moderator or admin", lambda value: value in (Role.MODERATOR, Role.ADMIN))
STATE = LineField("frozen, hidden or suspended", lambda value: bool(value) and value in list(State))
SANCTION = {
    "user": file.ID,
    "state": STATE,
    "until": file.TIME_OR_NULL,
    "reason": file.TEXT,
    "since": file.TIME,
    "act": file.TEXT,
    "appeal": file.OPTIONAL_TEXT,
    "appealed": file.OPTIONAL_TIME,
    "answer": file.OPTIONAL_TEXT,
}
NOTE = dict.fromkeys(("id", "what", "reason"), file.TEXT) | dict.fromkeys(
    ("by", "whom", "post", "until", "at"), file.NUMBER
)
ACT = NOTE | {"also": file.OPTIONAL_TEXT}


# ---- the personal download


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """What staff has done about the owner, newest first, without who did it; then the owner's last appeal, who has
    invited the owner (0: the operator), and the owner's open invitations. One round trip a chunk, and four more."""
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
    appeal = sanctions.read_appeal(owner.uid, store.hget(keys.user(owner.uid), "appeal"))
    if appeal is not None:
        yield [{"type": "appeal", "text": appeal.text, "time": iso(appeal.at)}]
    by = parse_number(store.hget(keys.user(owner.uid), "invited_by") or "")
    lines: list[Line] = [] if by is None else [{"type": "invited", "by": by}]
    yield lines + [
        {"type": "invitation", "code": one.code, "ends": iso(one.ends), "uses": one.left}
        for one in Invitations(store).open([owner.uid])
    ]


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
    for users in file.fields_of_users(store, ["deleted", "appeal", *IMPOSED]):
        found = [
            (uid, present, sanctions.read_appeal(uid, appeal))
            for uid, (deleted, appeal, *stored) in users
            if deleted is None and (present := sanction_of(uid, stored)) is not None
        ]
        told = answers(store, lambda pipe, one: pipe.hget(keys.user(one[0]), sanctions.answer_of(one[1].act_id)), found)
        yield from (_line(*one, answer) for one, answer in told.items())


def _line(uid: int, present: Sanction, appeal: sanctions.Appeal | None, answer: str | None) -> Line:
    line: Line = {
        "user": uid,
        "state": present.state.value,
        "until": iso(present.until) if present.until else None,
        "reason": present.reason,
        "since": iso(present.since),
        "act": present.act_id,
    }
    if appeal is not None and appeal.act == present.act_id:
        line |= {"appeal": appeal.text, "appealed": iso(appeal.at)}
    return line | ({"answer": answer} if answer is not None else {})


def _write_sanctions(writes: Writes, lines: Sequence[Line]) -> None:
    """What is imposed; a suspension without an end lasts another 30 days."""
    for line in lines:
        uid, act_id = line["user"], line["act"]
        until = 0 if line["until"] is None else file.seconds(line, "until")
        present = Sanction(State(line["state"]), until, line["reason"], file.seconds(line, "since"), act_id)
        stored = sanctions.stored_sanction(present)
        if "answer" in line:
            stored[sanctions.answer_of(act_id)] = line["answer"]
        if "appeal" in line and "appealed" in line:
            appeal = sanctions.Appeal(act_id, line["appeal"], file.seconds(line, "appealed"), uid)
            stored["appeal"] = appeal.stored()
            if "answer" not in line:
                writes.zadd(keys.appeals(), {appeal.member: appeal.at})
        writes.hset(keys.user(uid), stored)
        if line["state"] == State.SUSPENDED and line["until"] is None:
            sanctions.delete_later(writes.pipe, uid, act_id)


def _recount(store: Store) -> Iterator[None]:
    """Let a worker leave out of all numbers whom staff has hidden or suspended, and follow the ends of sanctions. One
    round trip for each AT_ONCE users, and one more for people on whom something is imposed."""
    for users in file.fields_of_users(store, IMPOSED):
        with store.pipeline() as pipe:
            for uid, fields in users:
                present = sanction_of(uid, fields)
                if present is None:
                    continue
                if present.state in UNSEEN:
                    sanctions.recount_later(pipe, uid)
                if present.until:  # also of a frozen one: an appeal may wait until then
                    sanctions.follow_end(pipe, uid, present.until)
        yield


def _read_log(store: Store) -> Iterator[Line]:
    """The log, newest first. One round trip a chunk."""
    for key in parts_of_log():
        for rows in newest_first(store, key):
            yield from (act.fields() for line, _ in rows if (act := read_act(key, line)) is not None)


def _write_log(writes: Writes, lines: Sequence[Line]) -> None:
    """All acts, also about people who are deleted or not in the file. One round trip."""
    acts = [Act(**{field: line[field] for field in ACT if field in line}) for line in lines]
    gone = answers(writes.store, ask_gone, {act.whom for act in acts})
    people = {uid for uid, is_gone in gone.items() if not is_gone}
    for act in acts:
        queue_act(writes, act, people)


def _read_notes(store: Store) -> Iterator[Line]:
    """What staff notes about people, by the id of the user, newest first. The round trips of `rows_of_users`."""
    for uid, line, _ in file.rows_of_users(store, keys.staff_notes):
        if (note := read_act(keys.staff_notes(uid), line)) is not None:
            yield note.fields()


def _write_notes(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        note = Act(**{field: line[field] for field in NOTE})
        writes.zadd(keys.staff_notes(note.whom), {note.line(): note.at})


STAFF = SiteLines("staff", lambda line: {"user": file.ID, "role": ROLE}, _read_staff, _write_staff, users=("user",))
SANCTIONS = SiteLines(
    *("sanction", lambda line: SANCTION, _read_sanctions, _write_sanctions), users=("user",), finish=_recount
)
LOG = SiteLines("act", lambda line: ACT, _read_log, _write_log)
NOTES = SiteLines("staff_note", lambda line: NOTE | {"whom": file.ID}, _read_notes, _write_notes, users=("whom",))


# ---- The site's own words


# Files of version 0.3 lack the last ones.
WORDS = dict.fromkeys(FIELDS, file.TEXT) | dict.fromkeys(("second_factor", "announced"), file.OPTIONAL_TEXT)


def _read_words(store: Store) -> Iterator[Line]:
    """One line; none for a site with the defaults alone. One round trip."""
    stored = store.hgetall(keys.site())
    if any(stored.get(field) for field in FIELDS):
        yield {field: stored.get(field, "") for field in FIELDS}


def _write_words(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.hset(keys.site(), {field: line[field] for field in FIELDS if line.get(field)})


def _show_words(store: Store) -> Iterable[None]:
    forget()
    return ()


SITE = SiteLines("site_words", lambda line: WORDS, _read_words, _write_words, finish=_show_words)


# ---- Joining


APPLICATION = {
    "username": file.NAME,
    "password": file.PASSWORD,
    "why": file.TEXT,
    "at": file.NUMBER,
    "refused": file.NUMBER,
    "reason": file.TEXT,
}


def _read_invitations(store: Store) -> Iterator[Line]:
    """A line for each open invitation: those of the operator, then by the id of the user. Its uses have a key of their
    own. Two round trips for each AT_ONCE users."""
    for uids in ([OPERATOR], *file.uids_in_order(store)):
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
        if not asked.refused:
            writes.zadd(keys.applicants(), {asked.member: asked.at})


INVITATION = {"code": file.NAME, "by": file.NUMBER, "uses": file.NUMBER}
OF_SITE = (
    *(STAFF, SANCTIONS, LOG, NOTES, SITE),
    *map(file.lines_of, (keys.user.fields["dismissed"], keys.user.fields["invited_by"])),
    SiteLines("invitation", lambda line: INVITATION, _read_invitations, _write_invitations, users=("by",)),
    SiteLines("application", lambda line: APPLICATION, _read_applications, _write_applications),
    file.lines_of(keys.blocked_names),
)
