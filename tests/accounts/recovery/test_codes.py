"""The ways to a new password: recovery codes, and links of the operator."""

import re

import pytest
import redis

from accounts.community.acts import Roles
from accounts.community.log import Log
from accounts.community.sanctions import Sanctions
from accounts.recovery.codes import LIVES, NUMBER, RecoveryCodes, ResetLinks, field_of
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State
from tests.support.command_output import refuses, said
from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD, PASSWORD, log_in
from tests.support.stores.seam import before_round_trip, killed_before_round_trip

URL = "/recover/"
SETTINGS = "/settings/recovery/"
FULL = redis.OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")


def shown(page):
    return re.findall(r'<code dir="ltr">([^<]+)</code>', page)


def stored(raw, uid=1):
    return {name for name in raw.hkeys(f"user:{uid}") if name.startswith("recovery:")}


def form(code, username="alice", password=NEW_PASSWORD):
    return {"username": username, "code": code, "password1": password, "password2": password}


@pytest.fixture
def codes(store, alice):
    return RecoveryCodes(store).make(1)


def test_a_new_password_leads_on_to_the_page_that_asked_for_the_login(client, codes):
    after = "?next=%2Foauth%2Fauthorize%3Fclient_id%3Dx"
    assert f'<a href="{URL}{after}">' in page_of(client.get(f"/login/{after}"))
    page = page_of(client.get(f"{URL}{after}"))
    assert '<input type="hidden" name="next" value="/oauth/authorize?client_id=x">' in page
    changed = client.post(URL, {**form(codes[0], "@Alice"), "next": "/oauth/authorize?client_id=x"})
    assert changed["Location"] == f"/login/{after}"
    assert client.post(URL, {**form(codes[1]), "next": "https://bad.example/"})["Location"] == "/login/"


# ---- making


def test_there_are_ten_codes_of_eighty_bits_kept_only_hashed(raw, codes):
    assert len(set(codes)) == NUMBER
    assert all(re.fullmatch(r"[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}", code) for code in codes)
    assert stored(raw) == {field_of(1, code) for code in codes}
    everything = str(raw.hgetall("user:1"))
    assert not any(code in everything or code.replace("-", "") in everything for code in codes)


def test_new_codes_replace_the_old_ones(store, raw, codes):
    new = RecoveryCodes(store).make(1)
    assert stored(raw) == {field_of(1, code) for code in new}


def test_two_users_never_share_a_field():
    assert field_of(1, "0123-4567-89ab-cdef") != field_of(2, "0123-4567-89ab-cdef")


def test_after_registering_one_sees_codes_without_typing_the_password_again(client, raw):
    client.post("/register/", {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD})
    page = client.get(SETTINGS).content.decode()
    assert "Skip this for now" in page
    assert 'name="password"' not in page
    page = client.post(SETTINGS).content.decode()
    assert {field_of(1, code) for code in shown(page)} == stored(raw)
    assert "Recovery codes of @Dora on http://testserver" in page  # people print it, and may have two accounts
    assert shown(client.get(SETTINGS).content.decode()) == []


def test_the_codes_are_a_text_file_too_with_nothing_else_in_it(store, raw, member, bob, codes):
    of_bob = RecoveryCodes(store).make(2)
    answer = member.post(f"{SETTINGS}file/", {"codes": " ".join([codes[0], "<script>", of_bob[0], codes[1].upper()])})
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="recovery-codes.txt"'
    assert "no-store" in answer["Cache-Control"]
    title, how, *rest = answer.content.decode().splitlines()
    assert (title, how) == (
        "Recovery codes of @Alice on http://testserver",
        "Each one sets a new password once: http://testserver/recover/",
    )
    assert rest == ["", codes[0], codes[1].upper()]
    assert member.post(f"{SETTINGS}file/", {"codes": of_bob[0]})["Location"] == SETTINGS
    assert member.get(f"{SETTINGS}file/").status_code == 405


def test_later_the_password_is_asked_for(browser, store, raw, alice, codes):
    client = browser(log_in(store))
    before = stored(raw)
    assert "You have 10 codes left" in client.get(SETTINGS).content.decode()
    for typed in ({}, {"password": "wrong"}):
        assert client.post(SETTINGS, typed).status_code == 422
    assert stored(raw) == before
    page = client.post(SETTINGS, {"password": PASSWORD}).content.decode()
    assert {field_of(1, code) for code in shown(page)} == stored(raw) != before


