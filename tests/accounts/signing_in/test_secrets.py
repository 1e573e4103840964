"""Passwords and sign-in secrets: how they are made, what they open, that no page, log or output shows one, and what
the log says of an account."""

import ast
import logging
import re
import stat
from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.management import call_command

from accounts.joining.joining import Application, Invitation
from accounts.settings.views import PasswordForm
from accounts.signing_in.forms import LoginForm, RegisterForm
from accounts.signing_in.sessions.entities import Session
from accounts.signing_in.sessions.repository import SessionChecks
from accounts.users import repository
from retwis_site.exceptions import StoreError
from retwis_site.jobs.outbox import Claim, Job, Outbox
from retwis_site.store.client import connect
from tests.support.command_output import findings_of, said
from tests.support.people import NEW_PASSWORD, NEWER_SECRET, PASSWORD, SECRET
from tests.support.processes.fresh_process import in_a_process
from tests.support.stored_keys import add_overdue_job, publish
from timeline.timelines.profile import Profiles

SIGNED_IN = 'action="/logout/"'


# ---- passwords


@pytest.mark.parametrize(
    "password",
    [
        "qzv rmw tkp",
        "  blanks around it  ",
        "ALLUPPERCASEWORDS",
        "nurkleinbuchstaben",
        "9174027735118264",
        "пароль из слов",
        "密码密码密码密码",
        "🔑🔑🔑🔑🔑🔑🔑🔑",
        "e\u0301" * 8,
        "\"'<&>\\% ;--",
        "q8" * 64,
    ],
)
def test_a_password_may_have_any_characters_that_can_be_seen_and_no_other_one_fits(browser, raw, password):
    form = {"username": "Dora", "password1": password, "password2": password}
    assert browser().post("/register/", form).status_code == 302
    others = {password[:-1], f"{password} ", password.swapcase(), password.strip()} - {password}
    for typed, status in {password: 302, **dict.fromkeys(others, 422)}.items():
        assert browser().post("/login/", {"username": "dora", "password": typed}).status_code == status


def test_the_three_thousand_most_common_passwords_of_the_allowed_length_are_refused():
    known = {password for password in CommonPasswordValidator().passwords if len(password) >= 8}
    assert len(known) > 3000
    assert {"password", "12345678", "qwertyuiop", "trustno1", "passw0rd"} <= known
    named = [validator["NAME"] for validator in settings.AUTH_PASSWORD_VALIDATORS]
    assert "django.contrib.auth.password_validation.CommonPasswordValidator" in named


