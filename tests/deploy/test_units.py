"""The units for systemd: their settings are valid, and a process of the site may do little."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deploy.machine import deployed, setting
from tests.support.texts import guides

UNITS = ["retwis-web.service", "retwis-deliver.service"]
EXPOSURE = 20  # tenths: what `systemd-analyze security` calls OK; a unit without any hardening has 96

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.fixture
def units(tmp_path):
    """The files of the units. Their programs are those that run the tests."""
    for name in UNITS:
        (tmp_path / name).write_text(re.sub(r"/opt/retwis/venv/bin/\w+", sys.executable, deployed(name)))
    return [str(tmp_path / name) for name in UNITS]


def what_systemd_says(units):
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.returncode, answer.stderr


def test_systemd_takes_the_units_without_a_warning(units):
    assert what_systemd_says(units) == (0, "")


def test_another_server_in_the_unit_of_the_web_processes_is_one_that_systemd_starts(units):
    """Each as an operator writes it with `systemctl edit`. waitress never says that it is ready."""
    waitress = re.search(
        r"^```ini\n(\[Service\]\n(?:.*\n)*?.*waitress-serve(?:.*\n)*?)```", guides.text_of("running"), re.M
    )[1]
    uwsgi = "".join(re.findall(r"^#   (.*\n)", deployed("uwsgi.ini"), re.MULTILINE))
    assert (setting(waitress, "Type"), setting(uwsgi, "Type")) == (["exec"], [])
    folder = Path(f"{units[0]}.d")
    folder.mkdir()
    for edited in (waitress, uwsgi):
        (folder / "override.conf").write_text(re.sub(r"/opt/retwis/venv/bin/[\w-]+", sys.executable, edited))
        assert what_systemd_says(units) == (0, "")


def test_the_processes_of_the_units_may_do_little(units):
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager", *units]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_always_starts_again_and_its_files_have_one_owner(name):
    unit = deployed(name)
    assert setting(unit, "Restart") == ["always"]
    assert setting(unit, "StartLimitIntervalSec") == ["0"]
    # With other values, the two units would take the folder from each other.
    assert setting(unit, "User") + setting(unit, "Group") == ["retwis", "www-data"]
    assert setting(unit, "StateDirectory") + setting(unit, "EnvironmentFile") == ["retwis", "/etc/retwis.env"]
