"""Staff makes a link with which a person sets a new password."""

import re

import pytest

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from tests.support.http.forms import Forms
from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD
from tests.support.protocols.reports import make_moderator

BOB, CAROL = 2, 3


@pytest.fixture
def staff(browser, store, alice, bob, carol):
    """The browser of carol, who is a moderator."""
    make_moderator(store, CAROL)
    return browser(carol)


def test_a_link_for_a_new_password_has_a_reason_of_its_own(staff, store, bob):
    Sanctions(store).impose(BOB, State.FROZEN, "insults")
    address = "/moderation/people/bob/"
    forms = Forms(page_of(staff.get(address)), address).found
    buttons = [{value for _, name, value in form.buttons if name == "act"} for form in forms]
    assert {"lift"} in buttons
    assert {"link"} in buttons
    page = page_of(staff.post(address, {"act": "link", "reason": ""}), 422)
    assert re.search(r'<textarea name="reason"[^>]*aria-invalid="true"[^>]*id="link_reason"', page)
    assert page.count('aria-invalid="true"') == 1


def test_a_link_for_a_new_password_works_once_and_is_in_the_log(staff, browser):
    answer = staff.post("/moderation/people/bob/", {"act": "link", "reason": "Met in person"})
    assert "no-store" in answer["Cache-Control"]
    link = re.search(r"http://testserver(/reset/[^/]+/)", answer.content.decode())[1]
    assert "autofocus" not in page_of(answer)  # the link stands above the form
    assert "Met in person" not in page_of(answer).partition("History")[0]
    new = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert browser().post(link, new).status_code == 302
    assert browser().post(link, new).status_code != 302
    assert "Password reset link created" in staff.get("/moderation/log/").content.decode()
