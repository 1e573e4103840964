"""What was typed comes back from a form that was refused: late, too large, too often, or while the store fails."""

import asyncio
import html
import re
from urllib.parse import urlencode

import pytest
from django.conf import settings

from retwis_site.server import rsgi
from tests.support.http.rsgi_requests import Headers, Protocol, Scope, answered

TEXT = 'Grüße an "alle" & jeden <3'
FORM = "application/x-www-form-urlencoded"
OWN = {"host": "testserver", "origin": "http://testserver"}  # what a browser says of a form of this site
TOO_MUCH = "x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def kept(page, name):
    """The text of a field on an error page; None without the field."""
    area = re.search(rf'<textarea[^>]* name="{name}"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    field = re.search(rf'<input[^>]* name="{name}" value="(.*?)"', page)
    found = area or field
    return html.unescape(found[1]) if found else None


def late(serving, monkeypatch, path, body, length):
    """The page for a form of which only this much arrives in time."""

    class Slow(Protocol):
        async def __aiter__(self):
            yield body
            await asyncio.Event().wait()

    monkeypatch.setattr(rsgi, "BODY_TIMEOUT", 0.01)
    headers = Headers([*OWN.items(), ("content-type", FORM), ("content-length", str(length))])
    answer = answered(serving, Scope(path=path, method="POST", headers=headers), Slow())
    assert answer.status == 408
    return b"".join(answer.chunks).decode()


def test_a_late_form_comes_back_with_what_has_arrived(serving, raw, monkeypatch):
    body = urlencode({"token": "abc", "body": TEXT}).encode()
    page = late(serving, monkeypatch, "/post/", body, len(body) + 10)
    assert kept(page, "body") == TEXT
    assert kept(page, "token") == "abc"
    assert "did not arrive in time" in page


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_late_form_comes_back_without_a_part_of_a_character(serving, raw, monkeypatch, cut):
    body = urlencode({"body": "ab\N{GRINNING FACE}"}).encode()  # %F0%9F%98%80
    assert kept(late(serving, monkeypatch, "/post/", body[:-cut], len(body)), "body") == "ab"


def test_a_late_login_comes_back_with_the_name_and_without_the_password(serving, raw, monkeypatch):
    body = urlencode({"next": "/people/", "username": "alice", "password": "secret-of-alice"}).encode()
    page = late(serving, monkeypatch, "/login/", body[:-3], len(body))
    assert kept(page, "username") == "alice"
    assert kept(page, "next") == "/people/"
    assert kept(page, "password") == ""
    assert "secret" not in page


def test_a_form_at_no_forms_address_comes_back_empty(serving, raw, monkeypatch):
    assert "<textarea" not in late(serving, monkeypatch, "/nothing/", b"body=x", 100)


def test_a_too_large_form_comes_back_up_to_the_limit(browser, alice):
    for answer in (
        browser(alice).post("/post/", urlencode({"body": TEXT, "more": TOO_MUCH}), content_type=FORM, headers=OWN),
        browser(alice).post("/post/", {"body": TEXT, "more": TOO_MUCH}, headers=OWN),  # multipart
    ):
        assert answer.status_code == 413
        assert kept(answer.content.decode(), "body") == TEXT
        assert "Shorten your text" in answer.content.decode()


def test_a_too_long_text_comes_back_up_to_the_limit(browser, alice):
    answer = browser(alice).post("/post/", urlencode({"body": TOO_MUCH + "end"}), content_type=FORM, headers=OWN)
    assert answer.status_code == 413
    assert kept(answer.content.decode(), "body") == TOO_MUCH[len("body=") :]


def test_what_is_no_form_comes_back_empty(browser, alice):
    for content_type in ("text/plain", "multipart/form-data; boundary=x", "multipart/form-data"):
        answer = browser(alice).post("/post/", TOO_MUCH + "x", content_type=content_type)
        assert answer.status_code == (
            413 if content_type == "text/plain" else 400
        )  # a form with pictures may be longer
        assert "<textarea" not in answer.content.decode()


def test_a_form_that_was_sent_too_often_comes_back(member, settings):
    settings.THROTTLE = True
    for number in range(61):
        answer = member.post("/post/", {"body": f"{TEXT} {number}", "token": f"t{number}"})
    assert answer.status_code == 429
    assert kept(answer.content.decode(), "body") == f"{TEXT} 60"
    assert kept(answer.content.decode(), "token") == "t60"
