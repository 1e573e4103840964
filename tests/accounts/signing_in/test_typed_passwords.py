"""A password is the same one on every keyboard: typed as NFC, as NFD, with another kind of space (RFC 8265)."""

import unicodedata
from functools import partial

import pytest
from django.contrib.auth import authenticate, hashers
from django.contrib.auth.hashers import MD5PasswordHasher, check_password, make_password
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from hypothesis import given, strategies as st

from accounts.joining.joining import Applications
from accounts.recovery.codes import RecoveryCodes, ResetLinks
from accounts.signing_in import passwords
from accounts.signing_in.passwords import LONGEST_PASSWORD, check_length, forms_of, prepared
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.accounts import Registration
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD, WEAK_PASSWORDS, register
from tests.support.stores.seam import before_round_trip

NFC, NFD = partial(unicodedata.normalize, "NFC"), partial(unicodedata.normalize, "NFD")
WORDS = ["größere Nüsse", "mật khẩu dài", "한국어 비밀번호 열쇠", "ωμέγα μάλιστα", "क़लम और दवात", "Å ngström Ω unit"]
REFUSED = [
    "tab\there too",
    "zero\u200bwidth word",
    "a heart ❤\ufe0f beats",
    "👩\u200d🚀 in orbit",
    "soft\u00adhyphens",
    "\u0378 nobody",
]


def log_in(password, name="alice"):
    return authenticate(None, username=name, password=password)


def stored_as_typed(raw, password):
    """A hash from before passwords were prepared."""
    hasher = hashers.get_hasher()
    encoded = super(passwords.LeanArgon2PasswordHasher, hasher).encode(password, "saltsaltsalt")
    raw.hset("user:1", "password", encoded)
    return encoded


# ---- setting: each place where a password is set


def by_registering(browser, raw, store, typed, password):
    form = {"username": "alice", "password1": password, "password2": password}
    return browser().post("/register/", form).status_code == 302


def by_applying(browser, raw, store, typed, password):
    raw.hset("site", "registration", "approval")
    form = {"username": "alice", "password1": password, "password2": password, "why": "I like it"}
    if browser().post("/register/", form).status_code != 302:
        return False
    login = browser().post("/login/", {"username": "alice", "password": NFC(password)})
    assert "have not answered yet" in login.content.decode()
    Registration(store).register("alice", Applications(store).find("alice").password)
    return True


def with_account(store):
    return register(store, "alice")


def by_changing_it(browser, raw, store, typed, password):
    form = {"password": PASSWORD, "password1": password, "password2": password}
    return browser(with_account(store)).post("/settings/password/", form).status_code == 302


def by_a_code(browser, raw, store, typed, password):
    with_account(store)
    code = RecoveryCodes(store).make(1)[0]
    form = {"username": "alice", "code": code, "password1": password, "password2": password}
    return browser().post("/recover/", form).status_code == 302


def by_a_link(browser, raw, store, typed, password):
    with_account(store)
    form = {"password1": password, "password2": password}
    return browser().post(f"/reset/{ResetLinks(store).make(1)}/", form).status_code == 302


def by_command(name, browser, raw, store, typed, password):
    if name == "changepassword":
        with_account(store)
    typed(f"{password}\n")
    try:
        call_command(name, "alice", verbosity=0)
    except CommandError:
        return False
    return True


WAYS = {
    "registering": by_registering,
    "applying": by_applying,
    "changing it": by_changing_it,
    "a recovery code": by_a_code,
    "a link": by_a_link,
    "createuser": partial(by_command, "createuser"),
    "changepassword": partial(by_command, "changepassword"),
}


@pytest.fixture(params=WAYS)
def put(request, browser, raw, store, typed):
    """`put(password)` sets alice's password in each way; returns whether it was accepted."""
    return partial(WAYS[request.param], browser, raw, store, typed)


