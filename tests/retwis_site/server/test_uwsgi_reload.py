"""A reload of uWSGI, as deploy/uwsgi.ini has it: its master goes on, and loads the site anew."""

import re

import pytest

from tests.support.processes.processes import wait_until
from tests.support.processes.wsgi_hosts import hosted

LOADED = re.compile(r"WSGI app 0 .* pid: ([0-9]+)")


@pytest.mark.real_server
@pytest.mark.processes
def test_a_touched_file_loads_the_site_anew(raw, tmp_path):
    with hosted("uwsgi", tmp_path) as site:
        wait_until(lambda: len(LOADED.findall(site.printed())) == 1, "the worker")
        (tmp_path / "reload").touch()
        wait_until(lambda: len(set(LOADED.findall(site.printed()))) == 2, "another worker")
        assert site.browser.open("/livez") == (200, "ok\n")
        assert site.process.poll() is None
