"""Passwords are hashed a few at a time and at a low priority. Forms with a password wait in a queue; other requests do
not, and a full queue is a 503 at once."""

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from accounts.signing_in.passwords import HASHING, NICENESS, NICENESS_IN_A_CROWD, LeanArgon2PasswordHasher
from tests.support.hashers import busy
from tests.support.http.http_browser import TIMEOUT
from tests.support.http.rsgi_requests import Headers, Protocol, Scope
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.processes.processes import wait_until

TOKEN = "c" * 32
LOGIN = {"username": "alice", "password": PASSWORD, "next": "/people/"}
CHANGE = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
FORMS = {
    "/login/": LOGIN,
    "/register/": {"username": "dora", "password1": PASSWORD, "password2": PASSWORD},
    "/settings/password/": CHANGE,
    "/settings/delete/": {"password": PASSWORD},
}


def full():
    return busy(*(f"203.0.113.{number}" for number in range(HASHING.waiting)))


def seen_at_hashes(monkeypatch, look):
    """What `look` returns at each hash that is made or compared."""
    seen = []
    for name in ("encode", "verify"):
        real = getattr(Argon2PasswordHasher, name)

        def noted(self, *arguments, real=real):
            seen.append(look())
            return real(self, *arguments)

        monkeypatch.setattr(Argon2PasswordHasher, name, noted)
    return seen


@pytest.fixture
def hashes(monkeypatch):
    """How many requests are at work, at each hash."""
    return seen_at_hashes(monkeypatch, lambda: len(HASHING._at_work))


def is_refused(answer):
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert answer["Cache-Control"] == "no-store"
    page = answer.content.decode()
    assert "Too busy right now" in page
    assert "Send it again" in page
    assert PASSWORD not in page
    return page


@pytest.mark.parametrize("path", FORMS)
def test_every_form_hashes_after_it_has_waited(browser, alice, hashes, path):
    assert browser(alice).post(path, FORMS[path]).status_code == 302
    assert hashes
    assert set(hashes) == {1}
    assert not HASHING._at_work


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
@pytest.mark.parametrize("name", ["alice", "bob", "nobody"])
def test_every_login_is_one_hash(browser, alice, bob, raw, hashes, name, password):
    """Also for a wrong password, an unknown name and the damaged hash of bob."""
    raw.hset("user:2", "password", "argon2$damaged")
    browser().post("/login/", {**LOGIN, "username": name, "password": password})
    assert hashes == [1]


@pytest.mark.parametrize("path", FORMS)
def test_a_full_queue_is_a_503_that_hashes_nothing_and_counts_nothing(browser, alice, raw, hashes, path):
    before = raw.hgetall("user:1")
    with full():
        is_refused(browser(alice).post(path, FORMS[path]))
    assert hashes == []
    assert raw.keys("throttle:*") == []
    assert raw.hgetall("user:1") == before
    assert browser(alice).post(path, FORMS[path]).status_code == 302


def test_the_page_of_a_refused_login_keeps_the_name(browser, alice):
    with full():
        page = is_refused(browser().post("/login/", LOGIN))
    assert 'name="username" value="alice"' in page
    assert 'name="next" value="/people/"' in page


def test_an_address_that_fills_the_queue_is_refused_and_no_other(browser, alice):
    answers = []
    with busy("127.0.0.1", times=HASHING.waiting) as places:
        is_refused(browser().post("/login/", LOGIN))
        bob = threading.Thread(target=lambda: answers.append(browser().post("/login/", LOGIN, REMOTE_ADDR="192.0.2.7")))
        bob.start()
        wait_until(lambda: "192.0.2.7" in HASHING._lines, "the login of another address")
        HASHING.leave(places[0])  # one of 127.0.0.1 begins
        HASHING.leave(places[1])
        bob.join(TIMEOUT)
    assert [answer.status_code for answer in answers] == [302]


def test_threads_of_another_web_server_hash_only_a_few_at_once(browser, alice, hashes):
    def log_in(number):
        assert browser().post("/login/", LOGIN, REMOTE_ADDR=f"198.51.100.{number}").status_code == 302

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(log_in, range(16)))
    assert len(hashes) == 16
    assert set(hashes) <= set(range(1, HASHING.at_once + 1))