def test_the_first_codes_need_the_password_when_the_login_is_long_ago(browser, store, raw, alice):
    login = log_in(store)
    raw.hset("user:1", f"session:{login.secret}", "1700000000::Firefox:Linux")
    for client in (browser(login), browser(alice)):
        assert client.post(SETTINGS).status_code == 422
    assert stored(raw) == set()


def test_nobody_gets_codes_without_the_password_by_ending_all_other_sessions(browser, store, raw, alice):
    """It makes a new session: for somebody who has found an open browser, perhaps."""
    login = log_in(store)
    raw.hset("user:1", f"session:{login.secret}", "1700000000::Firefox:Linux")
    for client in (browser(login), browser(alice)):
        client.post("/settings/sessions/", {"end": "others"})
        assert client.post(SETTINGS).status_code in {302, 422}
    assert stored(raw) == set()


@pytest.mark.parametrize("step", range(4))
def test_a_process_that_dies_while_it_makes_codes_leaves_the_old_ones(store, raw, codes, step):
    old = stored(raw)
    killed = killed_before_round_trip(step, lambda: RecoveryCodes(store).make(1))
    assert killed == (step < 3)
    assert stored(raw) >= old if killed else not stored(raw) & old


# ---- using


@pytest.mark.parametrize("change", [str, str.upper, lambda code: code.replace("-", " "), lambda c: c.replace("0", "O")])
def test_a_code_sets_a_new_password_and_ends_all_sessions(browser, store, raw, alice, codes, change):
    login = log_in(store)
    answer = browser().post(URL, form(change(codes[3])), follow=True)
    assert answer.redirect_chain == [("/login/", 302)]
    assert "Your password was changed. Log in with it." in answer.content.decode()
    assert not any(Viewer(store, one.secret).user.is_authenticated for one in (login, alice))
    assert log_in(store) is None
    assert log_in(store, password=NEW_PASSWORD) is not None
    assert len(stored(raw)) == NUMBER - 1


def test_a_code_works_once(browser, store, codes):
    browser().post(URL, form(codes[0]))
    page = page_of(browser().post(URL, form(codes[0], password="another password")), 422)
    assert "Wrong username or recovery code" in page
    assert log_in(store, password=NEW_PASSWORD) is not None


def test_a_form_whose_answer_was_lost_says_when_it_comes_again_that_the_new_password_may_count(browser, store, codes):
    browser().post(URL, form(codes[0]))
    page = page_of(browser().post(URL, form(codes[0])), 422)
    assert "Each code works once: if you used it, log in with the new password." in page
    assert log_in(store, password=NEW_PASSWORD) is not None


@pytest.mark.parametrize("refused", ["ZADD", "HSET"])
@pytest.mark.parametrize("way", ["code", "link"])
def test_a_store_without_memory_takes_no_code_and_ends_no_link(
    browser, store, raw, monkeypatch, codes, token, way, refused
):
    url, typed = {"code": (URL, form(codes[0])), "link": (f"/reset/{token}/", FORM)}[way]
    real = store.transport.exchange

    def exchange(queued):
        replies = iter(real([one for one in queued if one[0][0] != refused]))
        return [FULL if one[0][0] == refused else next(replies) for one in queued]

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(store.transport, "exchange", exchange)
        assert browser().post(url, typed).status_code == 503
    assert len(stored(raw)) == NUMBER
    assert browser().post(url, typed).status_code == 302
    assert log_in(store, password=NEW_PASSWORD) is not None


@pytest.mark.parametrize(
    ("name", "code"), [("alice", "0000-0000-0000-0000"), ("nobody", "first"), ("bob", "first"), ("alice", "x" * 5000)]
)
def test_a_wrong_code_and_an_unknown_name_are_answered_alike(browser, store, raw, codes, bob, name, code):
    before = raw.hgetall("user:1")
    answer = browser().post(URL, form(codes[0] if code == "first" else code, username=name))
    assert answer.status_code == 422
    assert raw.hgetall("user:1") == before