@pytest.mark.parametrize(("as_set", "as_typed"), [(NFC, NFD), (NFD, NFC)], ids=["NFC", "NFD"])
def test_a_password_fits_however_it_was_typed_when_it_was_set(put, raw, as_set, as_typed):
    assert put(as_set(WORDS[0]))
    assert log_in(as_typed(WORDS[0])) is not None
    assert log_in(as_set(WORDS[0])) is not None
    assert log_in(WORDS[0].casefold()) is None
    assert check_password(NFC(WORDS[0]), raw.hget("user:1", "password"))
    assert not raw.hexists("user:1", "prepared_password")


def test_a_text_that_keyboards_do_not_send_alike_is_refused_when_it_is_set(put):
    assert not put(REFUSED[0])


@pytest.mark.parametrize("password", [*(weak for weak, _ in WEAK_PASSWORDS), "ALICE", "strassenfest nord"])
def test_a_password_that_many_would_try_or_nobody_can_type_is_refused_when_it_is_set(put, raw, password):
    raw.hset("site", "name", "Straßenfest Nord")
    assert not put(password)


@pytest.mark.parametrize("password", REFUSED)
def test_the_form_says_what_is_wrong(browser, raw, password):
    form = {"username": "erin", "password1": password, "password2": password}
    assert "control characters or invisible ones" in page_of(browser().post("/register/", form), 422)
    assert raw.hgetall("users") == {}


@pytest.mark.parametrize("password", ["e\u0301" * 5, "\u1100\u1161\u11a8" * 4])
def test_the_rules_are_for_the_prepared_form(browser, raw, password):
    """Five letters that a keyboard sends as ten characters are five."""
    for form_of_it in (password, prepared(password)):
        form = {"username": "erin", "password1": form_of_it, "password2": form_of_it}
        assert browser().post("/register/", form).status_code == 422
    assert raw.hgetall("users") == {}


@pytest.mark.parametrize("password", REFUSED)
def test_at_a_login_it_is_a_wrong_password(browser, alice, password):
    for name in ("alice", "nobody"):
        page = page_of(browser().post("/login/", {"username": name, "password": password}), 422)
        assert "Wrong username or password." in page


@pytest.mark.parametrize("word", WORDS)
def test_every_script_and_both_forms_repeat_each_other(browser, raw, word):
    form = {"username": "erin", "password1": NFC(word), "password2": NFD(word)}
    assert browser().post("/register/", form).status_code == 302
    assert log_in(NFD(word), "erin") is not None


@pytest.mark.parametrize("space", "\u00a0\u2003\u202f\u3000")
def test_every_space_is_a_space(raw, alice, store, space):
    Sessions(store).change_password(1, make_password(f"drei{space}Worte hier"))
    assert log_in("drei Worte hier") is not None
    assert log_in(f"drei{space}Worte hier") is not None


@pytest.mark.parametrize(
    ("before", "after"), [("ﬁfteen apples", "fifteen apples"), ("ｗｉｄｅ ｗｏｒｄｓ", "wide words")]
)
def test_letters_that_only_look_alike_stay_different(raw, alice, store, before, after):
    """NFKC would make them one: RFC 8265 does not."""
    Sessions(store).change_password(1, make_password(before))
    assert log_in(before) is not None
    assert log_in(after) is None


# ---- asking for the password of an account


@pytest.mark.parametrize("address", ["/settings/password/", "/settings/delete/", "/settings/recovery/"])
def test_a_page_that_asks_for_the_password_takes_both_forms(browser, raw, store, address):
    member = browser(with_account(store))
    raw.hset("user:1", "password", make_password(NFD(WORDS[1])))
    form = {"password": NFC(WORDS[1]), "password1": WORDS[0], "password2": WORDS[0], "confirm": "on"}
    assert "Wrong password." not in member.post(address, form).content.decode()


# ---- hashes from before


@pytest.mark.parametrize("word", [NFD(WORDS[0]), "eins\u00a0zwei drei", *REFUSED])
def test_a_hash_of_a_password_as_typed_stays_valid(raw, alice, word):
    encoded = stored_as_typed(raw, word)
    assert log_in(word) is not None
    assert log_in(word) is not None
    assert raw.hget("user:1", "password") == encoded


