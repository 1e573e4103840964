"""Notes of staff about a person, which staff alone reads."""

import json
import re
from dataclasses import replace

import pytest

from accounts.community.acts import NOTE, StaffNotes
from accounts.community.log import Act, Log
from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from tests.support.command_output import doctor_findings
from tests.support.http.page_text import page_of
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_moderator, report


@pytest.fixture
def staff(browser, store, raw, alice, bob, carol):
    """The browser of carol, a moderator."""
    make_moderator(store, CAROL)
    return browser(carol)


def test_a_note_about_a_person_is_read_by_staff_alone_and_goes_with_the_account(
    staff, browser, bob, store, raw, capsys
):
    address, rid = "/moderation/people/bob/", report(store, ALICE, BOB).rid
    assert staff.post(address, {"act": "note", "note": ""}).status_code == 422
    staff.post(address, {"act": "note", "note": "Was <warned> before."})
    [(line, score)] = raw.zrange("staff_notes:2", 0, -1, withscores=True)
    note = json.loads(line)
    assert (note["what"], note["by"], note["reason"], note["at"]) == ("note", CAROL, "Was <warned> before.", score)
    assert re.search(r"Was &lt;warned&gt; before.*by @carol", staff.get(address).content.decode(), re.S)
    assert "warned" in staff.get(f"/moderation/reports/{rid}/").content.decode()
    assert [act.what for act in Log(store).page()[0]] == ["role:moderator"]  # a note is no act
    assert b"warned" not in b"".join(browser(bob).get("/settings/download/").streaming_content)
    AccountDeletion(store).delete(bob.user, bob.secret)
    drain(store, "worker")
    assert not raw.exists("staff_notes:2")
    StaffNotes(store).add(BOB, CAROL, "Too late")
    assert not raw.exists("staff_notes:2")
    assert not any(doctor_findings(capsys)[0].values())


def test_older_notes_about_a_person_have_pages(staff, store):
    """Also two of the same millisecond, at the end of a page."""
    notes = [Act(what=NOTE, whom=BOB, by=CAROL, reason=f"note {number}.", at=number) for number in range(1, 121)]
    notes.append(replace(notes[70], id="another", reason="of the same moment."))
    for note in notes:
        store.zadd(keys.staff_notes(BOB), {note.line(): note.at})
    address, rid, found = "/moderation/people/bob/", report(store, ALICE, BOB).rid, []
    assert 'href="/moderation/people/bob/?notes=71#notes"' in page_of(staff.get(f"/moderation/reports/{rid}/"))
    for _page in range(3):
        page = page_of(staff.get(address))
        found += re.findall(r"note \d+\.|of the same moment\.", page)
        address = next(iter(re.findall(r'href="([^"]*)#notes" rel="next"', page)), "")
    assert sorted(found) == sorted(note.reason for note in notes)
    assert address == ""
    assert staff.get("/moderation/people/bob/?notes=x").status_code == 400


def test_a_report_about_a_lost_account_shows_its_newest_notes_alone(staff, store, raw):
    """There is no page of the person that could show the others."""
    rid = report(store, ALICE, BOB).rid
    for number in range(1, 60):
        note = Act(what=NOTE, whom=BOB, by=CAROL, reason=f"note {number}.", at=number)
        store.zadd(keys.staff_notes(BOB), {note.line(): note.at})
    raw.delete(f"user:{BOB}")
    page = page_of(staff.get(f"/moderation/reports/{rid}/"))
    assert "note 59." in page
    assert "Older notes" not in page
