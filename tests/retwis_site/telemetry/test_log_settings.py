"""LOG_FORMAT and LOG_LEVEL say which lines are written, and how. A value that nobody knows stops the site."""

import json

import pytest

from tests.support.processes.fresh_process import in_a_process
from tests.support.processes.processes import environment, manage

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