def test_a_weak_password_takes_no_code(browser, raw, codes):
    for password in ("short", "password123", "Retwis", "alice"):
        assert browser().post(URL, form(codes[0], password=password)).status_code == 422
    assert len(stored(raw)) == NUMBER


def test_the_codes_of_a_deleted_account_open_nothing(browser, store, alice, codes):
    AccountDeletion(store).delete(alice.user, alice.secret)
    assert browser().post(URL, form(codes[0])).status_code == 422


def test_wrong_codes_are_limited_for_an_account_and_an_address(browser, raw, settings, codes):
    settings.THROTTLE = True
    for _ in range(10):
        assert browser().post(URL, form("wrong")).status_code == 422
    assert browser().post(URL, form(codes[0])).status_code == 429
    assert raw.zcard("throttle:recovery:127.0.0.1") == 11  # of all accounts
    assert browser().post(URL, form(codes[0]), REMOTE_ADDR="192.0.2.7").status_code == 302


def test_passwords_that_ask_for_new_codes_are_limited(browser, raw, settings, alice):
    settings.THROTTLE = True
    browser(alice).post("/settings/recovery/", {"password": "wrong"})
    assert raw.zcard("throttle:codes:1") == 1


def test_the_login_page_leads_to_it_and_the_registration_page_says_what_nobody_can_do(browser, raw):
    assert 'href="/recover/"' in browser().get("/login/").content.decode()
    assert "Nobody can send you a forgotten password by e-mail" in browser().get("/register/").content.decode()


# ---- Links for a new password: `manage.py user resetlink` makes one, and it works once.


FORM = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


@pytest.fixture
def token(store, alice):
    return ResetLinks(store).make(1)


@pytest.fixture
def url(token):
    return f"/reset/{token}/"


def ended(answer):
    return answer.status_code == 410 and "This link no longer works" in answer.content.decode()


def test_only_the_hash_of_a_token_is_kept_and_for_a_day(raw, token):
    [key] = raw.keys("reset:*")
    assert token not in key
    assert raw.get(key) == "1::"
    assert LIVES - 60 < raw.ttl(key) <= LIVES == 24 * 3600
    assert len(token) == 43


def test_a_link_sets_a_password_and_ends_all_sessions(client, store, raw, alice, url):
    login = log_in(store)
    assert "@Alice" in client.get(url).content.decode()
    assert "no-store" in client.get(url)["Cache-Control"]
    assert client.post(url, FORM, follow=True).redirect_chain == [("/login/", 302)]
    assert not any(Viewer(store, one.secret).user.is_authenticated for one in (login, alice))
    assert log_in(store) is None
    assert log_in(store, password=NEW_PASSWORD) is not None


def test_a_used_link_says_so(browser, store, url):
    browser().post(url, FORM)
    assert ended(browser().get(url))
    assert ended(browser().post(url, {"password1": "something else", "password2": "something else"}))
    assert log_in(store, password=NEW_PASSWORD) is not None


def test_an_expired_link_says_so(browser, raw, url):
    raw.delete(*raw.keys("reset:*"))
    assert ended(browser().get(url))


@pytest.mark.parametrize("token", ["x", "0" * 43, "x" * 3000, "ä", "a b", "..", "%00", "1:"])
def test_any_other_token_is_answered_alike(browser, store, alice, token):
    assert ended(browser().get(f"/reset/{token}/"))
    assert ended(browser().post(f"/reset/{token}/", FORM))


@pytest.mark.parametrize("value", ["", "x", "0::", "99::", "1:other:", "1::other", "1:", "1", "1::"])
def test_a_value_of_another_kind_opens_nothing_but_for_the_user_that_it_names(browser, raw, url, value):
    [key] = raw.keys("reset:*")
    raw.set(key, value)
    assert ended(browser().get(url)) == (value != "1::")


def test_a_password_change_ends_the_links_that_were_made_before(browser, store, url):
    Sessions(store).change_password(1, "another hash")
    assert ended(browser().get(url))
    assert browser().get(f"/reset/{ResetLinks(store).make(1)}/").status_code == 200


