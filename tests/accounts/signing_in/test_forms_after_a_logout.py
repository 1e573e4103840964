"""What was typed into a form stays on the page when its writer has logged out meanwhile, in another tab."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD
from tests.support.stored_keys import everything
from tests.support.stored_posts import write_posts

FORMS = {
    "/@Alice/1/edit/": {"body": "Better words"},
    "/@bob/report/": {"reason": "spam", "note": "The same text each hour"},
    "/@bob/2/report/": {"reason": "spam", "note": ""},
    "/settings/words/": {"words": "green tea", "where": "home", "how": "hide", "days": ""},
    "/settings/": {"name": "", "bio": "", "label_1": "Garden", "value_1": "12 m²"},
    "/first-steps/": {"name": "Ann", "bio": "", "body": "My first post", "token": "a-token"},
}

pytestmark = pytest.mark.usefixtures("site")


@pytest.fixture
def site(alice, bob, raw):
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [2])


@pytest.mark.parametrize(("address", "form"), FORMS.items())
def test_a_form_with_text_is_shown_again_and_can_be_sent_after_the_login(browser, alice, raw, address, form):
    client, phone = browser(alice), browser(alice)
    phone.post("/logout/")
    before = everything(raw)
    page = page_of(client.post(address, form), 403)
    assert "Nothing was saved. Log in in another window, then send this form again." in page
    assert '<a class="button quiet" href="/login/" target="_blank">Log in</a>' in page
    assert f'<form method="post" action="{address}"' in page
    for name, text in form.items():
        assert f'name="{name}"' in page
        assert text in page
    assert everything(raw) == before
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    assert client.post(address, form).status_code == 302


@pytest.mark.parametrize(
    ("address", "form"),
    [("/settings/notifications/", {"like": "1"}), ("/@bob/2/like/", {}), ("/settings/password/", {"password": "x"})],
)
def test_a_form_without_a_text_leads_to_the_login(browser, address, form):
    answer = browser().post(address, form)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=")


def test_a_form_that_another_site_sends_is_not_shown_with_a_button(browser):
    page = page_of(browser().post("/@bob/report/", {"note": "Evil"}, headers={"origin": "https://evil.example"}), 403)
    assert 'action="/@bob/report/"' not in page


@pytest.mark.parametrize("address", ["/settings/confirm/", "/login/second/"])
def test_no_code_is_shown_again(browser, address):
    assert "ABCD" not in page_of(browser().post(address, {"code": "ABCD-EFGH", "next": "/"}), 302)


def test_no_cache_keeps_what_was_typed(browser):
    answer = browser().post("/@bob/report/", {"reason": "spam", "note": "The same text each hour"})
    assert answer["Cache-Control"] == "private, no-store"
    assert "Pictures" not in answer.content.decode()


def test_the_page_says_that_a_picture_must_be_chosen_again(browser):
    picture = SimpleUploadedFile("me.png", b"not looked at", "image/png")
    answer = browser().post("/settings/", {"name": "Ann", "bio": "I bake.", "picture": picture})
    assert "I bake." in answer.content.decode()
    assert "Pictures that you chose are not sent again." in answer.content.decode()


def token_on(page):
    return re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.content.decode())[-1]


def test_the_form_is_sent_after_the_login_whose_token_is_another_one(raw):
    client = Client(enforce_csrf_checks=True, headers={"origin": "http://testserver"})
    logged_in = {"username": "alice", "password": PASSWORD}
    client.post("/login/", {**logged_in, "csrfmiddlewaretoken": token_on(client.get("/login/"))})
    sent = {"reason": "spam", "note": "The same text", "csrfmiddlewaretoken": token_on(client.get("/@bob/report/"))}
    client.post("/logout/", {"csrfmiddlewaretoken": sent["csrfmiddlewaretoken"]})
    kept = client.post("/@bob/report/", sent)
    assert "You are logged out" in kept.content.decode()
    client.post("/login/", {**logged_in, "csrfmiddlewaretoken": token_on(client.get("/login/"))})
    again = client.post("/@bob/report/", {**sent, "csrfmiddlewaretoken": token_on(kept)})
    assert (again.status_code, "The same text" in again.content.decode()) == (403, True)  # with a token that fits now
    assert client.post("/@bob/report/", {**sent, "csrfmiddlewaretoken": token_on(again)}).status_code == 302
    assert raw.keys("report:*")
