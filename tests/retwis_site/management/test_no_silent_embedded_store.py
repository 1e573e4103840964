"""A public site without REDIS_URL fails: it would work on an embedded store of its own, and find it empty."""

import pytest

from tests.support.processes.fresh_process import run_code
from tests.support.processes.processes import environment, manage

pytestmark = [pytest.mark.one_server, pytest.mark.processes]  # the other topologies always need REDIS_URL

COMMANDS = [
    ("doctor",),
    ("seed",),
    ("createuser", "alice"),
    ("deliver", "--once"),
    ("serve",),
    ("runserver", "--noreload"),
    ("shell", "-c", "pass"),
    ("check",),
]
PUBLIC = [{"HTTPS": "1"}, {"ALLOWED_HOSTS": "retwis.example"}]


def without_redis_url(var, **changes):
    env = environment(var, **changes)
    del env["REDIS_URL"]
    return env


@pytest.mark.parametrize(("command", "changes"), list(zip(COMMANDS, PUBLIC * 4, strict=True)), ids=str)
def test_a_command_fails_and_names_both_fixes(tmp_path, command, changes):
    ended = manage(*command, env=without_redis_url(tmp_path, **changes), input="")
    assert ended.returncode == 1
    assert "Set REDIS_URL to the site's Redis server, or set EMBEDDED=1" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "store").exists()


def start_web_process(env):
    """Import the WSGI application, as every WSGI server does."""
    return run_code("import retwis_site.wsgi", env)


@pytest.mark.parametrize("changes", PUBLIC, ids=str)
def test_a_web_process_does_not_start(tmp_path, changes):
    ended = start_web_process(without_redis_url(tmp_path, **changes))
    assert ended.returncode == 4
    assert "Set REDIS_URL to the site's Redis server, or set EMBEDDED=1" in ended.stderr


@pytest.mark.parametrize("changes", [{}, {"HTTPS": "1", "EMBEDDED": "1"}], ids=str)
def test_a_site_on_a_laptop_starts_and_one_that_means_the_embedded_store(tmp_path, changes):
    assert start_web_process(without_redis_url(tmp_path, **changes)).returncode == 0


@pytest.mark.real_server
@pytest.mark.parametrize("changes", [{}, {"HTTPS": "1", "ALLOWED_HOSTS": "retwis.example", "EMBEDDED": "1"}], ids=str)
def test_a_command_then_runs_the_embedded_store(tmp_path, changes):
    ended = manage("doctor", env=without_redis_url(tmp_path, **changes))
    assert (ended.returncode, ended.stderr) == (0, f"Store: embedded, in {tmp_path / 'store'}\n")
    assert (tmp_path / "store").is_dir()
