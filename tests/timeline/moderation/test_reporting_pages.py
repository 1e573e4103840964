"""The pages on which a user reports a person or a post."""

import pytest

from tests.support.stored_keys import publish
from timeline.relations.block import BlockedPeople

ALICE, BOB = 1, 2

pytestmark = pytest.mark.usefixtures("alice", "bob")


def test_a_post_is_reported_with_its_text_also_by_someone_whom_its_author_blocks(browser, alice, bob, store, raw):
    publish(raw, store, bob, "Buy!")
    BlockedPeople(store).block(BOB, ALICE)
    client = browser(alice)
    assert "Buy!" in client.get("/@bob/1/report/").content.decode()
    response = client.post("/@bob/1/report/", {"reason": "spam", "note": "Ads"})
    assert (response.status_code, response["Location"]) == (302, "/@bob/reported/")
    [rid] = raw.zrange("reports", 0, -1)
    assert raw.hmget(f"report:{rid}", "who", "whom", "pid", "body", "note") == ["1", "2", "1", "Buy!", "Ads"]
    page = client.get("/@bob/reported/").content.decode()
    assert "/@bob/block/" in page
    assert "/@bob/mute/" in page


def test_a_person_is_reported_for_a_rule_of_the_site(browser, alice, raw):
    raw.hset("site", "rules", "Be kind\nNo spoilers")
    client = browser(alice)
    assert "It breaks rule 2: No spoilers" in client.get("/@bob/report/").content.decode()
    client.post("/@bob/report/", {"reason": "rule:2", "note": ""})
    [rid] = raw.zrange("reports", 0, -1)
    assert raw.hmget(f"report:{rid}", "reason", "rule") == ["rule:2", "No spoilers"]


@pytest.mark.parametrize(
    "fields", [{}, {"reason": "rule:9"}, {"reason": "other"}, {"reason": "spam", "note": "x" * 501}]
)
def test_a_form_with_errors_keeps_what_was_typed(browser, alice, raw, fields):
    response = browser(alice).post("/@bob/report/", fields)
    assert response.status_code == 422
    assert fields.get("note", "") in response.content.decode()
    assert raw.keys("report*") == []


def test_a_visitor_logs_in_first_and_nobody_reports_themself(browser, alice, raw):
    assert browser().get("/@bob/report/")["Location"].startswith("/login/")
    assert browser(alice).get("/@alice/report/")["Location"] == "/@Alice/"


def test_the_menu_of_a_person_leads_to_the_report(browser, alice):
    assert 'href="/@bob/report/"' in browser(alice).get("/@bob/").content.decode()
