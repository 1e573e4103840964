"""Sessions: each login has its own, and each ends on its own. What stands in the store, what opens nothing, and what a
device is called."""

import pytest
from hypothesis import given, strategies as st

from accounts.signing_in.sessions import entities
from accounts.signing_in.sessions.entities import (
    BROWSERS,
    LONGEST_READ,
    MOST_SESSIONS,
    SESSIONS,
    SYSTEMS,
    Device,
    device_of,
)
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import Verified
from retwis_site.exceptions import StoreReadOnly
from retwis_site.store.client import Store
from retwis_site.store.commands import READS
from retwis_site.store.local_cache import Memory
from tests.support.clock import Clock
from tests.support.people import LONG_AGO, PASSWORD, log_in, signed_in

HOUR = LONG_AGO // 3600 * 3600
FIREFOX = {"HTTP_USER_AGENT": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}


@pytest.fixture
def now(monkeypatch):
    """The clock of sessions: `now.now` is the time in unix seconds."""
    clock = Clock()
    clock.now = LONG_AGO
    monkeypatch.setattr(entities.time, "time", lambda: clock.now)
    return clock


def fields(raw, prefix):
    return {name.removeprefix(prefix): text for name, text in raw.hgetall("user:1").items() if name.startswith(prefix)}


# ---- beginning


def test_each_login_has_a_secret_of_its_own(browser, raw, alice, now):
    phone, desktop = browser(), browser()
    for client in (phone, desktop):
        client.post("/login/", {"username": "alice", "password": PASSWORD}, **FIREFOX)
    secrets = {client.cookies["auth"].value for client in (phone, desktop)}
    assert len(secrets) == 2
    assert fields(raw, "session:") == dict.fromkeys(secrets, f"{LONG_AGO}::Firefox:Linux")
    assert raw.hgetall("auths") == dict.fromkeys([alice.secret, *secrets], "1")
    assert raw.hget("user:1", "auth") == alice.secret


def test_a_login_writes_the_entry_first_and_then_commits(store, alice, sent):
    verified = Verified(alice.user)
    sent.round_trips.clear()
    secret = Sessions(store).open(verified, Device())
    assert [command[:3] for command in sent.commands] == [
        ("HSET", "auths", secret),
        ("HSET", "user:1", f"session:{secret}"),
        ("HGETALL", "user:1"),
    ]


def test_a_process_that_never_saw_a_session_asks_for_its_user_at_once(store, alice, round_trips):
    secret = Sessions(store).open(Verified(alice.user), Device("Firefox", "Linux"))
    assert secret[32:] == "1"
    Memory.clear_all()
    recorded = round_trips(lambda: Viewer(store, secret).user)
    assert len(recorded.round_trips) == 1


@pytest.mark.parametrize("uid", ["", "2", "3", "0", "x", "9" * 30])
def test_a_secret_with_another_uid_opens_nothing(store, alice, bob, uid):
    secret = Sessions(store).open(Verified(alice.user), Device("Firefox", "Linux"))
    assert not Viewer(store, secret[:32] + uid).user.is_authenticated


def test_the_uid_in_a_secret_is_only_a_guess(store, raw, alice, bob):
    secret = "0" * 32 + "2"
    raw.hset("auths", secret, "1")
    raw.hset("user:1", f"session:{secret}", "1::Firefox:Linux")
    assert Viewer(store, secret).user == alice.user


def test_the_official_secret_still_opens(store, alice):
    log_in(store)
    assert signed_in(store, alice)


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw, secret: raw.hdel("auths", secret),
        lambda raw, secret: raw.hdel("user:1", "auth", f"session:{secret}"),
        lambda raw, secret: raw.hset("auths", secret, "2"),
    ],
    ids=["a session without its entry", "an entry without its session", "an entry that leads to another user"],
)
def test_half_of_a_session_opens_nothing_nor_half_of_the_official_secret(store, raw, alice, bob, damage):
    session = log_in(store)
    for login in (alice, session):
        assert signed_in(store, login)
        damage(raw, login.secret)
        Memory.clear_all()
        assert not signed_in(store, login)


