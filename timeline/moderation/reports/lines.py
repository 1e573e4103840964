"""The lines about reports in the personal download and in the file of a whole site."""

from collections.abc import Iterator, Sequence

from accounts.community.log import read_act
from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.lines import ID, NAME, OPTIONAL_ID, TEXT, rows_of_users
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, Writes, batches, newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import integer, stored_id
from timeline.moderation.reports.repository import NewReport, Report, Reports, fields_of


def _is_decision(value: object) -> bool:
    return isinstance(value, str) and read_act("the file", value) is not None


DECISION = LineField("a line of the log", _is_decision, required=False)
FIELDS = {
    "id": ID,
    "by": OPTIONAL_ID,
    "user": ID,
    "post": OPTIONAL_ID,
    "reason": NAME,
    "rule": TEXT,
    "note": TEXT,
    "body": TEXT,
    "decision": DECISION,
}


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The reports that the owner has made, newest first; without the text of the reported post, which is another
    person's. Three round trips a chunk."""
    for rows in newest_first(store, keys.reports_by(owner.uid)):
        found = Reports(store).some([integer(score) for _, score in rows])
        people = Users(store).people({report.about.whom for report in found.values()})
        yield [
            {
                "type": "report",
                "id": report.about.whom,
                "username": people[report.about.whom].username if report.about.whom in people else None,
                "post": report.about.pid,
                "reason": report.about.rule or report.about.reason,
                "note": report.about.note,
                "time": iso(report.when),
                "decision": report.action,
            }
            for report in found.values()
        ]


# The file of a whole site. A report stands in up to four keys: code reads it.


def _read(store: Store) -> Iterator[Line]:
    """A line for each report, by the id of the reported user, newest first. One round trip for each AT_ONCE, and those
    of `rows_of_users`."""
    for chunk in batches(rows_of_users(store, keys.reports_about), AT_ONCE):
        rids = [rid for uid, member, _ in chunk if (rid := stored_id(keys.reports_about(uid), member))]
        yield from map(_line, Reports(store).some(rids).values())


def _line(report: Report) -> Line:
    about = report.about
    line = {"id": report.rid, "user": about.whom, "reason": about.reason}
    line |= {"rule": about.rule, "note": about.note, "body": about.body}
    decision = report.decision.line() if report.decision is not None else None
    may = {"by": report.who, "post": about.pid, "decision": decision}
    return line | {name: value for name, value in may.items() if value is not None}


def _write(writes: Writes, lines: Sequence[Line]) -> None:
    """Open and decided reports."""
    for line in lines:
        rid, who, decision = line["id"], line.get("by"), line.get("decision")
        about = NewReport(line["user"], line.get("post"), line["reason"], line["note"], line["rule"], line["body"])
        writes.hset(keys.report(rid), fields_of(who, about) | ({"decision": decision} if decision else {}))
        writes.zadd(keys.reports_about(about.whom), {str(rid): rid})
        if who is not None:
            writes.zadd(keys.reports_by(who), {f"{about.thing}:{rid}" if decision else about.thing: rid})
        if not decision:
            writes.zadd(keys.reports(), {str(rid): rid})


REPORTS = SiteLines("report", lambda line: FIELDS, _read, _write, unique=("id",), users=("user",))
