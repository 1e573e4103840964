"""With LOG_FORMAT=json, what gunicorn says of itself is JSON too. Without the site's settings it has its own form."""

import json
import logging
import os
import signal
import subprocess
import sys

import pytest
from django.conf import settings
from gunicorn.glogging import Logger

from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.processes.ports import free_port
from tests.support.processes.processes import environment, wait_until


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
