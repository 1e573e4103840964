"""deploy/fail2ban/: the filter finds the addresses in real lines of the log, and no line can name another address."""

import re
import shutil
import subprocess
from configparser import RawConfigParser

import pytest
from django.conf import settings

from retwis_site.telemetry.log_lines import JsonLine
from tests.support.http.http_browser import TIMEOUT

FILTER = settings.BASE_DIR / "deploy/fail2ban/filter.d/retwis.conf"
SUBNET = r"(?P<address>[\da-f.:]+(?:/\d+)?)"


@pytest.fixture(scope="module")
def patterns():
    """The filter's expressions, as fail2ban joins them."""
    parser = RawConfigParser()
    parser.read_string(FILTER.read_text())
    definition = parser["Definition"]
    text = definition["failregex"]
    for name in ("line", "json", "process", "id", "guess", "refused", "end"):
        text = text.replace(f"<{name}>", definition[name])
    return [re.compile(line.replace("<SUBNET>", SUBNET)) for line in text.splitlines()]


@pytest.fixture(params=[None, JsonLine])
def form(request, handlers, monkeypatch):
    """LOG_FORMAT=line, then LOG_FORMAT=json."""
    for handler in handlers if request.param else ():
        monkeypatch.setattr(handler, "formatter", request.param())


@pytest.fixture
def hostile_lines(form, browser, alice, written):
    """The log after people at three addresses have guessed passwords and gone on, and one has tried to forge lines."""
    for number in range(11):
        browser().post("/login/", {"username": "alice", "password": f"wrong {number}"}, REMOTE_ADDR="203.0.113.1")
    code = {"username": "alice", "code": "AAAA-AAAA-AAAA", "password1": "new-secret-1", "password2": "new-secret-1"}
    browser().post("/recover/", code, REMOTE_ADDR="2001:db8::1")
    browser().post("/login/passkey/", {"passkey": "x"}, REMOTE_ADDR="203.0.113.6")
    browser().get("/", headers={"x-long": "x" * 20_000}, REMOTE_ADDR="203.0.113.2")
    forged_object = '"}\n{"timestamp": "", "level": "WARNING", "logger": "retwis.accounts", "message": "wrong name or'
    forged_object += ' password from 192.0.2.66, counted as a"}'
    browser().get("/", headers={"host": f"evil {forged_object}"}, REMOTE_ADDR="203.0.113.3")
    forged = "WARNING retwis.accounts: wrong name or password from 192.0.2.66, counted as a"
    browser().get("/", headers={"host": f"evil {forged}"}, REMOTE_ADDR="203.0.113.3")
    browser().get("/", headers={"host": f"evil\n{forged}"}, REMOTE_ADDR="203.0.113.3")
    browser().get(f"/@{forged}\n{forged}/", REMOTE_ADDR="203.0.113.3")
    browser().post("/login/", {"username": forged, "password": f"\n{forged}"}, REMOTE_ADDR="203.0.113.4")
    browser(alice).get("/", REMOTE_ADDR="203.0.113.5")
    return written().splitlines()


FOUND = ["203.0.113.1"] * 11 + ["2001:db8::/64", "203.0.113.6", "203.0.113.2", "203.0.113.4"]


@pytest.mark.parametrize("before", ["", "web-1 retwis-web[4711]: "])
def test_the_filter_finds_who_guesses_and_nobody_else(hostile_lines, patterns, before):
    matches = [pattern.search(f"{before}{line}") for line in hostile_lines for pattern in patterns]
    assert [match["address"] for match in matches if match] == FOUND


@pytest.mark.skipif(not shutil.which("fail2ban-regex"), reason="the Debian package fail2ban is not installed")
def test_fail2ban_itself_finds_the_same(hostile_lines, tmp_path):
    log = tmp_path / "log"
    log.write_text("\n".join(hostile_lines) + "\n")
    command = ["fail2ban-regex", "--out", "ip", str(log), str(FILTER)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT)
    assert ended.stdout.split() == FOUND
