import io
import json
import logging
import re

import pytest

from retwis_site.telemetry.log_lines import JsonLine


@pytest.fixture
def handlers():
    """The handlers that write the log of the site. pytest has handlers of its own."""
    loggers = [logging.getLogger(name) for name in ("django", "django.request", "django.security", "retwis")]
    return {one for logger in loggers for one in logger.handlers if type(one) is logging.StreamHandler}


@pytest.fixture
def written(handlers, monkeypatch):
    """`written()`: what the log has so far, as it is written."""
    output = io.StringIO()
    for handler in handlers:
        monkeypatch.setattr(handler, "stream", output)
    return output.getvalue


@pytest.fixture
def objects(written, handlers, monkeypatch):
    """`objects()`: the lines of the log, which is written as JSON."""
    for handler in handlers:
        monkeypatch.setattr(handler, "formatter", JsonLine())
    return lambda: [json.loads(line) for line in written().splitlines()]


@pytest.fixture
def of_logger(written):
    """`of_logger("retwis.access")`: the lines of one logger, without the time and the id of the request."""
    return lambda name: re.findall(rf"^\S+ \S+ [A-Z]+ {re.escape(name)} \[\S+\]: (.*)$", written(), re.MULTILINE)
