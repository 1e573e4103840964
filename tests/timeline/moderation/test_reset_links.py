"""Staff makes a link with which a person sets a new password."""

import re

import pytest

from accounts.community.acts import Roles
from accounts.community.log import Log
from accounts.community.sanctions import Sanctions
from accounts.signing_in.factors import CONFIRMED_COOKIE
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State, User
from tests.support.http.forms import Forms
from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD
from tests.support.protocols.reports import make_moderator
from tests.support.second_factors import App

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


LINK = {"act": "link", "reason": "Met in person"}


def made(answer):
    return re.search(r"http://testserver(/reset/[^/]+/)", answer.content.decode())[1]


def test_staff_with_a_second_factor_shows_it_before_a_link(staff, raw, store, monkeypatch):
    """A link opens an account, past its own second factor. Who has stolen a session of staff gets none."""
    app = App(monkeypatch)
    app.add(store, CAROL)
    answer = staff.post("/moderation/people/bob/", LINK)
    assert (answer.status_code, answer["Location"]) == (302, "/settings/confirm/?next=%2Fmoderation%2Fpeople%2Fbob%2F")
    assert raw.keys("reset:*") == []
    assert Log(store).about(BOB) == []
    assert staff.post("/moderation/people/bob/", {"act": "note", "note": "Called"})["Location"] != answer["Location"]
    assert staff.post(answer["Location"], {"code": app.next_code()}).status_code == 302
    assert CONFIRMED_COOKIE in staff.cookies
    assert made(staff.post("/moderation/people/bob/", LINK))


ENDS = {
    "they have lost the role": lambda store: Roles(store).give(CAROL, Role.MEMBER),
    "they are frozen": lambda store: Sanctions(store).impose(CAROL, State.FROZEN, "insults"),
    "they are suspended": lambda store: Sanctions(store).impose(CAROL, State.SUSPENDED, "insults"),
    "they have deleted their account": lambda store: AccountDeletion(store).delete(User(CAROL, "carol"), ""),
}


@pytest.mark.parametrize("why", ENDS)
def test_a_link_ends_when_the_moderator_may_make_none_any_more(staff, browser, store, why):
    link = made(staff.post("/moderation/people/bob/", LINK))
    assert browser().get(link).status_code == 200
    ENDS[why](store)
    assert browser().get(link).status_code == 410
    assert browser().post(link, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}).status_code == 410


def test_a_link_for_a_moderator_ends_when_the_admin_becomes_a_moderator(staff, browser, store):
    Roles(store).give(1, Role.ADMIN)
    Roles(store).give(CAROL, Role.ADMIN)
    Roles(store).give(BOB, Role.MODERATOR)
    link = made(staff.post("/moderation/people/bob/", LINK))
    assert browser().get(link).status_code == 200
    Roles(store).give(CAROL, Role.MODERATOR)
    assert browser().get(link).status_code == 410
