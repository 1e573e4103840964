"""The version: of the package, and what `retwis --version` prints."""

import os
import platform
import re
import subprocess

import django
import pytest
from django.conf import settings

from retwis_site import version
from tests.support.processes.processes import environment, manage

CHANGELOG = (settings.BASE_DIR / "CHANGELOG.md").read_text()


def numbers(text):
    return [int(number) for number in text.split(".")]


@pytest.fixture
def source(monkeypatch, tmp_path):
    """A folder, without a repository, as that of the code."""
    monkeypatch.setattr(version, "SOURCE", tmp_path)
    monkeypatch.setattr(version, "VERSION", "0.3.0.dev")
    return tmp_path


def commit(folder, date):
    identity = ("-c", "user.name=alice", "-c", "user.email=alice@retwis.example", "-c", "commit.gpgsign=false")
    for words in (("init", "--quiet"), ("commit", "--quiet", "--allow-empty", "--message", "A commit")):
        changes = {**os.environ, "GIT_COMMITTER_DATE": date}
        subprocess.run(["git", *identity, *words], cwd=folder, env=changes, check=True)  # noqa: S607


def test_it_is_after_the_newest_release_of_the_changelog():
    first, newest, *_ = re.findall(r"^## \[(.*?)\]", CHANGELOG, re.MULTILINE)
    if first == "Unreleased":
        number, _, end = version.VERSION.partition(".dev")
        assert numbers(number) > numbers(newest)
        assert version.VERSION.endswith(".dev"), end
    else:
        assert first == version.VERSION


def test_each_commit_has_a_version_of_its_own(source):
    commit(source, "2026-11-26T12:34:03+0100")
    assert version.of_source() == version.of_site() == "0.3.0.dev20261126113403"
    commit(source, "2026-11-26T12:34:04+0100")
    assert version.of_source() == "0.3.0.dev20261126113404"


def test_a_release_is_its_number(source, monkeypatch):
    monkeypatch.setattr(version, "VERSION", "0.3.0")
    commit(source, "2026-11-26T12:34:03+0100")
    assert version.of_source() == "0.3.0"


def test_without_gits_history_it_ends_with_0(source):
    assert version.of_source() == "0.3.0.dev0"
    (source / ".git").mkdir()
    assert version.of_source() == "0.3.0.dev0"


@pytest.mark.usefixtures("source")
def test_an_installed_site_has_the_version_of_its_package():
    assert version.of_site() == version.metadata.version("retwis")


@pytest.mark.processes
@pytest.mark.parametrize("word", ["--version", "version"])
@pytest.mark.parametrize(
    ("url", "store"),
    [
        ("", r"\w+ [0-9.]+; embedded, in .*/store; it does not run"),
        ("redis://me:hidden@127.0.0.1:1", r"the store at REDIS_URL does not answer: .* 127\.0\.0\.1:1\..*"),
        ("no address", r"REDIS_URL is not the address of a Redis server\..*"),
    ],
)
def test_the_versions_are_printed_and_a_store_that_is_away_is_told_in_its_line(tmp_path, word, url, store):
    ended = manage(word, env=environment(tmp_path, REDIS_URL=url))
    site, of_django, python, last = ended.stdout.splitlines()
    assert (ended.returncode, ended.stderr) == (0, "")
    assert site == f"Retwis {version.of_site()}"
    assert of_django == f"Django {django.get_version()}"
    assert python == f"Python {platform.python_version()}"
    assert re.fullmatch(f"Store: {store}", last)
    assert "hidden" not in ended.stdout


@pytest.mark.processes
@pytest.mark.real_server
@pytest.mark.one_server
def test_the_server_of_the_store_is_named_with_its_version(raw, tmp_path):
    last = manage("--version", env=environment(tmp_path, REDIS_URL=settings.REDIS_URL)).stdout.splitlines()[-1]
    info = raw.info()
    name = info.get("server_name", "redis")
    assert last.startswith(f"Store: {name} {info[f'{name}_version']}; unix://")
