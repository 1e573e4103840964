"""What docs/operating.md says of a reload: the web processes keep the settings that gunicorn has read at its start."""

import contextlib
import signal
import subprocess
import sys

import pytest
from django.conf import settings

from tests.support.deploy.machine import deployed, setting
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.processes.processes import environment, free_port, wait_until
from tests.support.texts import guides

pytestmark = [pytest.mark.real_server, pytest.mark.processes]


@contextlib.contextmanager
def gunicorn(folder, browser):
    """The site under gunicorn, with settings in a file."""
    command = [sys.executable, "-m", "gunicorn", "--config=python:retwis_site.server.gunicorn_settings"]
    command += [f"--bind={browser.origin.removeprefix('http://')}"]
    env = environment(folder, RETWIS_ENV_FILE=str(folder / "retwis.env"), WEB_WORKERS="1")
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=settings.BASE_DIR, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: browser.open("/livez")[0] == 200, "the worker of gunicorn")
            yield server
        finally:
            server.terminate()
            server.wait(TIMEOUT)


def test_the_worker_knows_no_reload():
    assert setting(deployed("retwis-web.service"), "ExecReload") == ["/bin/kill -s HUP $MAINPID"]
    assert setting(deployed("retwis-deliver.service"), "ExecReload") == []


def test_a_reload_keeps_the_settings_and_a_restart_reads_them(tmp_path):
    assert "systemctl restart retwis-web retwis-deliver" in guides.commands("operating")
    browser = Browser(free_port())

    def contact():
        return browser.open("/.well-known/security.txt")[1]

    def write(name):
        (tmp_path / "retwis.env").write_text(f"SECURITY_CONTACT=mailto:{name}@retwis.example\n")

    write("alice")
    with gunicorn(tmp_path, browser) as server:
        assert "alice@" in contact()
        write("bob")
        server.send_signal(signal.SIGHUP)
        wait_until(lambda: "Worker exiting" in (tmp_path / "log").read_text(), "a worker instead of the first one")
        assert "alice@" in contact()
    with gunicorn(tmp_path, browser):
        assert "bob@" in contact()
