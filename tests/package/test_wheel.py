"""The wheel has the whole site: installed in an empty environment, `retwis serve` starts in an empty folder. Installed
over the wheel of an older commit, as docs/upgrading.md says, it replaces that one."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
import venv
import zipfile

import pytest
from django.conf import settings

from retwis_site import version
from retwis_site.store import schema
from tests.support.processes.processes import free_port, wait_until
from tests.support.texts import guides

ROOT = settings.BASE_DIR
OLDEST = "0.2.0"  # the first version with a wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The path of the wheel. `python -m build` makes it from the source archive."""
    return built(ROOT, tmp_path_factory.mktemp("dist"))


def built(source, folder):
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, source], check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    return made


def git(*arguments):
    answer = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    return answer.stdout.split()


@pytest.fixture(scope="module")
def old_wheel(tmp_path_factory):
    """The wheel of the oldest commit that says it is 0.2.0."""
    changed = git("log", f'-Sversion = "{OLDEST}"', "--format=%H", "--", "pyproject.toml")
    shallow = git("rev-parse", "--is-shallow-repository") == ["true"]
    if shallow or not changed:
        pytest.skip("This clone lacks the history, so there is no older commit to build a wheel of.")
    folder = tmp_path_factory.mktemp("old")
    git("archive", "--output", folder / "source.tar", changed[-1])
    shutil.unpack_archive(folder / "source.tar", folder / "source", filter="data")
    return built(folder / "source", folder / "dist")


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The `bin` folder of an environment that has only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    pip_install(folder / "bin", wheel)
    return folder / "bin"


@pytest.fixture(scope="module")
def lowest(wheel, tmp_path_factory):
    """As `environment`, with the lowest version of each library that pyproject.toml allows."""
    folder = tmp_path_factory.mktemp("lowest")
    venv.create(folder)
    uv = [sys.executable, "-m", "uv", "pip", "install", "--compile-bytecode", "--python", folder / "bin/python"]
    for what in (["--resolution", "lowest-direct", "--requirement", ROOT / "pyproject.toml"], ["--no-deps", wheel]):
        subprocess.run([*uv, *what], check=True, capture_output=True)
    return folder / "bin"


def pip_install(programs, *arguments):
    pip = [programs / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *arguments]
    subprocess.run(pip, check=True, capture_output=True)


def retwis(programs, folder, *arguments):
    """What a command prints that succeeds in this folder."""
    answer = subprocess.run(
        [programs / "retwis", *arguments], cwd=folder, env=clean_env(), check=False, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


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
    tracked = git("ls-files")
    apps = {name for name in tracked if name.startswith(("retwis_site/", "accounts/", "timeline/"))}
    files = {f"retwis_site/{name}" for name in tracked if name.startswith(("templates/", "locale/", "docs/book/"))}
    assert apps | files <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "var/", "docs/"))]


def test_the_license_is_an_spdx_expression(wheel):
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    assert "License-Expression: MIT" in lines
    assert f"Version: {version.of_source()}" in lines


@pytest.mark.parametrize("libraries", ["environment", "lowest"])
def test_retwis_serve_starts_in_an_empty_folder(libraries, request, tmp_path):
    port = free_port()
    command = [request.getfixturevalue(libraries) / "retwis", "serve", "--port", str(port)]
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
    assert "no issues" in retwis(environment, tmp_path, "check")


def test_the_wheel_replaces_that_of_an_older_commit_and_its_store_is_upgraded(wheel, old_wheel, tmp_path):
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment/bin"
    pip_install(programs, old_wheel)
    retwis(programs, tmp_path, "seed", "--users", "3", "--posts", "10", "--follows", "2")
    [command] = re.findall(
        r"From a wheel instead: `/opt/retwis/venv/bin/pip install (.*?)`", guides.text_of("upgrading")
    )
    [package] = shlex.split(command)
    pip_install(programs, package.replace("retwis-VERSION-py3-none-any.whl", str(wheel)))
    assert (programs / "gunicorn").exists()
    first, *_, store = retwis(programs, tmp_path, "--version").splitlines()
    assert first == f"Retwis {wheel.name.split('-')[1]}"
    assert re.fullmatch(r"Store: \w+ [0-9.]+; embedded, in .*; it does not run", store)
    assert f"schema {schema.VERSION}" in retwis(programs, tmp_path, "db", "upgrade")
    retwis(programs, tmp_path, "doctor")
