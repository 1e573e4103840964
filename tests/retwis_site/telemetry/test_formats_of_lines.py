"""LOG_FORMAT and LOG_LEVEL say which lines are written, and how; a value that nobody knows stops the site. With json,
each line is one JSON object, with the same fields everywhere and nothing but known fields, and gunicorn writes such
lines too."""

import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from django.conf import settings
from gunicorn.glogging import Logger

from retwis_site.telemetry.log_lines import LONGEST_LINE
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.processes.fresh_process import in_a_process
from tests.support.processes.processes import environment, free_port, manage, wait_until


def test_a_request_is_an_object_with_its_figures_as_numbers(browser, alice, objects):
    answer = browser(alice).get("/", headers={"x-request-id": "from-the-proxy"})
    [line] = objects()
    assert list(line)[:5] == ["timestamp", "level", "logger", "message", "request_id"]
    times = {name: line.pop(name) for name in ("timestamp", "message", "ms", "store_ms")}
    assert times["timestamp"][10] == "T"
    assert times["timestamp"].endswith("Z")
    assert times["message"].startswith("GET home 200, ")
    assert times["ms"] >= times["store_ms"] >= 0
    assert line.pop("round_trips") > 0
    assert line == {
        "level": "INFO",
        "logger": "retwis.access",
        "request_id": "from-the-proxy",
        "method": "GET",
        "route": "home",
        "status": 200,
        "bytes": len(answer.content),
        "address": "127.0.0.1",
        "uid": 1,
        "cause": None,
    }


def test_a_traceback_is_in_its_object_and_has_the_id_of_the_request(failing, objects):
    answer = failing(ZeroDivisionError("division by zero"), "?q=secret")
    failed, access = objects()
    assert set(failed) == {"timestamp", "level", "logger", "message", "request_id", "traceback"}
    assert (failed["logger"], failed["level"]) == ("django.request", "ERROR")
    assert failed["traceback"].splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert failed["request_id"] == access["request_id"] == answer.headers["X-Request-ID"]
    assert "secret" not in str(objects())


def test_a_slow_request_has_its_figures_too(browser, alice, objects, settings):
    settings.SLOW_REQUEST_MS = 1
    browser(alice).get("/", headers={"x-request-id": "from-the-proxy"})
    _, slow = objects()
    assert (slow["logger"], slow["route"], slow["request_id"]) == ("retwis.slow", "home", "from-the-proxy")
    assert " commands: " in slow["message"]


def test_hostile_texts_stay_in_their_field_and_are_cut(objects):
    logging.getLogger("retwis.store").error('"}\n{"level": "forged\u2028 \x1b[31m%s', "x" * 300_000)
    try:
        raise ValueError("y" * 300_000)
    except ValueError:
        logging.getLogger("retwis.store").exception("failed", extra={"request": "a secret", "status_code": 500})
    first, second = objects()
    assert first["message"].startswith(r'"}\n{"level": "forged\u2028 \x1b[31mxxx')
    assert len(first["message"]) <= LONGEST_LINE + len("...")
    assert max(map(len, second["traceback"].splitlines())) < 500
    assert set(second) == {"timestamp", "level", "logger", "message", "traceback"}


# ---- the settings


LOG = """
import logging, sys
logging.getLogger("retwis").handlers[0].stream = sys.stdout
for level in ("debug", "info", "warning", "error"):
    getattr(logging.getLogger("retwis.store"), level)("a line of %s", level)
"""


def messages(**env):
    return [line.split(" ", 2)[2] for line in in_a_process(LOG, **env).splitlines()]


def test_without_settings_a_line_is_text_from_info_on():
    assert messages() == [
        "INFO retwis.store: a line of info",
        "WARNING retwis.store: a line of warning",
        "ERROR retwis.store: a line of error",
    ]


def test_json_from_error_on():
    line = json.loads(in_a_process(LOG, LOG_FORMAT="json", LOG_LEVEL="ERROR"))
    assert (line["level"], line["logger"], line["message"]) == ("ERROR", "retwis.store", "a line of error")


@pytest.mark.skipif(not shutil.which("jq"), reason="the Debian package jq is not installed")
def test_the_command_of_the_guide_finds_slow_requests_between_the_lines_of_systemd():
    document = (settings.BASE_DIR / "docs/running.md").read_text()
    [command] = re.findall(r"^journalctl .* \| (jq .*)$", document, re.MULTILINE)
    lines = [
        json.dumps({"logger": "retwis.access", "route": route, "ms": ms}) for route, ms in [("home", 7), ("tag", 700)]
    ]
    journal = "\n".join(["Starting retwis-web.service - Retwis, the web processes...", *lines])
    found = subprocess.run(
        shlex.split(command), input=journal, capture_output=True, check=True, text=True, timeout=TIMEOUT
    )
    assert json.loads(found.stdout)["route"] == "tag"


@pytest.mark.parametrize(
    ("level", "django", "requests", "security"),
    [("DEBUG", "DEBUG", "ERROR", "WARNING"), ("ERROR", "ERROR", "ERROR", "ERROR"), ("CRITICAL",) + ("CRITICAL",) * 3],
)
def test_a_level_makes_no_logger_say_more_than_before_except_those_of_the_site(level, django, requests, security):
    loggers = json.loads(in_a_process("import json; print(json.dumps(settings.LOGGING['loggers']))", LOG_LEVEL=level))
    assert loggers["retwis"]["level"] == level
    assert loggers["django"]["level"] == django
    assert loggers["django.request"]["level"] == requests
    assert loggers["django.security"]["level"] == security


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("LOG_FORMAT", "xml", "LOG_FORMAT='xml' is not valid. Set one of: line, json."),
        ("LOG_LEVEL", "loud", "LOG_LEVEL='loud' is not valid. Set one of: INFO, DEBUG, WARNING, ERROR, CRITICAL."),
        ("SLOW_REQUEST_MS", "1s", "SLOW_REQUEST_MS='1s' is not valid. Set a whole number from 0 to 999999999."),
    ],
)
def test_an_unknown_value_stops_the_site_with_a_sentence(tmp_path, name, value, says):
    ended = manage("check", env=environment(tmp_path, **{name: value}))
    assert ended.returncode == 1
    assert says in ended.stderr


# ---- gunicorn


@pytest.mark.real_server
@pytest.mark.processes
def test_each_line_from_the_start_to_the_end_is_an_object(tmp_path):
    (tmp_path / "static").mkdir()  # WhiteNoise warns without it
    log = tmp_path / "log"
    command = [sys.executable, "-m", "gunicorn", "--config=python:retwis_site.server.gunicorn_settings"]
    browser = Browser(free_port())
    command += [f"--bind={browser.origin.removeprefix('http://')}"]
    env = environment(tmp_path, LOG_FORMAT="json", WEB_WORKERS="1")
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=settings.BASE_DIR, env=env, stdout=output, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: browser.open("/livez")[0] == 200, "the worker of gunicorn")
            server.send_signal(signal.SIGTERM)
            server.wait(TIMEOUT)
        finally:
            server.kill()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["logger"] for line in lines} == {"gunicorn.error", "retwis.access", "retwis.deliver"}
    assert lines[0]["message"].startswith("Starting gunicorn")
    assert lines[-1]["message"].startswith("Shutting down")


def test_its_own_form_which_names_the_process_can_be_filled():
    line = logging.Formatter(Logger.error_fmt).format(logging.makeLogRecord({"msg": "WORKER TIMEOUT"}))
    assert f"[{os.getpid()}]" in line