def test_a_newer_link_ends_the_older_ones(browser, store, bob, url):
    of_bob = f"/reset/{ResetLinks(store).make(2)}/"
    newest = [f"/reset/{ResetLinks(store).make(1)}/" for _ in range(3)][-1]
    for _ in range(2):
        assert ended(browser().get(url))
        assert ended(browser().post(url, FORM))
        assert browser().get(newest).status_code == 200
    assert browser().post(newest, FORM).status_code == 302
    assert ended(browser().get(url))
    assert browser().get(of_bob).status_code == 200


def test_of_links_made_at_once_one_works(browser, store, alice):
    made = []
    for number in range(2):
        with before_round_trip(number, lambda: made.append(ResetLinks(store).make(1))):
            made.append(ResetLinks(store).make(1))
        works = [token for token in made if browser().get(f"/reset/{token}/").status_code == 200]
        assert len(works) == 1


def test_a_link_of_an_earlier_version_works_until_there_is_a_newer_one(browser, store, raw, url):
    raw.hdel("user:1", "reset_link")
    assert browser().get(url).status_code == 200
    ResetLinks(store).make(1)
    assert ended(browser().get(url))


def test_a_link_of_a_deleted_account_says_that_it_no_longer_works(browser, store, alice, url):
    AccountDeletion(store).delete(alice.user, alice.secret)
    assert ended(browser().get(url))


def test_a_link_for_a_member_opens_no_account_of_staff(browser, store, raw, url):
    """Else a moderator could keep one, and wait until the member becomes an admin."""
    Roles(store).give(1, Role.ADMIN)
    assert ended(browser().get(url))
    assert ended(browser().post(url, FORM))
    assert not ended(browser().get(f"/reset/{ResetLinks(store).make(1)}/"))


@pytest.mark.parametrize("password", ["short", "password123", "Alice", "reTWIS"])
def test_a_bad_password_takes_no_link(browser, raw, url, password):
    assert browser().post(url, {"password1": password, "password2": password}).status_code == 422
    assert raw.keys("reset:*") != []


def test_setting_a_password_with_links_is_limited(browser, settings, url):
    settings.THROTTLE = True
    for _ in range(60):
        browser().post(url, {})
    assert browser().post(url, FORM).status_code == 429


def test_the_command_prints_an_address_that_works(browser, store, alice, capsys, settings):
    settings.SITE_ADDRESS = "https://retwis.example"
    out = said(capsys, "resetlink", "ALICE")
    [path] = re.findall(r"^https://retwis\.example(/reset/[\w-]{43}/)$", out, re.MULTILINE)
    assert browser().post(path, FORM).status_code == 302
    [act] = Log(store).page()[0]
    assert (act.what, act.whom, act.by) == ("link", 1, 0)


def test_the_link_of_a_suspended_account_says_why_and_lets_the_person_appeal(client, store, raw, url):
    Sanctions(store).impose(1, State.SUSPENDED, "Too many advertisements")
    for answer in (client.get(url), client.post(url, FORM)):
        assert answer.status_code == 403
        assert "Too many advertisements" in answer.content.decode()
        assert "no-store" in answer["Cache-Control"]
    [token] = re.findall(r'name="token" value="([^"]+)"', client.get(url).content.decode())
    client.post("/appeal/", {"token": token, "text": "It was not me."})
    assert raw.zcard("appeals") == 1
    Sanctions(store).lift(1)
    assert client.post(url, FORM).status_code == 302


def test_a_code_of_a_suspended_account_says_why_lets_the_person_appeal_and_stays(client, store, raw, codes):
    Sanctions(store).impose(1, State.SUSPENDED, "Too many advertisements")
    assert client.post(URL, form("wrong")).status_code == 422
    page = page_of(client.post(URL, form(codes[0])), 403)
    assert "Too many advertisements" in page
    [token] = re.findall(r'name="token" value="([^"]+)"', page)
    client.post("/appeal/", {"token": token, "text": "It was not me."})
    assert raw.zcard("appeals") == 1
    Sanctions(store).lift(1)
    assert client.post(URL, form(codes[0])).status_code == 302


def test_the_command_names_what_is_wrong(store, alice):
    refuses("no user 'nobody'", "resetlink", "nobody")
    AccountDeletion(store).delete(alice.user, alice.secret)
    refuses("is deleted", "resetlink", "alice")
