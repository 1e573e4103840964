"""The lines about reports in the personal download and in the file of a whole site."""

from collections.abc import Iterator, Mapping, Sequence

from accounts.community.log import read_act
from accounts.users.repository import Users
from accounts.users.site_lines import uids_in_order
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.filling import ID, NAME, OPTIONAL_ID, TEXT
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first, newest_first_of_each
from retwis_site.store.client import Store
from retwis_site.store.ids import integer, stored_ids
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


def read_reports(store: Store) -> Iterator[list[Line]]:
    """A line for each report, by the id of the reported user, newest first."""
    for uids in uids_in_order(store):
        rows = newest_first_of_each(store, {uid: keys.reports_about(uid) for uid in uids})
        for chunk in batches(rows, AT_ONCE):
            rids = [rid for uid, member, _ in chunk for rid in stored_ids(keys.reports_about(uid), [member])]
            yield [_line(report) for report in Reports(store).some(rids).values()]


def _line(report: Report) -> Line:
    about = report.about
    line: Line = {"type": "report", "id": report.rid, "user": about.whom, "reason": about.reason}
    line |= {"rule": about.rule, "note": about.note, "body": about.body}
    if report.who is not None:
        line["by"] = report.who
    if about.pid is not None:
        line["post"] = about.pid
    if report.decision is not None:
        line["decision"] = report.decision.line()
    return line


def write_reports(store: Store, lines: Sequence[Line]) -> None:
    """Write reports, open and decided. One round trip."""
    pipe = store.pipeline()
    for line in lines:
        rid, who, decision = line["id"], line.get("by"), line.get("decision")
        about = NewReport(line["user"], line.get("post"), line["reason"], line["note"], line["rule"], line["body"])
        pipe.hset(keys.report(rid), fields_of(who, about) | ({"decision": decision} if decision else {}))
        pipe.zadd(keys.reports_about(about.whom), {str(rid): rid})
        if who is not None:
            pipe.zadd(keys.reports_by(who), {f"{about.thing}:{rid}" if decision else about.thing: rid})
        if not decision:
            pipe.zadd(keys.reports(), {str(rid): rid})
    pipe.execute()


def fields_of_line(line: Line) -> Mapping[str, LineField]:
    return FIELDS


REPORTS = SiteLines(
    type="report",
    fields=fields_of_line,
    read=read_reports,
    write=write_reports,
    unique=("id",),
    users=("user",),
)
