"""The web servers under which the site is tested, each as an operator starts it: HOSTS. Those besides `serve` run no
worker."""

import contextlib
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.processes.processes import Site, environment, free_port, running_site, wait_until

APPLICATION = "retwis_site.wsgi:application"
LISTENS = "127.0.0.1:{port}"


def _gunicorn(folder: Path, listens: str, top: str) -> list[str]:
    own = "--config=python:retwis_site.server.gunicorn_settings"
    return [sys.executable, "-m", "gunicorn", own, f"--bind={listens}"]


def _uwsgi(folder: Path, listens: str, top: str) -> list[str]:
    """With deploy/uwsgi.ini, at a port."""
    text = (settings.BASE_DIR / "deploy/uwsgi.ini").read_text()
    own = text.replace("socket = /run/retwis/web.sock\nchmod-socket = 660\n", f"http-socket = {listens}\n")
    assert own != text
    own = own.replace("/run/retwis/", f"{folder}/")
    (folder / "uwsgi.ini").write_text(own)
    return [str(Path(sys.executable).with_name("uwsgi")), "--ini", str(folder / "uwsgi.ini")]


def _waitress(folder: Path, listens: str, top: str) -> list[str]:
    return [sys.executable, "-m", "waitress", f"--listen={listens}", "--threads=96", APPLICATION]


def _waitress_with_prefix(folder: Path, listens: str, top: str) -> list[str]:
    *command, application = _waitress(folder, listens, top)
    return [*command, f"--url-prefix={top}", application]


MODULES = Path("/usr/lib/apache2/modules")
APACHE = """
ServerRoot {folder}
PidFile {folder}/apache.pid
Listen {listens}
ServerName localhost
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {modules}/mod_wsgi.so
ErrorLog /dev/stderr
WSGISocketPrefix {folder}/wsgi
<Directory />
    Require all denied
</Directory>
"""


def _documented_apache(top: str) -> str:
    """The lines of docs/running.md, for one process of the user and the Python of the tests, and this checkout."""
    text = (settings.BASE_DIR / "docs/running.md").read_text()
    lines = text.partition("```apache\n")[2].partition("```")[0]
    own = re.sub(r" user=.* python-home=\S+", "", lines).replace("processes=2", "processes=1")
    own = own.replace("/opt/retwis/venv/lib/python3.11/site-packages", str(settings.BASE_DIR))
    return own.replace("WSGIScriptAlias / ", f"WSGIScriptAlias {top or '/'} ")


def _mod_wsgi(folder: Path, listens: str, top: str) -> list[str]:
    """Debian's, with the packages of the tests. mod_wsgi refuses to run as root; there, another name is put on."""
    module = MODULES / "mod_wsgi.so"
    own_python = "libpython{}.{}.so".format(*sys.version_info).encode()
    if not module.exists() or own_python not in module.read_bytes():
        pytest.skip("there is no mod_wsgi for this Python: apt-get install libapache2-mod-wsgi-py3")
    (folder / "async_timeout.py").write_text("from asyncio import timeout\n")  # redis-py asks for it until 3.11.2
    path = os.pathsep.join([str(settings.BASE_DIR), sysconfig.get_path("purelib"), str(folder)])
    text = APACHE.format(folder=folder, listens=listens, modules=MODULES)
    (folder / "apache.conf").write_text(text + _documented_apache(top))
    as_another = ["unshare", "--user", "--map-user=33", "--map-group=33"] if os.geteuid() == 0 else []
    if as_another and subprocess.run([*as_another, "true"], check=False).returncode:
        pytest.skip("mod_wsgi refuses to run as root, and this machine allows no user namespaces")
    return [
        "env",
        f"PYTHONPATH={path}",
        *as_another,
        "/usr/sbin/apache2",
        "-DFOREGROUND",
        "-f",
        str(folder / "apache.conf"),
    ]


def _serve(folder: Path, listens: str, top: str) -> list[str]:
    return [sys.executable, "manage.py", "serve", f"--port={listens.rpartition(':')[2]}"]


HOSTS = {
    "gunicorn": _gunicorn,
    "uwsgi": _uwsgi,
    "waitress": _waitress,
    "waitress --url-prefix": _waitress_with_prefix,
    "mod_wsgi": _mod_wsgi,
    "serve": _serve,
}
WITHOUT_WORKER = [name for name in HOSTS if name != "serve"]


@contextlib.contextmanager
def hosted(name: str, folder: Path, top: str = "", **changes: str) -> Iterator[Site]:
    """The site under one of HOSTS during the block, with one web process, at the path `top` of 127.0.0.1. It has the
    tests' own store, and answers."""
    port, log = free_port(), folder / "log"
    (folder / "static").mkdir()  # WhiteNoise warns without it
    command = HOSTS[name](folder, LISTENS.format(port=port), top)
    env = environment(folder, WEB_WORKERS="1", SCRIPT_NAME=top, **changes)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(settings.BASE_DIR), env.get("PYTHONPATH")]))
    with running_site(command, env, log, port) as site:
        answers = lambda: site.browser.open(f"{top}/livez")[0] == 200  # noqa: E731
        wait_until(lambda: site.process.poll() is not None or answers(), f"the site under {name}")
        assert site.process.poll() is None, site.printed()
        yield site
