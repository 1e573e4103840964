"""The units for systemd: their settings are valid, and a process of the site may do little."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.support.deploy.machine import deployed, setting

UNITS = ["retwis-web.service", "retwis-deliver.service"]
EXPOSURE = 20  # tenths: what `systemd-analyze security` calls OK; a unit without any hardening has 96

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.fixture
def units(tmp_path):
    """The files of the units. Their programs are those that run the tests."""
    for name in UNITS:
        (tmp_path / name).write_text(re.sub(r"/opt/retwis/venv/bin/\w+", sys.executable, deployed(name)))
    return [str(tmp_path / name) for name in UNITS]


def test_systemd_takes_the_units_without_a_warning(units):
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


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