def test_another_hasher_is_used_for_new_passwords_and_old_ones_still_work(browser, alice, raw, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher", *settings.PASSWORD_HASHERS]
    browser().post("/register/", {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD})
    assert raw.hget("user:1", "password").startswith("argon2$")
    assert not raw.hget("user:2", "password").startswith("argon2$")
    for name in ("alice", "dora"):
        assert browser().post("/login/", {"username": name, "password": PASSWORD}).status_code == 302


# ---- sessions


def test_a_session_secret_is_128_random_bits(monkeypatch):
    drawn = []
    with monkeypatch.context() as patched:
        patched.setattr(repository.secrets, "token_hex", lambda size: drawn.append(size) or "0" * 2 * size)
        assert repository.new_secret() == "0" * 32
    assert drawn == [16]
    assert len({repository.new_secret() for _ in range(1000)}) == 1000


def test_nothing_but_the_cookie_signs_in(browser, alice):
    secret, cookie = alice.secret, settings.AUTH_COOKIE
    assert SIGNED_IN in browser(alice).get("/").content.decode()
    for url, headers in {
        f"/?auth={secret}&{cookie}={secret}": {"HTTP_AUTHORIZATION": f"Bearer {secret}"},
        "/": {"HTTP_AUTH": secret, "REMOTE_USER": "Alice", "HTTP_REMOTE_USER": "Alice", "HTTP_X_USER_ID": "1"},
        "/timeline/": {"HTTP_COOKIE": f"sessionid={secret}; X{cookie}={secret}; uid=1; user=Alice"},
    }.items():
        assert SIGNED_IN not in browser().get(url, **headers).content.decode(), url
    assert settings.AUTHENTICATION_BACKENDS == ["accounts.signing_in.passwords.RedisBackend"]


def test_a_session_outlives_another_secret_key(member, settings):
    settings.SECRET_KEY = "quite another one"
    assert SIGNED_IN in member.get("/").content.decode()


def test_the_sites_secret_key_is_random_and_readable_by_its_owner_alone(tmp_path):
    first, second = (in_a_process("print(settings.SECRET_KEY)", VAR_DIR=str(tmp_path / name)) for name in "ab")
    assert first != second
    assert len(first) == len(second) == 64
    assert stat.S_IMODE((tmp_path / "a" / "secret_key").stat().st_mode) == 0o600


@pytest.mark.parametrize(("environment", "on"), [({}, False), ({"DEBUG": "0"}, False), ({"DEBUG": "1"}, True)])
def test_debug_pages_are_off_by_default(environment, on):
    assert in_a_process("print(settings.DEBUG)", **environment) == str(on)


# ---- logs, pages and outputs


class LogCollector(logging.Handler):
    """Collects every record of every logger, at every level."""

    def __init__(self):
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s %(args)r"))
        self.records = []

    def emit(self, record):
        self.records.append(record)

    def text(self):
        return "\n".join(self.format(record) for record in self.records)


@pytest.fixture
def logged(monkeypatch):
    handler = LogCollector()
    known = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    for logger in [logging.root, *known]:
        monkeypatch.setattr(logger, "handlers", [*logger.handlers, handler] if logger.handlers else [])
        monkeypatch.setattr(logger, "level", logging.DEBUG)
        logger.manager._clear_cache()
    yield handler
    monkeypatch.undo()
    logging.root.manager._clear_cache()


FAILURES = {
    "a store that repeats the command": redis.ResponseError(
        f"ERR unknown command 'HSET', with args beginning with: 'user:1' 'password' '{PASSWORD}' 'auth' '{SECRET}' "
    ),
    "a store that is down": redis.ConnectionError("Connection refused."),
    "a store that hangs": redis.TimeoutError("Timeout reading from socket"),
    "a bug": ZeroDivisionError("division by zero"),
}


def send_every_form(client):
    """The answers to all forms with a password, and to pages between them."""
    typed = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    return [
        client.post("/register/", {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}),
        client.post("/login/", {"username": "Dora", "password": PASSWORD + " wrong"}),
        client.post("/login/", {"username": "nobody", "password": PASSWORD}),
        client.post("/settings/password/", {**typed, "password": PASSWORD + " wrong"}),
        client.post("/settings/password/", {**typed, "password2": PASSWORD}),
        client.post("/settings/password/", typed),
        client.post("/login/", {"username": "Dora", "password": NEW_PASSWORD}),
        client.get("/@Dora/"),
        client.post("/logout/"),
        client.post("/login/", {"username": "Dora", "password": NEW_PASSWORD}),
        client.post("/settings/delete/", {"password": PASSWORD}),
        client.get("/settings/delete/"),
    ]


def secrets_in(text, raw):
    """The secrets of the tests and of the store that a text has."""
    users = [raw.hgetall(key) for key in raw.keys("user:*")]
    hidden = {PASSWORD, NEW_PASSWORD, SECRET, *raw.hkeys("auths")}
    hidden |= {user[field] for user in users for field in ("password", "auth")}
    return [secret for secret in hidden if secret in text]


def test_signing_in_and_out_shows_and_logs_no_secret(client, raw, logged, capfd):
    pages, seen = [], []
    for answer in send_every_form(client):
        pages.append(answer.content.decode())
        seen += [answer.cookies[settings.AUTH_COOKIE].value] if settings.AUTH_COOKIE in answer.cookies else []
    output = capfd.readouterr()
    everything = "\n".join([logged.text(), output.out, output.err, *pages])
    assert len({secret for secret in seen if secret}) >= 3
    assert secrets_in(everything, raw) == []
    assert [secret for secret in seen if secret and secret in everything] == []


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_while_signing_in_shows_and_logs_no_secret(member, raw, logged, capfd, monkeypatch, failure):
    def fail(*args, **kwargs):
        raise FAILURES[failure]

    member.raise_request_exception = False
    with monkeypatch.context() as patched:
        patched.setattr(type(connect().transport), "exchange", fail)
        answers = send_every_form(member)
    assert {answer.status_code for answer in answers} <= {302, 500, 503, 422}
    assert {500, 503} & {answer.status_code for answer in answers}
    output = capfd.readouterr()
    text = logged.text()
    assert text.count("\n") >= 5
    pages = [page.content.decode() for page in answers]
    assert secrets_in("\n".join([text, output.out, output.err, *pages]), raw) == []


@pytest.mark.parametrize(
    "where", ["accounts.signing_in.passwords.check_password", "accounts.signing_in.views.make_password"]
)
def test_an_exception_beside_a_password_shows_and_logs_no_secret(member, raw, logged, capfd, monkeypatch, where):
    def fail(password, *rest):
        raise RuntimeError("cannot be hashed")

    monkeypatch.setattr(where, fail)
    member.raise_request_exception = False
    answers = send_every_form(member)
    assert 500 in {answer.status_code for answer in answers}
    assert "cannot be hashed" in logged.text()
    output = capfd.readouterr()
    pages = [page.content.decode() for page in answers]
    assert secrets_in("\n".join([logged.text(), output.out, output.err, *pages]), raw) == []


def test_no_management_command_prints_a_secret(raw, alice, bob, typed, logged, capsys):
    raw.hset("auths", mapping={NEWER_SECRET: "2", SECRET: "99"})
    raw.hdel("auths", alice.secret, bob.secret)
    add_overdue_job(raw, f"auth:1:{SECRET}:n")
    add_overdue_job(raw, f"auth:two:{NEWER_SECRET}:n")
    hidden = [SECRET, NEWER_SECRET, alice.secret, bob.secret]
    with pytest.raises(SystemExit):
        call_command("doctor", "-v2")
    outputs = [capsys.readouterr().out]
    outputs += [said(capsys, *command) for command in (["deliver", "--once"], ["cleanup", "--dry-run", "-v2"])]
    call_command("doctor", "--fix", "--json")
    typed(f"{NEW_PASSWORD}\n")
    call_command("changepassword", "alice")
    output = capsys.readouterr()
    everything = "\n".join([*outputs, output.out, output.err, logged.text()])
    for expected in ("overdue jobs", "an old secret of user 2", "auths does not know the secret of user 2"):
        assert expected in everything
    assert [secret for secret in hidden if secret in everything] == []
    assert secrets_in(everything, raw) == []


def test_no_repr_shows_a_secret(rf, store, alice, raw):
    raw.hset("auths", SECRET, "1")
    (stale,) = findings_of(store, SessionChecks(store).orphans(), "stale entries in auths")
    job = Outbox(store).add(f"auth:1:{alice.secret}:n")
    typed = {"username": "alice", "password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    forms = [
        RegisterForm(typed),
        LoginForm(typed, request=rf.post("/")),
        PasswordForm(typed, request=rf.post("/"), username="alice"),
    ]
    holders = [alice.user, Session(SECRET, 1, 1, "", ""), connect(), stale, job, Job(job.name, 0.0), *forms]
    holders += [Claim(store, job.name, 1), store.pipeline()]
    holders += [Application("ida", PASSWORD, NEW_PASSWORD, 1, 2, SECRET), Invitation(SECRET, 1, 2, 3)]
    hidden = (SECRET, alice.secret, PASSWORD, NEW_PASSWORD)
    shown = [type(holder).__name__ for holder in holders if any(secret in repr(holder) for secret in hidden)]
    assert not shown, shown


@pytest.mark.parametrize("error", [StoreError("down"), RuntimeError("broken")])
def test_no_line_of_the_log_can_be_forged(browser, alice, logged, monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr(Profiles, "page", fail)
    client = browser(alice, csrf=True)
    client.raise_request_exception = False
    forged = "%0A2026-01-01 00:00:00,000 ERROR retwis.store: forged%0D%1B[31m"
    assert client.get(f"/@Alice{forged}/").status_code in {500, 503}
    assert client.post(f"/@Alice{forged}/follow/").status_code == 403
    client.get("/", headers={"host": "evil.example\n2026 forged"})
    messages = [record.getMessage() for record in logged.records]
    assert len([message for message in messages if "forged" in message]) >= 3
    for message in messages:
        assert not re.search(r"[\n\r\x1b]", message), message


def test_the_log_goes_to_standard_error_alone_with_utc_times_one_line_each():
    code = """
import logging, sys
handlers = {handler for logger in (logging.root, *logging.root.manager.loggerDict.values())
            for handler in getattr(logger, "handlers", [])}
print(*sorted(f"{type(handler).__name__}:{handler.stream.name}" for handler in handlers), sep=",")
for handler in handlers:
    handler.setStream(sys.stdout)
logging.getLogger("retwis.store").error("something")
"""
    where, line = in_a_process(code, TZ="Asia/Tokyo").splitlines()
    assert set(where.split(",")) == {"StreamHandler:<stderr>"}
    when, rest = re.fullmatch(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3} (.*)", line).groups()
    assert rest == "ERROR retwis.store: something"
    assert abs(datetime.now(UTC) - datetime.fromisoformat(f"{when}+00:00")) < timedelta(minutes=5)


# ---- the source code

SOURCES = [
    path for folder in ("retwis_site", "accounts", "timeline") for path in (settings.BASE_DIR / folder).rglob("*.py")
]
# Modules that run programs, open connections, draw predictable numbers or read unsafe formats, and where each is used.
ALLOWED = {
    "subprocess": {"accounts/media/decoding.py", "retwis_site/store/embedded.py", "retwis_site/version.py"},
    "socket": {
        "accounts/facts/fetching.py",
        "retwis_site/store/embedded.py",
        "retwis_site/management/commands/serve.py",
        "retwis_site/management/commands/deliver.py",
    },
    "random": {f"timeline/demo/{name}.py" for name in ("seeding", "texts", "threads")},
    "http.client": {"accounts/facts/fetching.py"},
    "urllib.request": set(),
    "smtplib": set(),
    "ftplib": set(),
    "requests": set(),
    "xml": {"timeline/feeds/views.py"},  # it writes alone
    "yaml": set(),
    "pickle": set(),
    "marshal": set(),
    "shelve": set(),
    "ctypes": set(),
}


def imported_modules(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called_functions(tree):
    """The names of functions, alone or in a module."""
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for function in functions:
        if isinstance(getattr(function, "value", function), ast.Name):
            yield ast.unparse(function)


def test_the_code_connects_to_the_store_alone_and_runs_no_typed_text():
    found = {name: set() for name in ALLOWED}
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        for module in imported_modules(tree):
            for name in ALLOWED:
                if f"{module}.".startswith(f"{name}."):
                    found[name].add(str(path.relative_to(settings.BASE_DIR)))
        called = set(called_functions(tree))
        assert not {"eval", "exec", "compile", "__import__", "os.system", "os.popen"} & called, path
    assert found == ALLOWED


# Modules that know the hashes of other Retwises, to verify them.
FOREIGN_HASHES = {"accounts/signing_in/passwords.py": {"sha512"}}
FOREIGN_HASHES |= {f"timeline/other_retwises/{name}.py": {"md5"} for name in ("values", "conversion")}


def test_the_sites_own_hashes_are_sha_256():
    for path in SOURCES:
        source = path.read_text()
        allowed = FOREIGN_HASHES.get(str(path.relative_to(settings.BASE_DIR)), set())
        assert set(re.findall(r"hashlib\.(\w+)", source)) <= {"sha256"} | allowed, path
        assert set(re.findall(r"\b(md5|sha1|crypt|Crypto|uuid)\b", source)) <= allowed, path


FRAGMENTS = "retwis_site/rendering/fragments.py"
# A picture is made from a number, letters and digits; a chapter of the book is the site's own text.
MAKE_HTML = {FRAGMENTS, "accounts/users/html.py", "timeline/book/views.py"}


def test_only_fragments_and_pictures_are_marked_as_safe_for_a_page():
    for path in SOURCES:
        source, name = path.read_text(), str(path.relative_to(settings.BASE_DIR))
        assert not re.search(r"mark_safe|format_html|Template\(", source), path
        assert name == FRAGMENTS or "SafeString" not in source, path
        assert name in MAKE_HTML or not re.search(r"\bHtml\(", source), path
    for path in (settings.BASE_DIR / "templates").rglob("*.html"):
        assert not re.search(r"\|\s*safe|autoescape|json_script", path.read_text()), path


# ---- The log lines about accounts: they have the user, the event and the address, and no text that was typed.


ADDRESS = "203.0.113.9"


@pytest.fixture
def lines(caplog, monkeypatch):
    """The messages of one logger. `retwis` does not propagate them, so `caplog` sees none unless that is changed."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(logging.getLogger("retwis"), "propagate", True)
    return lambda logger: [record.getMessage() for record in caplog.records if record.name == logger]


def test_each_event_of_an_account_is_logged_with_the_user_and_the_address(client, raw, lines):
    both = {"password1": PASSWORD, "password2": PASSWORD}
    new = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    client.post("/register/", {"username": "alice", **both}, REMOTE_ADDR=ADDRESS)
    client.post("/settings/password/", {"password": PASSWORD, **new}, REMOTE_ADDR=ADDRESS)
    client.post("/logout/", REMOTE_ADDR=ADDRESS)
    client.post("/login/", {"username": "alice", "password": NEW_PASSWORD}, REMOTE_ADDR=ADDRESS)
    client.post("/settings/delete/", {"password": NEW_PASSWORD}, REMOTE_ADDR=ADDRESS)
    assert lines("retwis.accounts") == [
        f"user 1 registered from {ADDRESS}",
        f"user 1 changed the password from {ADDRESS}",
        f"user 1 logged out from {ADDRESS}",
        f"user 1 logged in from {ADDRESS}",
        f"user 1 deleted the account from {ADDRESS}",
    ]


def test_a_wrong_password_is_logged_without_the_typed_text(browser, alice, lines):
    browser().post("/login/", {"username": "my secret by mistake", "password": "alice"}, REMOTE_ADDR=ADDRESS)
    [line] = lines("retwis.accounts")
    assert f"wrong name or password from {ADDRESS}" in line
    assert "secret" not in line
    assert "alice" not in line


def test_a_refusal_by_a_rate_limit_is_logged(browser, alice, lines):
    for _ in range(11):
        browser().post("/login/", {"username": "alice", "password": "wrong"}, REMOTE_ADDR=ADDRESS)
    assert lines("retwis.security") == [f"POST /login/: too often, more than 10 wrong passwords, from {ADDRESS}"]


def test_an_attempt_to_delete_another_users_post_is_logged(browser, raw, store, alice, bob, lines):
    pid = publish(raw, store, alice, "Mine")
    assert browser(bob).post(f"/@Alice/{pid}/delete/").status_code == 403
    assert lines("retwis.security") == [f"POST /%40Alice/{pid}/delete/: not allowed, from 127.0.0.1"]
