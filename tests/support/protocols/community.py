"""What staff does, what must hold of roles, sanctions, appeals and the log, and how workers finish them."""

import json
from functools import partial

from accounts.community.acts import Roles
from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.store import keys
from tests.support.protocols.small_site import CAROL, Acts, make_small_site
from tests.support.stored_keys import drain_due, noted
from timeline.moderation.reports import NewReport, Reports
from timeline.posts.repository import delete_by_staff

MODERATOR, OTHER = 7, 8  # uids of staff without accounts: an act names them, and nothing else


def make_moderated_site(raw):
    """The small site, with two moderators."""
    make_small_site(raw)
    raw.hset("staff", mapping={MODERATOR: "moderator", OTHER: "moderator"})


class StaffActs(Acts):
    """What people and staff do about carol and her post 2, and what she does about that. A task may be refused, when
    another one was faster. `done`: the changes that ended without an error, as `reasons_in_log` names them."""

    def __init__(self, store):
        super().__init__(store)
        self.done = set()

    def _change(self, work, *arguments, reason, **more):
        def task():
            work(*arguments, reason=reason, **more)
            self.done.add(reason)

        return task

    def report(self, who, pid=None):
        return partial(Reports(self.store).make, who, NewReport(CAROL, pid, "spam"))

    def decide(self, *actions, by=MODERATOR, **more):
        """Decide the newest report about carol."""

        def work():
            for report in Reports(self.store).about(CAROL, 1):
                Reports(self.store).decide(report, by, actions, actions[-1], **more)

        return work

    def impose(self, state, by=MODERATOR, reason=None, shown=None):
        return self._change(Sanctions(self.store).impose, CAROL, state, reason=reason or state, by=by, shown=shown)

    def suspend(self):
        return self.impose(State.SUSPENDED)

    def lift(self, by=OTHER, reason=None, shown=None):
        return self._change(Sanctions(self.store).lift, CAROL, by, reason=reason or f"lifted by {by}", shown=shown)

    def appeal(self, text="It was not me."):
        return partial(Sanctions(self.store).appeal, CAROL, text)

    def answer_appeal(self, granted, by=MODERATOR):
        reason = f"granted by {by}" if granted else f"refused by {by}"
        return self._change(Sanctions(self.store).decide_appeal, CAROL, granted, by, reason=reason)

    def give(self, uid, role, by=0):
        def task():
            Roles(self.store).give(uid, role, by)
            self.done.add(f"role:{role} for {uid} by {by}")

        return task

    def delete_by_staff(self, by=MODERATOR):
        return partial(delete_by_staff, self.store, 2, by, "Spam.")


def jobs_but_recounts(raw):
    """All jobs but those that make numbers follow a sanction: a worker alone does that."""
    return [job for job in noted(raw) if not job.startswith(("recount:", "sanction_end:"))]


def finish_all_but_removals(store, raw):
    """Let a worker finish all jobs. Suspensions without an end keep the job that deletes the account in 30 days."""
    drain_due(store, raw)
    assert [job for job in noted(raw) if not job.startswith("removal:")] == []


def acts_in_log(raw):
    return [json.loads(line) for key in raw.keys("log:*") for line in raw.zrange(key, 0, -1)]


def reasons_in_log(raw):
    """The acts by their reasons; roles, which are given without one, by what they are."""
    return {act["reason"] or f"{act['what']} for {act['whom']} by {act['by']}" for act in acts_in_log(raw)}


def waiting_appeals(raw):
    """The appeals against what is imposed now that nobody has answered."""
    found = set()
    for key in raw.keys("user:*"):
        fields, act_id = raw.hgetall(key), raw.hget(key, "state_act")
        appealed = json.loads(fields.get("appeal", "{}")).get("act")
        if act_id and appealed == act_id and f"answer:{act_id}" not in fields and "deleted" not in fields:
            found.add(f"{key.partition(':')[2]}:{act_id}")
    return found


def assert_community_agrees(raw, where):
    """For a site without jobs: what follows from the hashes of `staff` and of the people."""
    acts, staff = acts_in_log(raw), raw.hgetall("staff")
    assert [field for field in staff if ":" in field] == [], (where, "a mark or a line is left")
    for key in raw.keys("user:*"):
        uid, fields = key.partition(":")[2], raw.hgetall(key)
        lines = {act["id"] for act in map(json.loads, raw.zrange(keys.acts(uid), 0, -1))}
        if "deleted" in fields:
            assert (staff.get(uid), lines) == (None, set()), (where, uid)
            assert {field for field in fields if not field.startswith("answer:")} <= {"username", "deleted"}, where
            continue
        assert [field for field in fields if field.startswith("act:")] == [], (where, uid)
        assert (fields.get("role") or "member") == staff.get(uid, "member"), (where, uid)
        assert lines == {act["id"] for act in acts if str(act["whom"]) == uid}, (where, uid)
        answers = {json.loads(line)["id"] for field, line in fields.items() if field.startswith("answer:")}
        assert answers <= {act["id"] for act in acts}, (where, uid)
        if fields.get("state"):
            _assert_imposed_by_an_act(raw, uid, fields, acts, where)
            assert staff.get(uid) != "admin", (where, uid)
        else:
            assert fields.get("state_act", "") == "", (where, uid)
    assert waiting_appeals(raw) <= set(raw.zrange("appeals", 0, -1)), where
    for member in raw.zrange("appeals", 0, -1):  # `cleanup` removes those against what is no longer imposed
        uid, act_id = member.split(":")
        assert raw.hget(f"user:{uid}", "state_act") != act_id or member in waiting_appeals(raw), where


def _assert_imposed_by_an_act(raw, uid, fields, acts, where):
    [act] = [act for act in acts if (act["id"], act["what"]) == (fields["state_act"], fields["state"])]
    told = (act["what"], act["reason"], str(act["until"]))
    assert told == (fields["state"], fields["state_reason"], fields["state_until"]), (where, uid)
    if fields["state"] == "suspended" and fields["state_until"] == "0":
        assert f"removal:{uid}:{act['id']}" in noted(raw), (where, uid)
