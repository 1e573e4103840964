"""A person is told that staff has lifted a sanction on them, or has decided their appeal."""

import pytest

from accounts.community.log import Act, Log
from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.jobs.worker import drain
from tests.support.apps import App
from tests.support.command_output import doctor_findings
from tests.support.http.page_text import page_of

pytestmark = pytest.mark.usefixtures("alice", "bob", "carol")

BOB, CAROL = 2, 3
WHY = "A joke <indeed>"


@pytest.fixture
def frozen(store):
    Sanctions(store).impose(BOB, State.FROZEN, "insults", by=CAROL)
    drain(store, "worker")
    return Sanctions(store)


def lift(sanctions):
    sanctions.lift(BOB, CAROL, WHY)


def decide(sanctions, granted):
    sanctions.appeal(BOB, "It was a joke")
    sanctions.decide_appeal(BOB, granted, CAROL, WHY)


ACTS = [
    (lift, "The moderators have lifted the restriction on your account."),
    (lambda sanctions: decide(sanctions, True), "Your appeal was granted."),
    (lambda sanctions: decide(sanctions, False), "Your appeal was refused."),
]


@pytest.mark.parametrize(("act", "words"), ACTS, ids=["lifted", "granted", "refused"])
def test_a_person_is_told_with_the_reason_and_once(frozen, store, raw, browser, bob, act, words):
    assert raw.keys("notices:*") == []  # a banner tells of a sanction that stands
    act(frozen)
    [done] = [one for one in Log(store).about(BOB) if one.reason == WHY]
    assert raw.zrange("notices:2", 0, -1, withscores=True) == [(f"sanction:{done.at}:2", done.when)]
    member = browser(bob)
    assert member.get("/notifications/number/?known=").status_code == 200
    page = page_of(member.get("/notifications/"))
    assert (page.count(words), page.count("A joke &lt;indeed&gt;"), page.count('class="post notice new"')) == (1, 1, 1)
    assert member.get("/notifications/number/?known=").status_code == 204
    assert words not in page_of(member.get("/notifications/?only=mentions"))


@pytest.mark.parametrize("what", [State.HIDDEN, "role:moderator", "link", "report:dismissed"])
def test_other_acts_of_staff_tell_nothing(store, raw, what):
    Log(store).write(Act(what=what, whom=BOB))
    assert raw.keys("notices:*") == []


def test_a_person_who_was_suspended_reads_it_after_the_login(store, browser, bob):
    Sanctions(store).impose(BOB, State.SUSPENDED, "insults", by=CAROL)
    lift(Sanctions(store))
    assert ACTS[0][1] in page_of(browser(bob).get("/notifications/"))


def test_a_notice_whose_act_is_gone_is_an_orphan(frozen, raw, browser, bob, capsys):
    lift(frozen)
    assert doctor_findings(capsys) == ({}, {})
    raw.delete("acts:2")
    assert ACTS[0][1] not in page_of(browser(bob).get("/notifications/"))
    assert doctor_findings(capsys)[1]["notices whose cause is gone"] == 1


def test_apps_hear_nothing_of_it(frozen, bob):
    """They know a warning of moderators, and no word for its end."""
    lift(frozen)
    for address in ("/api/v1/notifications", "/api/v2/notifications"):
        assert App(bob).json("GET", f"{address}/unread_count") == {"count": 0}
    assert App(bob).json("GET", "/api/v1/notifications") == []
    assert App(bob).json("GET", "/api/v2/notifications")["notification_groups"] == []
