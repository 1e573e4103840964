"""docs/customising.md: its commands run in their order, and the site that they make works."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import polib
import pytest

from tests.support.processes.fresh_process import run_code
from tests.support.processes.processes import environment, free_port, manage, run_site, wait_until
from tests.support.texts import guides

pytestmark = [pytest.mark.real_server, pytest.mark.processes, pytest.mark.one_server]

GUIDE = "customising"
BY_THE_SHELL = ("mkdir", "touch", "msgfmt")  # `export` sets what all other commands have
SERVES = "retwis serve"
PASSWORD = "correct horse battery"


@pytest.fixture
def club(rights, tmp_path):
    """The environment of the example site, whose files are written."""
    rights("~motto:*")
    shell_commands(tmp_path, "mkdir", "touch")
    for path, text in guides.files(GUIDE).items():
        (tmp_path / path).write_text(text)
    shell_commands(tmp_path, "msgfmt")
    exported = [line.split("=") for line in guides.commands(GUIDE) if line.startswith("export ")]
    variables = {name.removeprefix("export "): value.replace("$PWD", str(tmp_path)) for name, value in exported}
    assert list(variables) == ["PYTHONPATH", "DJANGO_SETTINGS_MODULE"]
    return environment(tmp_path / "var", **variables)


def shell_commands(folder, *programs):
    for command in guides.commands(GUIDE):
        program, *arguments = guides.words(command)
        if program not in programs:
            continue
        if program == "msgfmt" and shutil.which(program) is None:  # outside of CI; it has Debian's gettext
            _, _, target, source = arguments
            polib.pofile(str(folder / source)).save_as_mofile(str(folder / target))
        else:
            subprocess.run([program, *arguments], cwd=folder, check=True)


def test_each_command_is_run():
    others = [
        command for command in guides.commands(GUIDE) if guides.words(command)[0] not in (*BY_THE_SHELL, "export")
    ]
    assert others == ["retwis check", "retwis collectstatic --noinput", SERVES]


def test_the_settings_are_right(club):
    assert "no issues" in manage("check", env=club).stdout
    assert manage("collectstatic", "--noinput", env=club).returncode == 0
    assert list(Path(club["VAR_DIR"]).glob("static/club.*.css"))


def test_its_pages_have_what_is_its_own(club, raw, tmp_path):
    with run_site(tmp_path / "var", tmp_path / "log", free_port(), **club, WEB_WORKERS="1") as site:
        site.wait_until_it_serves()
        its_templates_colours_words_and_languages(site.browser)
        its_feature(site.browser, raw)


def its_templates_colours_words_and_languages(browser):
    page = browser.ask("/").page
    assert "<span>The whole club</span>" in page
    assert "/explore/" not in page
    style = re.search(r'href="(/static/club[^"]*\.css)"', page)[1]
    assert "--pine: #2e1065" in browser.ask(style).page
    assert "Nederlands" in browser.ask("/settings/language/").page


def its_feature(browser, raw):
    """A motto is kept, downloaded, and removed with its account."""
    browser.submit("/register/", username="Alice", password1=PASSWORD, password2=PASSWORD)
    assert browser.submit("/motto/", motto="Onwards")[0] == 200
    assert raw.get("motto:1") == "Onwards"
    assert 'value="Onwards"' in browser.ask("/motto/").page
    assert browser.submit("/motto/", motto="")[0] == 422
    downloaded = browser.ask("/settings/download/").page.splitlines()
    assert {"type": "motto", "text": "Onwards"} in map(json.loads, downloaded)
    browser.submit("/settings/delete/", password=PASSWORD)
    wait_until(lambda: not raw.exists("motto:1"), "the removal of the account")


def test_the_rest_of_the_site_knows_the_new_keys_and_the_limit(club, raw, alice):
    raw.rpush("motto:1", "of the wrong type")
    raw.set("motto:2", "of nobody")
    answer = manage("doctor", env=club)
    assert "motto:1 is a list, expected a string" in answer.stdout
    assert "motto:2" not in answer.stdout
    wrong = {**club, "THROTTLE_MOTO": "5"}
    refused = run_code("import retwis_site.wsgi", wrong)
    assert "THROTTLE_MOTO is not known. There are: " in refused.stderr
    assert "THROTTLE_MOTTO" in refused.stderr


def test_an_overriding_template_may_extend_the_one_that_it_replaces(club, tmp_path):
    """And what the site would not find is named by `check`."""
    base = tmp_path / "club/templates/retwis_site/base.html"
    shown = "{% block own_head %}{{ block.super }}{{ unknown }}{% endblock %}"
    base.write_text('{% extends "retwis_site/base.html" %}' + shown)
    assert "unknown is not given" in manage("check", env=club).stderr
