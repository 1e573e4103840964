"""Each setting is refused with one line where its kind does not know the text: by `check`, and by the site at start."""

import os
import resource
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from retwis_site.environment import SETTINGS
from retwis_site.settings import kept_secret
from tests.support.http.http_browser import TIMEOUT
from tests.support.processes.fresh_process import run_code
from tests.support.processes.processes import environment, manage

pytestmark = pytest.mark.processes

PRINT = "from django.conf import settings; print(settings.THROTTLE, settings.PORT, settings.ALLOWED_HOSTS)"

# None: every text is right, or what it means together with others is looked at (test_system_checks.py).
WRONG = {
    "ALLOWED_HOSTS": ("*", "https://retwis.example", "retwis.example:443", "a..example", "a.example b.example"),
    "BOOK": ("maybe",),
    "CSRF_TRUSTED_ORIGINS": ("retwis.example", "*", "https://retwis.example/"),
    "DEBUG": ("2",),
    "DELIVER_INLINE_LIMIT": ("-1", "1e3"),
    "EMBEDDED": ("j",),
    "EXPLORE": ("nope",),
    "MEDIA_MEMORY": ("much", "-1", "1 gb"),
    "MEDIA_QUOTA": ("much",),
    "HTTPS": ("ja", "https"),
    "INSPECT": ("all",),
    "LINK_CHECKS": ("maybe",),
    "LOG_FORMAT": ("xml",),
    "LOG_LEVEL": ("info",),
    "METRICS_HOST": ("http://127.0.0.1", "a b"),
    "METRICS_PORT": ("65536",),
    "NODE_ID": ("32",),
    "OUTBOX_SHARDS": ("0", "17"),
    "PORT": ("0", "65536", "9" * 5000, "\u0665"),
    "POST_IDS": ("uuid",),
    "REDIS_KEY_PREFIX": None,
    "REDIS_NODES": None,
    "REDIS_SENTINEL_PASSWORD": None,
    "REDIS_SENTINEL_SERVICE": None,
    "REDIS_SENTINEL_USERNAME": None,
    "REDIS_TOPOLOGY": ("ring",),
    "REDIS_URL": None,
    "RETWIS_ENV_FILE": None,
    "SCRIPT_NAME": ("social", "/social/", "/so cial"),
    "SECRET_KEY": None,
    "SECURITY_CONTACT": ("security@retwis.example",),
    "SITE_ADDRESS": ("retwis.example",),
    "SLOW_REQUEST_MS": ("1s",),
    "STATIC_DIR": None,
    "THROTTLE": ("none",),
    "TIMELINE_SHARDS": ("17",),
    "TRUSTED_NETWORKS": ("10", "10.0.0.1/8"),
    "TRUSTED_PROXIES": ("100", "yes"),
    "VAR_DIR": None,
    "WEB_WORKERS": ("0", "1000"),
}


def settings_with(tmp_path, **variables):
    """A process that prints three settings."""
    kept = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "retwis_site.settings", "VAR_DIR": str(tmp_path)}
    return run_code(PRINT, {**kept, "SECRET_KEY": "s", **variables})


def test_every_setting_is_here():
    assert {name for name in SETTINGS if not name.startswith("THROTTLE_")} == WRONG.keys()


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values or ()])
def test_a_text_that_a_setting_does_not_know_is_refused_by_its_name(tmp_path, name, value):
    ended = settings_with(tmp_path, **{name: value})
    assert ended.returncode == 1
    assert f"ImproperlyConfigured: {name}=" in ended.stderr.splitlines()[-1]
    assert " is not valid. " in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "hosts", ["retwis.example", ".retwis.example,10.0.0.1", "[::1]", "XN--BCHER-KVA.example", "my_site", "a.example,"]
)
def test_names_and_addresses_are_hosts(tmp_path, hosts):
    assert settings_with(tmp_path, ALLOWED_HOSTS=hosts, EMBEDDED="1").returncode == 0


