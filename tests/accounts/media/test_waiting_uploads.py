"""However few bytes a picture has, it waits for its turn to be decoded, and nothing waits for it: 2 KB may be fifty
megapixels."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from accounts.media import repository
from accounts.media.decoding import NoPicture
from retwis_site.features import A_TEXT, UPLOADS
from tests.support.apps import token_of
from tests.support.http.rsgi_requests import Headers, Protocol, Scope
from tests.support.pictures import uploaded

FORM = "multipart/form-data; boundary=x"


@contextmanager
def full():
    """During the block others are decoding, and as many wait as may."""
    places = [UPLOADS.enter(f"203.0.113.{number}") for number in range(UPLOADS.at_once + UPLOADS.waiting)]
    try:
        yield
    finally:
        for place in places:
            UPLOADS.leave(place)


def form(disposition, *texts, name="picture"):
    """The body of a form with a file or a field, whose header says this of it, and these texts."""
    fields = [(field, "", text) for field, text in texts] + [(name, disposition, "GIF89a")]
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{field}"{further}\r\n\r\n{text}\r\n'
        for field, further, text in fields
    ]
    return f"{''.join(parts)}--x--\r\n"


@pytest.mark.parametrize(
    "disposition",
    [
        '; filename="a.gif"',
        "; filename=a.gif",
        '; FileName="a.gif"',
        '; filename = "a.gif"',
        '; filename=""a.gif',
        '; filename=""; filename="a.gif"',
        "; filename*=utf-8''a.gif",
        ";\n filename=a.gif",
        '; filename=""\na.gif',
    ],
)
def test_a_small_picture_waits_however_its_name_is_written(member, raw, disposition):
    body = form(disposition, ("body", "hello"))
    with full():
        answer = member.generic("POST", "/post/", body, FORM)
    assert (answer.status_code, raw.exists("updates:1")) == (503, 0)


@pytest.mark.parametrize("disposition", ['; filename=""', '; filename=""; x=y', ""])
def test_a_post_without_a_picture_waits_for_nobody(member, raw, disposition):
    with full():
        answer = member.generic("POST", "/post/", form(disposition, ("body", "Which filename?")), FORM)
    assert (answer.status_code, raw.zcard("updates:1")) == (302, 1)


def test_a_larger_form_waits_whatever_is_in_it(member, raw):
    with full():
        answer = member.generic("POST", "/post/", form("", ("body", "hello"), ("pad", "x" * A_TEXT)), FORM)
    assert (answer.status_code, raw.exists("updates:1")) == (503, 0)


@pytest.mark.parametrize("address", ["/settings/", "/first-steps/"])
def test_so_does_that_of_a_profile(member, raw, address):
    with full():
        answer = member.post(address, {"picture": uploaded(size=(10, 10))})
    assert (answer.status_code, raw.keys("media:*")) == (503, [])


@pytest.mark.parametrize(
    ("method", "address", "name"),
    [
        ("POST", "/api/v1/media", "file"),
        ("POST", "/api/v2/media/", "file"),
        ("PATCH", "/api/v1/accounts/update_credentials", "avatar"),
    ],
)
def test_so_does_that_of_an_app(client, raw, alice, method, address, name):
    shown = {"Authorization": f"Bearer {token_of(alice)}"}
    with full():
        answer = client.generic(method, address, form('; filename="a.gif"', name=name), FORM, headers=shown)
    assert (answer.status_code, raw.keys("media*")) == (503, [])


@pytest.mark.parametrize("form_type", [FORM, "Multipart/Form-Data; boundary=x; charset=utf-8"])
def test_under_serve_the_event_loop_decodes_nothing(serving, raw, alice, monkeypatch, form_type):
    decoding = []

    def note(content, shape):
        decoding.append(threading.current_thread())
        raise NoPicture

    monkeypatch.setattr(repository, "decoded", note)
    body = form('; filename="a.gif"', name="file").encode()
    headers = Headers([("host", "localhost"), ("content-length", str(len(body))), ("content-type", form_type)])
    headers.append(("authorization", f"Bearer {token_of(alice)}"))
    protocol = Protocol(body)

    async def run():
        await serving.application.__rsgi__(Scope("/api/v1/media", method="POST", headers=headers), protocol)
        return threading.current_thread()

    loop = asyncio.run(run())
    assert protocol.status == 422
    assert len(decoding) == 1
    assert loop not in decoding


def test_the_queue_knows_how_much_memory_a_form_takes(serving, member, raw, alice, monkeypatch):
    """Under `serve`, where the event loop has read it, and under other servers."""
    real, sizes = UPLOADS.enter, []
    monkeypatch.setattr(UPLOADS, "enter", lambda address, size=0: sizes.append(size) or real(address, size))
    body = form('; filename="a.gif"').encode()
    assert member.generic("POST", "/post/", body, FORM).status_code == 422
    headers = Headers([("host", "localhost"), ("content-length", str(len(body))), ("content-type", FORM)])
    asyncio.run(serving.application.__rsgi__(Scope("/post/", method="POST", headers=headers), Protocol(body)))
    assert sizes == [len(body)] * 2
