"""Reports, decisions about them, sanctions and appeals, killed between any two commands."""

import pytest

from accounts.community.log import Log
from accounts.community.roles import Roles
from accounts.community.sanctions import GRANTED, Sanctions, open_appeals
from accounts.users.entities import Role, State
from retwis_site.store.client import connect
from tests.support.processes.scenes import ALICE, BOB, CAROL, kill_at_every_command
from timeline.moderation.reports.repository import Action, NewReport, Reports

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

PERSON = "/moderation/people/alice/"
WHY = "Advertisements"


def acts_about_alice():
    return [act.what for act in Log(connect()).about(ALICE).acts]


def told(scene, uid):
    return [member for member in scene.raw.zrange(f"notices:{uid}", 0, -1) if member.startswith("report:")]


def test_a_report(scene, capsys):
    def work(scene):
        form = {"reason": "spam", "note": "Again"}
        return {"path": f"/@alice/{scene.pid}/report/", "form": form, "secret": scene.secret(scene.bob)}

    def check(scene, where, through):
        assert scene.raw.zcard("reports") == 1 or not through, where
        Reports(connect()).make(BOB, NewReport(ALICE, scene.pid, "spam"))  # bob tries again
        [rid] = scene.raw.zrange("reports", 0, -1)
        assert scene.raw.zrange(f"reports_about:{ALICE}", 0, -1) == [rid], where
        assert scene.raw.zrange(f"reports_by:{BOB}", 0, -1, withscores=True) == [(f"1:{scene.pid}", int(rid))], where

    kill_at_every_command(scene, capsys, work, check)


@pytest.mark.parametrize("action", [Action.DELETE, Action.HIDE])
def test_a_decision_about_a_report(scene, capsys, action):
    def work(scene):
        Roles(connect()).give(CAROL, Role.MODERATOR)
        Reports(connect()).make(BOB, NewReport(ALICE, scene.pid, "spam", body="Before"))
        [scene.rid] = scene.raw.zrange("reports", 0, -1)
        form = {"action": action.value, "days": "7", "reason": WHY}
        return {"path": f"/moderation/reports/{scene.rid}/", "form": form, "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        is_decided = Reports(connect()).read(int(scene.rid)).action is action
        assert is_decided or not through, where
        assert scene.raw.zcard("reports") == (0 if is_decided else 1), where
        assert len(told(scene, BOB)) == is_decided, where
        deleted = scene.raw.hget(f"post:{scene.pid}", "deleted")
        assert (deleted is not None) == (is_decided and action is Action.DELETE), where
        assert deleted is None or deleted.endswith(":staff"), where
        assert (Sanctions(connect()).of(ALICE) is not None) == (is_decided and action is Action.HIDE), where
        assert len(acts_about_alice()) == is_decided, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_sanction(scene, capsys):
    def work(scene):
        Roles(connect()).give(CAROL, Role.MODERATOR)
        form = {"act": "sanction", "action": "suspended", "days": "7", "reason": WHY}
        return {"path": PERSON, "form": form, "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        present = Sanctions(connect()).of(ALICE)
        assert present is not None or not through, where
        assert acts_about_alice() == (["suspended"] if present else []), where
        assert scene.home(scene.bob) == ([] if present else ["Before"]), where
        if present:
            Sanctions(connect()).lift(ALICE)
            assert scene.home(scene.bob) == ["Before"], where

    kill_at_every_command(scene, capsys, work, check)


def test_an_appeal(scene, capsys):
    def work(scene):
        Sanctions(connect()).impose(ALICE, State.FROZEN, WHY)
        return {"path": "/appeal/", "form": {"text": "It was a joke"}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        waits = [appeal.text for appeal in open_appeals(connect()).appeals]
        assert waits == (["It was a joke"] if scene.raw.hexists("user:1", "appeal") else []), where
        assert waits or not through, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_granted_appeal(scene, capsys):
    def work(scene):
        Roles(connect()).give(CAROL, Role.MODERATOR)
        Sanctions(connect()).impose(ALICE, State.FROZEN, WHY)
        Sanctions(connect()).appeal(ALICE, "It was a joke")
        return {"path": PERSON, "form": {"act": "grant", "reason": "Indeed"}, "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        is_free = Sanctions(connect()).of(ALICE) is None
        assert is_free or not through, where
        assert scene.raw.zcard("appeals") == (0 if is_free else 1), where
        assert acts_about_alice() == [*([GRANTED] if is_free else []), "frozen"], where

    kill_at_every_command(scene, capsys, work, check)