def test_an_empty_variable_counts_as_none(tmp_path):
    empty = settings_with(tmp_path, THROTTLE="", PORT=" ", ALLOWED_HOSTS="", THROTTLE_POST="")
    assert empty.stdout == settings_with(tmp_path).stdout
    assert empty.stdout.startswith("True 8000 ['localhost'")


REFUSED = [
    ({"HTTPS": "ja"}, "HTTPS='ja' is not valid. Set 1 or 0."),
    ({"THROTTLE_POTS": "3"}, "THROTTLE_POTS is not known. There are: THROTTLE_ACT, "),
    ({"REDIS_URL": "tcp://site:hidden@one"}, "REDIS_URL is not the address of a Redis server."),
    ({"REDIS_TOPOLOGY": "sentinel"}, "REDIS_TOPOLOGY='sentinel' needs REDIS_SENTINEL_SERVICE."),
    ({"REDIS_URL": "", "HTTPS": "1"}, "HTTPS or ALLOWED_HOSTS is set, but not REDIS_URL."),
]
wrong = pytest.mark.parametrize(("variables", "reason"), REFUSED, ids=[reason.split()[0] for _, reason in REFUSED])


def environment_with(tmp_path, variables):
    (tmp_path / "static").mkdir(exist_ok=True)  # WhiteNoise warns without it
    return environment(tmp_path, **{"REDIS_URL": "redis://127.0.0.1:1", **variables})


@wrong
@pytest.mark.parametrize("command", ["check", "serve", "deliver"])
def test_a_command_ends_with_a_line(tmp_path, command, variables, reason):
    ended = manage(command, env=environment_with(tmp_path, variables))
    assert ended.returncode == 1
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "hidden" not in ended.stderr


@wrong
def test_a_wsgi_server_ends_with_a_line(tmp_path, variables, reason):
    ended = run_code("import retwis_site.wsgi", environment_with(tmp_path, variables))
    assert ended.returncode == 4
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"Retwis cannot start: {reason}")


@pytest.mark.processes
@wrong
def test_gunicorn_ends_and_starts_no_worker_again(tmp_path, variables, reason):
    command = [sys.executable, "-m", "gunicorn", "--config=python:retwis_site.server.gunicorn_settings"]
    command += [f"--bind=unix:{tmp_path}/web.sock"]
    env = environment_with(tmp_path, {"WEB_WORKERS": "1", **variables})
    ended = subprocess.run(
        command, cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert ended.returncode != 0
    assert ended.stderr.count(f"Retwis cannot start: {reason}") == 1
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) < 10


def test_a_store_in_a_folder_that_the_site_may_not_write_is_an_error_of_var_dir(tmp_path):
    (tmp_path / "file").touch()
    env = environment(tmp_path / "file" / "var", SECRET_KEY="s")
    env.pop("REDIS_URL", None)
    ended = manage("user", "alice", env=env)
    assert ended.returncode == 1
    _, line = ended.stderr.splitlines()
    assert line.startswith(f"CommandError: No store can be kept in {tmp_path}/file/var/store: ")


def test_a_folder_that_the_site_may_not_write_is_an_error_of_var_dir(tmp_path):
    (tmp_path / "file").touch()
    env = environment(tmp_path / "file" / "var")
    env.pop("SECRET_KEY", None)
    ended = manage("check", env=env)
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"CommandError: No secret can be kept in {tmp_path}/file/var/secret_key: ")
    assert line.endswith("Set VAR_DIR to a folder that the site may write, or SECRET_KEY.")


def test_a_folder_that_takes_no_static_files_is_one_line_of_the_command_before_the_web_processes(tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "static"
    ended = manage("collectstatic", "--noinput", env=environment(tmp_path, STATIC_DIR=str(folder)))
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"CommandError: The static files cannot be put into {folder}: Not a directory.")
    assert line.endswith("Set STATIC_DIR to a folder that the site may write.")


def test_a_start_on_a_full_disk_leaves_no_part_of_a_secret(tmp_path):
    """A unit starts again and again. A limit for the size of files stands for the full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(ImproperlyConfigured, match="No secret can be kept"):
            kept_secret(tmp_path / "secret_key")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [*tmp_path.iterdir()] == []
