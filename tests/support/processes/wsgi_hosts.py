"""The web servers under which the site is tested, each as an operator starts it: HOSTS. Those besides `serve` run no
worker."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from tests.support.processes.ports import free_port
from tests.support.processes.processes import Site, end_group, environment, wait_until

APPLICATION = "retwis_site.wsgi:application"
LISTENS = "127.0.0.1:{port}"


def _gunicorn(folder: Path, listens: str, top: str) -> list[str]:
    own = "--config=python:retwis_site.server.gunicorn_settings"
    return [sys.executable, "-m", "gunicorn", own, f"--bind={listens}"]


def _uwsgi(folder: Path, listens: str, top: str) -> list[str]:
    """With deploy/uwsgi.ini, at a port."""
    text = Path(settings.BASE_DIR, "deploy/uwsgi.ini").read_text()
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


def _serve(folder: Path, listens: str, top: str) -> list[str]:
    return [sys.executable, "manage.py", "serve", f"--port={listens.rpartition(':')[2]}"]


HOSTS = {
    "gunicorn": _gunicorn,
    "uwsgi": _uwsgi,
    "waitress": _waitress,
    "waitress --url-prefix": _waitress_with_prefix,
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
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        site = Site(process, port, log)
        try:
            answers = lambda: site.browser.open(f"{top}/livez")[0] == 200  # noqa: E731
            wait_until(lambda: process.poll() is not None or answers(), f"the site under {name}")
            assert process.poll() is None, site.printed()
            yield site
        finally:
            end_group(process)