@pytest.mark.parametrize("value", ["", "x", "1", "-1::a:b", "1:other:a:b", "1.5::a:b", f"{10**20}::a:b", "::::"])
def test_a_value_of_another_kind_opens_nothing(store, raw, alice, value):
    login = log_in(store)
    raw.hset("user:1", f"session:{login.secret}", value)
    assert not signed_in(store, login)


def test_a_login_with_a_password_that_is_changed_meanwhile_has_ended_when_it_begins(store, raw, alice):
    Sessions(store).change_password(1, "another hash")
    secret = Sessions(store).open(Verified(alice.user), Device())
    assert not Viewer(store, secret).user.is_authenticated
    assert fields(raw, "session:") == {}
    assert not raw.hexists("auths", secret)


# ---- ending


def test_logging_out_ends_this_session_alone(browser, store, raw, alice):
    phone, desktop = log_in(store), log_in(store)
    assert "You are logged out." in browser(phone).post("/logout/", follow=True).content.decode()
    assert not signed_in(store, phone)
    assert signed_in(store, desktop)
    assert signed_in(store, alice)
    assert fields(raw, "session:").keys() == {desktop.secret}
    assert raw.hgetall("auths") == {alice.secret: "1", desktop.secret: "1"}


@pytest.mark.parametrize(
    ("is_official", "expected"),
    [
        (False, [("HDEL", "user:1"), ("HDEL", "auths"), ("HDEL", "user:1")]),
        (
            True,
            [
                *(("HDEL", "user:1"), ("ZADD", "outbox"), ("HSET", "user:1")),
                *(("HSET", "auths"), ("HDEL", "auths"), ("ZREM", "outbox")),
            ],
        ),
    ],
    ids=["a session of its own", "the official secret"],
)
def test_a_logout_sends_its_commands_in_the_order_of_the_protocol(browser, store, alice, sent, is_official, expected):
    client = browser(alice if is_official else log_in(store))
    client.get("/")
    sent.round_trips.clear()
    client.post("/logout/")
    assert [command[:2] for command in sent.commands if command[0] not in READS] == expected


def test_logging_out_with_the_official_secret_replaces_it_and_ends_no_other_session(browser, store, raw, alice):
    phone = log_in(store)
    browser(alice).post("/logout/")
    official = raw.hget("user:1", "auth")
    assert official != alice.secret
    assert not signed_in(store, alice)
    assert signed_in(store, phone)
    assert raw.hgetall("auths") == {official: "1", phone.secret: "1"}
    assert raw.zcard("outbox") == 0


def test_one_command_ends_all_sessions(store, raw, alice, sent):
    phone, desktop = log_in(store), log_in(store)
    sent.round_trips.clear()
    Sessions(store).end_all(1)
    (commit,) = [command for command in sent.commands if command[:2] == ("HSET", "user:1")]
    assert set(commit[2::2]) == {"auth", "generation"}
    assert not any(signed_in(store, login) for login in (phone, desktop, alice))
    assert fields(raw, "session:") == {}
    assert raw.hgetall("auths") == {raw.hget("user:1", "auth"): "1"}


def test_a_session_that_ended_stays_ended_when_a_page_is_still_under_way(store, raw, alice, now):
    login = log_in(store)
    raw.hset("user:1", f"used:{login.secret}", HOUR + 3600)  # by the page, after the logout
    Sessions(store).end(1, login.secret)
    raw.hset("user:1", f"used:{login.secret}", HOUR + 3600)
    assert not signed_in(store, login)
    log_in(store)
    assert login.secret not in fields(raw, "used:")


def test_a_second_logout_of_a_session_ends_nothing_else(store, raw, alice):
    login = log_in(store)
    for _ in range(2):
        Sessions(store).end(1, login.secret)
    assert signed_in(store, alice)


# ---- how many


def test_the_session_that_was_used_least_recently_ends_at_the_thirty_first_login(store, raw, alice, now):
    logins = [log_in(store) for _ in range(MOST_SESSIONS)]
    for number, login in enumerate(logins):
        raw.hset("user:1", f"used:{login.secret}", HOUR + 3600 * (10 if number == 0 else number))
    latest = log_in(store)
    assert not signed_in(store, logins[1])
    assert all(signed_in(store, login) for login in (logins[0], *logins[2:], latest))
    assert len(fields(raw, "session:")) == MOST_SESSIONS
    assert raw.hlen("auths") == MOST_SESSIONS + 1
    assert logins[1].secret not in fields(raw, "used:")


