"""The pages of staff: reports are decided, appeals are answered, and for all others they do not exist."""

import pytest

from accounts.community.sanctions import Sanctions
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_moderator, report
from tests.support.stored_keys import publish


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """carol is a moderator; alice has reported bob's post."""
    publish(raw, store, bob, "Buy!")
    make_moderator(store, CAROL)
    return report(store, ALICE, BOB, 1)


def test_a_report_is_decided_and_the_reporter_reads_it(browser, site, alice, bob, carol, store):
    staff = browser(carol)
    assert "A post by @bob" in staff.get("/moderation/").content.decode()
    address = f"/moderation/reports/{site.rid}/"
    assert "Buy!" in staff.get(address).content.decode()
    assert staff.post(address, {"action": "frozen", "days": "7"}).status_code == 422
    assert staff.post(address, {"action": "frozen", "days": "7", "reason": "Ads"})["Location"] == "/moderation/"
    assert staff.post(address, {"action": "dismissed", "reason": "No"}).status_code == 422  # it is decided
    assert "The moderators have acted" in browser(alice).get("/notifications/").content.decode()
    Sanctions(store).appeal(BOB, "It was no ad")
    assert "It was no ad" in staff.get("/moderation/").content.decode()
    staff.post("/moderation/people/bob/", {"appeal": "grant", "reason": "Right"})
    assert Sanctions(store).of(BOB) is None
    assert "Appeal granted" in staff.get("/moderation/log/").content.decode()


@pytest.mark.parametrize("address", ["", "reports/1/", "people/bob/", "log/"])
def test_for_others_the_pages_do_not_exist(browser, site, alice, address):
    assert browser(alice).get(f"/moderation/{address}").status_code == 404
    assert browser().get(f"/moderation/{address}").status_code == 404


def test_only_staff_has_the_link_to_moderation(browser, site, alice, carol):
    link = 'href="/moderation/"'
    assert link in browser(carol).get("/").content.decode()
    assert link not in browser(alice).get("/").content.decode()
