"""The wheel has the whole site: installed in an empty environment, `retwis serve` starts in an empty folder."""

import os
import subprocess
import sys
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.processes.ports import free_port
from tests.support.processes.processes import wait_until

ROOT = Path(settings.BASE_DIR)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The path of the wheel. `python -m build` makes it from the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The `bin` folder of an environment that has only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    pip = [folder / "bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install", wheel]
    subprocess.run(pip, check=True, capture_output=True)
    return folder / "bin"


def clean_env():
    """The environment variables of a shell without any settings of the site."""
    return {name: value for name, value in os.environ.items() if name in {"HOME", "LANG", "PATH", "TMPDIR"}}


def get(port, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return answer.read().decode()


def answers(port):
    try:
        return get(port, "/livez") == "ok\n"
    except OSError:
        return False


def test_the_wheel_has_every_file_of_the_site(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    answer = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    tracked = answer.stdout.split()
    apps = {name for name in tracked if name.startswith(("retwis_site/", "accounts/", "timeline/"))}
    files = {f"retwis_site/{name}" for name in tracked if name.startswith(("templates/", "locale/", "docs/book/"))}
    assert apps | files <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "var/", "docs/"))]


def test_the_license_is_an_spdx_expression(wheel):
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    assert "License-Expression: MIT" in lines
    assert "Version: 0.2.0" in lines


def test_retwis_serve_starts_in_an_empty_folder(environment, tmp_path):
    port = free_port()
    command = [environment / "retwis", "serve", "--port", str(port)]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, cwd=tmp_path, env=clean_env(), stdout=log) as site,
    ):
        try:
            wait_until(lambda: site.poll() is not None or answers(port), "the site", seconds=60)
            assert site.poll() is None, (tmp_path / "log").read_text()
            page = get(port, "/")
            assert "<title>Retwis" in page
            style = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
            assert "--" in get(port, style)
            assert 'lang="de"' in get(port, "/login/", **{"Accept-Language": "de"})
            assert "Anmelden" in get(port, "/login/", **{"Accept-Language": "de"})
            assert "<h1>Keys and hashes</h1>" in get(port, "/book/keys-and-hashes/")
            assert get(port, "/book/keys-and-hashes.svg").startswith("<svg")
        finally:
            site.terminate()
            site.wait(timeout=30)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "var"]
    assert "Log in as demo" in (tmp_path / "log").read_text()


def test_retwis_runs_the_commands_of_manage_py(environment, tmp_path):
    answer = subprocess.run(
        [environment / "retwis", "check"],
        cwd=tmp_path,
        env=clean_env(),
        check=True,
        capture_output=True,
        text=True,
    )
    assert "no issues" in answer.stdout