def test_a_login_never_ends_itself(store, raw, alice, now):
    for _ in range(MOST_SESSIONS):
        log_in(store)
    now.now = LONG_AGO - 10**6  # the clock of this machine is behind
    assert signed_in(store, log_in(store))
    assert len(fields(raw, "session:")) == MOST_SESSIONS


# ---- when it was used


def test_the_hour_of_the_last_use_is_written_once_an_hour(browser, store, raw, alice, now, round_trips):
    login = log_in(store)
    client = browser(login)
    costs = []
    for at in (LONG_AGO, LONG_AGO + 1, LONG_AGO + 3600, LONG_AGO + 3601, LONG_AGO + 7200):
        now.now = at
        recorded = round_trips(lambda: client.get("/settings/"))
        costs.append(len([command for command in recorded.commands if command[:2] == ("HSET", "user:1")]))
    assert costs == [0, 0, 1, 0, 1]
    assert fields(raw, "used:") == {login.secret: str(HOUR + 7200)}
    [session] = SESSIONS.standing_in(raw.hgetall("user:1")).values()
    assert (session.since, session.used) == (LONG_AGO, HOUR + 7200)


def test_a_store_that_takes_no_writes_still_shows_pages(store, alice, now, monkeypatch):
    login = log_in(store)
    now.now += 3600
    send = Store.hset

    def refuse(self, key, values):
        raise StoreReadOnly("it is a replica") if key == "user:1" else send(self, key, values)

    monkeypatch.setattr(Store, "hset", refuse)
    assert signed_in(store, login)


# ---- What a device is called, from its User-Agent.


MOZILLA = "Mozilla/5.0"


@pytest.mark.parametrize(
    ("header", "browser", "system"),
    [
        (f"{MOZILLA} (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox", "Linux"),
        (f"{MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36", "Chrome", "Windows"),
        (f"{MOZILLA} (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0", "Edge", "Windows"),
        (f"{MOZILLA} (Macintosh; Intel Mac OS X 14_1) AppleWebKit/605 Version/17.1 Safari/605.1", "Safari", "macOS"),
        (f"{MOZILLA} (iPhone; CPU iPhone OS 17_1 like Mac OS X) Version/17.1 Safari/604.1", "Safari", "iPhone"),
        (f"{MOZILLA} (iPhone; CPU iPhone OS 17_1 like Mac OS X) CriOS/120.0 Safari/604.1", "Chrome", "iPhone"),
        (f"{MOZILLA} (iPad; CPU OS 17_1 like Mac OS X) FxiOS/121.0 Safari/604.1", "Firefox", "iPad"),
        (f"{MOZILLA} (Linux; Android 14) SamsungBrowser/23.0 Chrome/115.0 Safari/537", "Samsung Internet", "Android"),
        (f"{MOZILLA} (X11; CrOS x86_64 14541) Chrome/120.0 Safari/537.36 OPR/106.0", "Opera", "ChromeOS"),
        ("curl/8.5.0", "curl", ""),
        ("", "", ""),
        ("Retwis for robots", "", ""),
    ],
)
def test_a_device_has_the_name_that_people_know(header, browser, system):
    assert device_of(header) == Device(browser, system)


@given(st.text() | st.sampled_from([*BROWSERS, *SYSTEMS, ":", "\0", "\n"]).map(lambda part: f"<{part}:1:2"))
def test_no_header_brings_anything_else_into_the_store(header):
    device = device_of(header)
    assert device.browser in {"", *BROWSERS.values()}
    assert device.system in {"", *SYSTEMS.values()}


def test_no_name_has_the_sign_that_parts_them():
    assert not any(":" in name for name in (*BROWSERS.values(), *SYSTEMS.values()))


def test_only_the_beginning_of_a_header_is_read():
    assert device_of("x" * LONGEST_READ + "Firefox/1") == Device()