def test_the_first_login_adds_a_hash_of_the_prepared_form(raw, alice, round_trips):
    word = WORDS[0]
    encoded = stored_as_typed(raw, NFD(word))
    assert log_in(NFC(word)) is None
    first = len(round_trips(lambda: log_in(NFD(word))).round_trips)
    later = len(round_trips(lambda: log_in(NFD(word))).round_trips)
    assert first == later + 1
    assert log_in(NFC(word)) is not None
    before, added = raw.hget("user:1", "prepared_password").split(" ")
    assert before == encoded
    assert check_password(NFC(word), added)


def test_a_hash_of_another_retwis_is_replaced_by_one_of_the_prepared_form(raw, alice):
    raw.hset("user:1", "old_password", MD5PasswordHasher().encode(NFD(WORDS[0]), "salt"))
    raw.hdel("user:1", "password")
    assert log_in(NFD(WORDS[0])) is not None
    assert log_in(NFC(WORDS[0])) is not None
    assert sorted(set(raw.hgetall("user:1")) & {"password", "old_password", "prepared_password"}) == ["password"]


def test_a_password_change_overrules_what_a_login_adds_at_the_same_time(raw, store, alice):
    """Each round trip of the login is the moment of the change."""
    for number in range(4):
        stored_as_typed(raw, NFD(WORDS[0]))
        with before_round_trip(number, lambda: Sessions(store).change_password(1, make_password("another one here"))):
            log_in(NFD(WORDS[0]))
        Sessions(store).change_password(1, make_password("another one here"))
        assert log_in(NFD(WORDS[0])) is None
        assert log_in(NFC(WORDS[0])) is None
        assert log_in("another one here") is not None
        assert not raw.hexists("user:1", "prepared_password")


def test_the_file_of_a_site_has_the_hash_that_counts(raw, store, alice, tmp_path):
    stored_as_typed(raw, NFD(WORDS[0]))
    log_in(NFD(WORDS[0]))
    file = tmp_path / "site.jsonl"
    call_command("export", str(file), verbosity=0)
    raw.flushall()
    call_command("import", str(file), verbosity=0)
    assert log_in(NFC(WORDS[0])) is not None
    assert log_in(NFD(WORDS[0])) is not None


# ---- how long it takes


@pytest.mark.parametrize("password", [PASSWORD + "!", NFC(WORDS[0]), NFD(WORDS[0]), "no\u00a0break", *REFUSED])
@pytest.mark.parametrize("kept", ["argon2", "md5", "damaged"])
def test_an_unknown_name_costs_as_many_hashes_as_a_wrong_password(raw, alice, monkeypatch, password, kept):
    if kept == "md5":
        raw.hset("user:1", "old_password", MD5PasswordHasher().encode(PASSWORD, "salt"))
        raw.hdel("user:1", "password")
    elif kept == "damaged":
        raw.hset("user:1", "password", "argon2$")
    hashed = []
    real = passwords._behind_pages
    monkeypatch.setattr(passwords, "_behind_pages", lambda *one: hashed.append(one) or real(*one))

    def cost(name):
        hashed.clear()
        assert log_in(password, name) is None
        return len(hashed)

    assert cost("alice") == cost("nobody") == len(forms_of(password))


@given(st.text(max_size=40))
def test_a_prepared_password_is_prepared(text):
    form = prepared(text)
    if form is not None:
        assert prepared(form) == form
        assert forms_of(form) == [form]
        assert prepared(NFD(text)) == form


def test_the_length_is_that_of_the_prepared_form():
    check_length(NFD("한" * LONGEST_PASSWORD))
    for long in (NFD("한" * (LONGEST_PASSWORD + 1)), "x" * (LONGEST_PASSWORD + 1), "x" * 10_000_000):
        with pytest.raises(ValidationError):
            check_length(long)
