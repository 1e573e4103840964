"""Reports and staff for tests, and what must hold of them."""

import json

from accounts.community.acts import Roles
from accounts.users.entities import Role
from tests.support.protocols.community import acts_in_log
from timeline.moderation.reports import Action, NewReport, Reports

ALICE, BOB, CAROL = 1, 2, 3


def report(store, who, whom, pid=None, **fields):
    """Report a person or a post as spam; returns the report."""
    new = NewReport(whom, pid, **{"reason": "spam", "body": "Buy!" if pid else "", **fields})
    assert Reports(store).make(who, new)
    return Reports(store).open(None, 1)[0]


def make_moderator(store, uid):
    Roles(store).give(uid, Role.MODERATOR)


def make_admin(store, uid):
    Roles(store).give(uid, Role.ADMIN)


def assert_reports_agree(raw, where):
    """What follows from the hashes of the reports. `cleanup` removes what was never sent: a report that no one's set
    names, and the decision about one that had gone."""
    queue, about, by = set(), set(), set()
    reports = {key.partition(":")[2]: raw.hgetall(key) for key in raw.keys("report:*") if raw.hexists(key, "whom")}
    for rid, report in reports.items():
        who, whom, thing = report.get("who"), report["whom"], f"{report['whom']}:{report.get('pid', 0)}"
        assert not raw.hexists(f"user:{whom}", "deleted") or not _is_sent(raw, rid, report), (where, rid)
        if not _is_sent(raw, rid, report):
            continue
        about.add((whom, rid))
        if "decision" not in report:
            queue.add(rid)
        if who is not None:
            assert not raw.hexists(f"user:{who}", "deleted"), (where, rid)
            by.add((who, thing if "decision" not in report else f"{thing}:{rid}"))
    assert set(raw.zrange("reports", 0, -1)) == queue, where
    assert _entries(raw, "reports_about") == about, where
    left = _entries(raw, "reports_by") - by  # `cleanup` removes what a decision has written about a report that went
    assert not any(raw.hexists(f"report:{member.rpartition(':')[2]}", "whom") for _, member in left), where
    assert by <= _entries(raw, "reports_by"), where


def _is_sent(raw, rid, report):
    """Whether a report was committed: the set of its author names it, or it has lost its author."""
    if "who" not in report:
        return "reason" in report
    return any(str(int(score)) == rid for _, score in raw.zrange(f"reports_by:{report['who']}", 0, -1, withscores=True))


def _entries(raw, prefix):
    return {(key.partition(":")[2], member) for key in raw.keys(f"{prefix}:*") for member in raw.zrange(key, 0, -1)}


def assert_decisions_are_carried_out(raw, where):
    acts = acts_in_log(raw)
    reports = [raw.hgetall(key) for key in raw.keys("report:*")]
    for report in [report for report in reports if "decision" in report and "whom" in report]:
        act = json.loads(report["decision"])
        lines = [one for one in acts if one["id"] == act["id"]]
        for action in map(Action, act["what"].removeprefix("report:").split(",")):
            if action in (Action.FREEZE, Action.SUSPEND):
                assert [one["what"] for one in lines if not one["what"].startswith("report:")] == [action], where
            elif action is Action.DELETE:
                pids = {int(pid) for pid in (act["post"], *act.get("also", "").split())} - {0}
                logged = [one["post"] for one in lines if one["what"] == "report:post_deleted"]
                deleted = {pid: raw.hget(f"post:{pid}", "deleted") for pid in pids}
                assert all(deleted.values()), where
                by_staff = {pid for pid, mark in deleted.items() if mark.endswith(":staff")}  # else the author
                assert len(logged) == len({*logged}), where
                assert by_staff <= {*logged} <= pids, where
            else:
                assert [one["what"] for one in lines].count(f"report:{action}") == 1, where
    decisions = [decision for key in raw.keys("report:*") if (decision := raw.hget(key, "decision"))]
    decided = {json.loads(decision)["id"] for decision in decisions}
    if not raw.hexists("user:3", "deleted"):
        assert {act["id"] for act in acts if act["what"].startswith("report:")} <= decided, where


def assert_decided_together(raw, where, waiting):
    """Of the reports that were `waiting` before, none is open about what a decision is about."""
    left = [raw.hgetall(f"report:{rid}") for rid in raw.zrange("reports", 0, -1) if rid in waiting]
    for decision in [decision for key in raw.keys("report:*") if (decision := raw.hget(key, "decision"))]:
        act = json.loads(decision)
        pids = {str(act["post"]), *act.get("also", "").split()}
        assert not [one for one in left if one["whom"] == str(act["whom"]) and one.get("pid", "0") in pids], where