def test_pages_and_other_forms_do_not_wait(browser, alice):
    with full():
        client = browser(alice)
        assert client.get("/").status_code == 200
        assert client.post("/post/", {"body": "Hello", "token": "t"}).status_code == 302
        assert {client.get(path).status_code for path in ("/settings/password/", "/settings/delete/")} == {200}
        assert browser().get("/login/").status_code == 200


def test_a_login_without_its_token_is_refused_as_such(browser, alice):
    with full():
        assert browser(csrf=True).post("/login/", LOGIN).status_code == 403


# ---- under `serve`


def scope(path, fields, method="POST"):
    body = urlencode({"csrfmiddlewaretoken": TOKEN, **fields}).encode()
    headers = Headers([("host", "localhost"), ("cookie", f"csrftoken={TOKEN}"), ("content-length", str(len(body)))])
    headers.append(("content-type", "application/x-www-form-urlencoded"))
    return Scope(path, method=method, headers=headers), Protocol(body)


async def waits(serving, path, fields, method="POST"):
    """A request that waits in the queue: its task, and the answer to come."""
    request, protocol = scope(path, fields, method)
    task = asyncio.create_task(serving.application.__rsgi__(request, protocol))
    while request.client.partition(":")[0] not in HASHING._lines:
        assert not task.done()
        await asyncio.sleep(0)
    return task, protocol


@pytest.mark.parametrize("method", ["POST", "post"])
def test_the_event_loop_handles_other_forms_while_logins_wait(serving, raw, alice, method):
    async def run():
        with busy() as places:
            threads = threading.active_count()
            logins = [await waits(serving, "/login/", LOGIN, method) for _ in range(5)]
            assert threading.active_count() == threads
            request, post = scope("/logout/", {})
            await serving.application.__rsgi__(request, post)
            assert post.status == 302
            assert {login.status for _, login in logins} == {None}
            HASHING.leave(places[0])
            await asyncio.gather(*(task for task, _ in logins))
            assert {login.status for _, login in logins} == {302}

    asyncio.run(run())
    assert not HASHING._at_work
    assert not HASHING._lines


def test_a_login_is_handled_in_a_thread_of_its_own(serving, raw, alice, monkeypatch):
    threads = []
    monkeypatch.setattr(
        serving,
        "site",
        lambda *arguments, real=serving.site: threads.append(threading.current_thread()) or real(*arguments),
    )
    request, protocol = scope("/login/", LOGIN)
    asyncio.run(serving.application.__rsgi__(request, protocol))
    assert protocol.status == 302
    assert threads != [threading.current_thread()]


def test_a_full_queue_is_the_same_page(serving, raw, alice):
    request, protocol = scope("/login/", LOGIN)
    with full():
        asyncio.run(serving.application.__rsgi__(request, protocol))
    assert protocol.status == 503
    assert protocol.headers["retry-after"] == "5"
    assert b'name="username" value="alice"' in protocol.chunks[0]


def test_a_request_that_is_cancelled_while_it_waits_gives_up_its_place(serving, raw, alice):
    async def run():
        with busy():
            task, _ = await waits(serving, "/login/", LOGIN)
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(run())
    assert not HASHING._at_work
    assert not HASHING._lines


# ---- Passwords are hashed at a lower priority than that of pages, and at a still lower one when others wait.


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")


def priority():
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.fixture
def priorities(monkeypatch):
    """The priority at each hash."""
    return seen_at_hashes(monkeypatch, priority)


@on_linux
def test_a_hash_is_made_and_compared_at_a_lower_priority(priorities):
    before = priority()
    hasher = LeanArgon2PasswordHasher()
    encoded = hasher.encode("correct horse", hasher.salt())
    assert hasher.verify("correct horse", encoded)
    assert not hasher.verify("wrong horse", encoded)
    assert priorities == [max(before, NICENESS)] * 3
    assert priority() == before


@on_linux
def test_while_other_passwords_wait_a_hash_makes_way_still_more(priorities):
    before = priority()
    hasher = LeanArgon2PasswordHasher()
    with busy("192.0.2.1"):
        hasher.encode("correct horse", hasher.salt())
    hasher.encode("correct horse", hasher.salt())
    assert priorities == [max(before, NICENESS_IN_A_CROWD), max(before, NICENESS)]


@on_linux
def test_an_error_of_the_hash_reaches_the_caller():
    with pytest.raises(ValueError, match="not enough values"):
        LeanArgon2PasswordHasher().verify("correct horse", "no hash")
